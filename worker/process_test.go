package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
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

// runChild is the worker process: it says when it is up, and works until it is
// told to stop, or killed.
func runChild(dsn string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := child(ctx, dsn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(ctx context.Context, dsn string) error {
	s, err := store.Open(ctx, store.Options{URL: dsn})
	if err != nil {
		return err
	}
	defer s.Close()
	e, err := host.New(host.Options{Compile: host.CompileOptions{InProcess: true}})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close(context.Background()) }()
	c, err := catalog.New(s, e, nil)
	if err != nil {
		return err
	}
	live, err := config.Open(config.Sources{Files: []string{os.Getenv(childEnv + "_CONFIG")}}, nil)
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{Store: s, Catalog: c, Config: live, Name: podName, Version: "test", Log: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn})})
	if err != nil {
		return err
	}
	fmt.Println("up")
	return w.Run(ctx)
}

// process starts a worker as a process of its own.
func (b *bundle) process(yaml string) *exec.Cmd {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "taskq.yaml")
	require.NoError(b.t, os.WriteFile(file, []byte(yaml), 0o600))
	self, err := os.Executable()
	require.NoError(b.t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+b.dsn, childEnv+"_CONFIG="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b.t, err)
	require.Equal(b.t, "up", strings.TrimSpace(line))
	return cmd
}

// A real process, killed for real: its job comes back through the policy, with
// a row that says so, and its lease is gone.
func TestAKilledWorkersJobRunsAgainElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("loop")
	doomed := b.process(quick)
	id := b.enqueue(store.NewJob{Actor: "loop", Options: &store.JobOptions{StartToCloseMS: 60_000}})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Running })
	require.NoError(t, doomed.Process.Signal(syscall.SIGKILL))
	b.start()
	j := b.when(id, func(j *store.Job) bool { return j.Status == store.Running && j.Attempt == 2 })
	require.EqualValues(t, 2, j.Epoch)
	a := b.attempts(id)
	require.Len(t, a, 1)
	require.Equal(t, store.AttemptCrashed, a[0].Outcome)
	require.Equal(t, "WorkerCrashed", a[0].ErrorClass)
	_, err := b.store.Cancel(b.ctx, b.tenant, []store.ID{id}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.Cancelled, b.settled(id).Status)
}

// A worker that was frozen past its lease finds its epoch dead when it wakes:
// it stops its guests, drops its verdicts and goes on under a new identity.
func TestAWorkerFrozenPastItsLeaseChangesNothingWhenItWakes(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("loop", "noop")
	frozen := b.process(quick)
	id := b.enqueue(store.NewJob{Actor: "loop", Options: &store.JobOptions{StartToCloseMS: 60_000, Retry: []byte(`{"max_attempts":1}`)}})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Running })
	require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP))
	_, stop := b.start() // its sweep gives the job back
	j := b.settled(id)
	require.Equal(t, store.Crashed, j.Status)
	require.EqualValues(t, 4, j.DeadReason)
	stop()
	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
	require.Equal(t, store.Succeeded, b.settled(b.enqueue(store.NewJob{Actor: "noop"})[0]).Status, "it goes on under a new identity")
	require.Equal(t, store.Crashed, b.job(id).Status)
	require.Len(t, b.attempts(id), 1)
}
