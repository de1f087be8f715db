package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

func TestEachAttemptBeginsPristine(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	m, big := load(t, e, "pristine"), load(t, e, "memory-bomb")
	for i := range 20 {
		out := m.Run(context.Background(), host.Attempt{Limits: host.Limits{Memory: 2 << 20}})
		require.Equal(t, host.Succeeded, out.Kind, "attempt %d: %+v", i, out.Failure)
		require.EqualValues(t, 2<<20, out.Usage.PeakMemory)
		big.Run(context.Background(), host.Attempt{Limits: host.Limits{Memory: 2 << 20}}) // leaves by a trap
	}
}

func TestAHundredAttemptsAtOnceKeepApart(t *testing.T) {
	t.Parallel()
	m := load(t, newEngine(t, host.Options{}), "echo")
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			for j := range 20 {
				in := fmt.Sprintf("[%d,%d]", i, j)
				out := m.Run(context.Background(), host.Attempt{Input: []byte(in), Timeout: time.Minute})
				if out.Kind != host.Succeeded || string(out.Result) != in {
					t.Errorf("attempt %s gave %q (%+v)", in, out.Result, out.Failure)
				}
			}
		})
	}
	group.Wait()
}

func TestCommandsAtOnceSeeTheirOwnEnvironmentAndInput(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	environment, cat := load(t, e, "environment"), load(t, e, "cat")
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			job := fmt.Sprintf("job-%d", i)
			out := environment.Run(context.Background(), host.Attempt{Meta: abi.Meta{JobID: job}, ResultContentType: "application/octet-stream"})
			if want := "\x00TASKQ_JOB_ID=" + job + "\x00"; string(out.Result[:len(want)]) != want {
				t.Errorf("%s saw %q", job, out.Result)
			}
			s := &sink{}
			out = cat.Run(context.Background(), host.Attempt{Input: []byte("e" + job), Sink: s})
			if out.Stderr != job || len(s.lines) != 1 || s.lines[0].Message != job {
				t.Errorf("%s said %q and logged %v", job, out.Stderr, s.lines)
			}
		})
	}
	group.Wait()
}

// TestHostileGuestsDontHoldUpOthers surrounds a good guest with bad ones, more
// than there are processors, and bounds how long each of its attempts takes.
func TestHostileGuestsDontHoldUpOthers(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	good := load(t, e, "echo")
	ctx, cancel := context.WithCancelCause(context.Background())
	var group sync.WaitGroup
	for _, name := range []string{"loop", "recursion-without-loop", "call-flood", "sleep", "result-flood", "log-flood", "line-flood", "memory-bomb"} {
		m := load(t, e, name)
		group.Go(func() {
			for ctx.Err() == nil {
				out := m.Run(ctx, host.Attempt{Timeout: 20 * time.Millisecond})
				if out.Kind == host.Failed && out.Failure.Class == abi.ClassHostFault {
					t.Errorf("%s: %+v", name, out.Failure)
				}
			}
		})
	}
	slowest := time.Duration(0)
	for range 50 {
		began := time.Now()
		out := good.Run(context.Background(), host.Attempt{Input: []byte("1"), Timeout: time.Minute})
		slowest = max(slowest, time.Since(began))
		require.Equal(t, host.Succeeded, out.Kind)
	}
	cancel(host.ErrInterrupted)
	group.Wait()
	require.Less(t, slowest, 2*time.Second, "a share of the processors, never a hostile guest's whole run")
}

func TestAGuestStopsSoonAfterItsDeadline(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	for _, name := range []string{"loop", "recursion-without-loop", "call-flood", "line-flood", "sleep", "start-loop"} {
		out := load(t, e, name).Run(context.Background(), host.Attempt{Timeout: 50 * time.Millisecond})
		require.Equal(t, abi.ClassTimeout, out.Failure.Class, name)
		require.GreaterOrEqual(t, out.Usage.Duration, 50*time.Millisecond, name)
		require.Less(t, out.Usage.Duration, 2*time.Second, name)
		t.Logf("%s stopped %v after its deadline", name, out.Usage.Duration-50*time.Millisecond)
	}
}
