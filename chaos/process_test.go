package chaos

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// childEnv makes this test binary a worker process: its database. The others
// say where its files are and where it kills itself.
const (
	childEnv = "TASKQ_CHAOS_WORKER"
	dirEnv   = "TASKQ_CHAOS_DIR"
	nthEnv   = "TASKQ_CHAOS_PROCESS" // its number in the run
	doomEnv  = "TASKQ_CHAOS_DOOM"
)

// doom is where a process kills itself with SIGKILL: the nth time it comes to
// a point, and so much later.
type doom struct {
	at    worker.Point
	nth   int64
	delay time.Duration
}

func (d doom) String() string { return fmt.Sprintf("%s %d %d", d.at, d.nth, d.delay) }

func parseDoom(s string) (d doom, err error) {
	if s != "" {
		_, err = fmt.Sscanf(s, "%s %d %d", &d.at, &d.nth, &d.delay)
	}
	return d, err
}

// The named points, and "random" for a kill from outside.
const atRandom worker.Point = "random"

// dooms are the five points at which a worker may die with the most harm.
var dooms = []struct {
	name  string
	at    worker.Point
	most  int64 // nth is drawn from 1..most
	later time.Duration
}{
	{"after_claim", worker.ClaimDone, 12, 0},
	{"in_the_body", worker.Running, 60, 25 * time.Millisecond},
	{"before_write", worker.Writing, 12, 0},
	{"after_write", worker.Written, 12, 0},
	{"during_heartbeat", worker.Beating, 5, 0},
	{"random", atRandom, 1, 1500 * time.Millisecond},
}

func drawDoom(rng *rand.Rand, i int) (string, doom) {
	d := dooms[i%len(dooms)]
	out := doom{at: d.at, nth: 1 + rng.Int64N(d.most)}
	if d.later > 0 {
		out.delay = time.Duration(rng.Int64N(int64(d.later)))
	}
	return d.name, out
}

// runChild is a worker process. It says when it is up, and works until it is
// told to stop, or dies.
func runChild() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := child(ctx, os.Getenv(childEnv), os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(ctx context.Context, dsn, dir string) error {
	d, err := parseDoom(os.Getenv(doomEnv))
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(os.Getenv(nthEnv))
	if err != nil {
		return err
	}
	l, err := openLedger(dir, number)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{URL: dsn, MaxConns: 8})
	if err != nil {
		return err
	}
	defer s.Close()
	e, err := host.New(host.Options{CacheDir: filepath.Join(dir, "cache"), Compile: host.CompileOptions{InProcess: true}})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	c, err := catalog.New(s, e, nil)
	if err != nil {
		return err
	}
	live, err := config.Open(config.Sources{Files: []string{filepath.Join(dir, "taskq.yaml")}}, nil)
	if err != nil {
		return err
	}
	var seen atomic.Int64
	w, err := worker.New(worker.Options{
		Store: s, Catalog: c, Config: live, Name: "pod-0", Version: "chaos", Log: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Error}),
		Checkpoint: func(at worker.Point, j *store.Claimed) {
			l.note(at, j)
			if at == d.at && seen.Add(1) == d.nth {
				time.AfterFunc(d.delay, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
				if d.delay == 0 {
					select {} // not one step further
				}
			}
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("up")
	return w.Run(ctx)
}

// process is a worker process of the run.
type process struct {
	cmd  *exec.Cmd
	died int64     // by the monotonic clock, once wait has returned
	when time.Time // likewise

	thawed int64 // when it was woken from a SIGSTOP, if it was
}

// spawn starts a worker process and waits until it is up.
func (r *run) spawn(dsn string, d doom) *process {
	r.t.Helper()
	self, err := os.Executable()
	require.NoError(r.t, err)
	cmd := exec.Command(self)
	p := &process{cmd: cmd}
	r.mu.Lock()
	cmd.Env = append(os.Environ(), childEnv+"="+dsn, dirEnv+"="+r.dir, nthEnv+"="+strconv.Itoa(len(r.processes)))
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	if d.at != "" {
		cmd.Env = append(cmd.Env, doomEnv+"="+d.String())
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(r.t, err)
	require.Equal(r.t, "up", strings.TrimSpace(line))
	return p
}

// wait waits for the process to be gone, and notes when that was.
func (p *process) wait() error {
	err := p.cmd.Wait()
	p.died, p.when = monotonic(), time.Now()
	return err
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}
