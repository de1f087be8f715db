package chaos

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// The ledger is what the workers' side of the story is told by: a line when a
// guest is let in and one when it runs no more, appended with one write each,
// so that a process that is killed leaves whole lines. Times are of the
// machine's monotonic clock, which all processes share.

type ledger struct{ file *os.File }

// openLedger: number is the process' place in the run, since pids come round.
func openLedger(dir string, number int) (*ledger, error) {
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%d.ledger", number)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &ledger{file: f}, err
}

func (l *ledger) note(at worker.Point, j *store.Claimed) {
	if at == worker.Running || at == worker.Ran {
		_, _ = fmt.Fprintf(l.file, "%s %s %d %d %d\n", at, j.ID, j.Epoch, j.Attempt, monotonic())
	}
}

// monotonic is now in nanoseconds, comparable between processes.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// execution is one run of a guest as the ledger has it.
type execution struct {
	job     store.ID
	epoch   int64
	attempt int
	process int // its number
	start   int64
	end     int64 // 0: the process died first
}

func readLedgers(t *testing.T, dir string) []execution {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.ledger"))
	require.NoError(t, err)
	var out []execution
	for _, file := range files {
		out = append(out, readLedger(t, file)...)
	}
	return out
}

func readLedger(t *testing.T, file string) []execution {
	t.Helper()
	var number int
	_, err := fmt.Sscanf(filepath.Base(file), "%d.ledger", &number)
	require.NoError(t, err)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	type key struct {
		job   string
		epoch int64
	}
	open := map[key]int{}
	var out []execution
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var at, id string
		e := execution{process: number}
		_, err := fmt.Fscan(strings.NewReader(lines.Text()), &at, &id, &e.epoch, &e.attempt, &e.start)
		require.NoError(t, err, lines.Text())
		if at == string(worker.Ran) {
			i, ok := open[key{id, e.epoch}]
			require.True(t, ok, "an end without a beginning: %s", lines.Text())
			out[i].end = e.start
			continue
		}
		e.job, err = store.ParseID(id)
		require.NoError(t, err)
		open[key{id, e.epoch}] = len(out)
		out = append(out, e)
	}
	require.NoError(t, lines.Err())
	return out
}
