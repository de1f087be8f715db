package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killsEnv asks for more kills than the slice that every test run takes;
// `make chaos` sets it.
const killsEnv = "TASKQ_CHAOS_KILLS"

func kills(t *testing.T) int {
	t.Helper()
	if s := os.Getenv(killsEnv); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, killsEnv)
		return n
	}
	return 40
}

// Workers die all the time, at the worst points. Nothing is lost, nothing is
// doubled, and every death is told.
func TestNothingIsLostOrDoubledWhenWorkersAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	r := newRun(t)
	n := kills(t)
	began := time.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.load(stop, 200)
	}()
	r.slaughter(3, n)
	close(stop)
	<-stopped
	r.finish(r.dsn, 2*time.Minute)
	out := r.check()
	out.Seconds = int64(time.Since(began).Seconds())
	r.publish(out, n > 100)
	require.Empty(t, out.findings)
	require.Equal(t, n, out.Kills)
	require.NotZero(t, out.HandedBack.N)
	// The lease counts from the last heartbeat, and a sweep comes each 1 to
	// 1.25 s: 4.25 s on a quiet machine, which a test can't ask for.
	require.LessOrEqual(t, out.HandedBack.P99, (lease + 10*time.Second).Milliseconds())
}

// publish prints the figures, and keeps those of a long run.
func (r *run) publish(out *report, keep bool) {
	r.t.Helper()
	line, err := json.Marshal(out)
	require.NoError(r.t, err)
	fmt.Println(string(line))
	if keep {
		name := fmt.Sprintf("chaos-%d.json", out.Kills)
		require.NoError(r.t, os.WriteFile(filepath.Join("..", "bench", "results", name), append(line, '\n'), 0o644))
	}
}
