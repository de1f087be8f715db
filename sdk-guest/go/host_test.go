package taskq_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

// try runs a handler that takes and gives nothing.
func try(t *testing.T, trial taskq.Trial, handle func(context.Context) error) taskq.Outcome {
	t.Helper()
	return taskq.Try(context.Background(), func(ctx context.Context, _ any) (any, error) { return nil, handle(ctx) }, trial)
}

func TestLogLinesCarryTheirAttributes(t *testing.T) {
	t.Parallel()
	out := try(t, taskq.Trial{}, func(ctx context.Context) error {
		log := taskq.Log(ctx).With("order", 7).WithGroup("g")
		log.Warn("slow", "level", 3, "time", "t")
		taskq.Log(ctx).Log(ctx, slog.LevelDebug-1, "fine", "level", "mine")
		slog.New(taskq.LogHandler()).ErrorContext(ctx, "by context")
		return nil
	})
	equal(t, []taskq.LogLine{
		{Level: "warn", Message: "slow", Fields: map[string]any{"order": 7.0, "g": map[string]any{"level": 3.0, "time": "t"}}},
		{Level: "trace", Message: "fine", Fields: map[string]any{"level": "mine"}},
		{Level: "error", Message: "by context", Fields: map[string]any{}},
	}, out.Logs)
}

func TestAHeartbeatCancelsTheContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		says  taskq.Signals
		cause error
	}{
		{"cancelled", taskq.CancelAsked, taskq.ErrCancelled},
		{"lease lost", taskq.LeaseLost | taskq.CancelAsked, taskq.ErrLeaseLost},
		{"draining leaves it alone", taskq.Draining | taskq.DeadlineNear, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			try(t, taskq.Trial{Heartbeat: func() taskq.Signals { return c.says }}, func(ctx context.Context) error {
				inner, cancel := context.WithCancel(ctx)
				defer cancel()
				equal(t, nil, ctx.Err())
				equal(t, c.says, taskq.Heartbeat(inner))
				equal(t, c.cause, context.Cause(inner))
				return nil
			})
		})
	}
}

func TestFactsAreReadableFromAnyDerivedContext(t *testing.T) {
	t.Parallel()
	trial := taskq.Trial{Facts: taskq.Facts{JobID: "j", Attempt: 3, SnoozeCount: 2, Headers: map[string]string{"a": "b"}, StartToCloseMS: 5000}}
	try(t, trial, func(ctx context.Context) error {
		inner, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		facts := taskq.Meta(inner)
		equal(t, "j", facts.JobID)
		equal(t, 3, facts.Attempt)
		equal(t, 3, facts.MaxAttempts)
		equal(t, 2, facts.SnoozeCount)
		equal(t, "run", facts.Kind)
		equal(t, "b", facts.Headers["a"])
		deadline, ok := inner.Deadline()
		equal(t, true, ok)
		if left := time.Until(deadline); left <= 0 || left > 5*time.Second {
			t.Fatalf("the attempt's own deadline should win: %s", left)
		}
		return nil
	})
	equal(t, taskq.Facts{}, taskq.Meta(context.Background()))
	equal(t, taskq.Signals(0), taskq.Heartbeat(context.Background()))
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	out := try(t, taskq.Trial{}, func(ctx context.Context) error {
		if err := taskq.Progress(ctx, taskq.Step{Name: "rows", Percent: taskq.Percent(50), Data: 7}); err != nil {
			return err
		}
		if taskq.Progress(ctx, taskq.Step{Detail: strings.Repeat("a", 17<<10)}) == nil {
			return errors.New("too long and taken")
		}
		if taskq.Progress(ctx, taskq.Step{Data: make(chan int)}) == nil {
			return errors.New("not JSON and taken")
		}
		return nil
	})
	equal(t, taskq.Succeeded, out.Kind)
	equal(t, 1, len(out.Progress))
	equal(t, `{"step":"rows","percent":50,"data":7}`, string(out.Progress[0]))
}

// TestMain lets the test's own binary be an actor: see TestANativeBuild….
func TestMain(m *testing.M) {
	if os.Getenv("TASKQ_TEST_ACTOR") == "1" {
		os.Exit(int(taskq.Handle(nativeActor)))
	}
	os.Exit(m.Run())
}

func nativeActor(ctx context.Context, in order) (receipt, error) {
	switch in.ID {
	case "fail":
		return receipt{}, taskq.Permanent(&declined{code: "c"})
	case "snooze":
		return receipt{}, taskq.Snooze(time.Second)
	case "later":
		return receipt{}, taskq.RetryAfter(time.Second)
	case "panic":
		panic("boom")
	}
	taskq.Log(ctx).Info("charging", "actor", taskq.Meta(ctx).Actor)
	return receipt{Charged: in.Cents * taskq.Meta(ctx).Attempt}, taskq.Progress(ctx, taskq.Step{Name: "done"})
}

func TestANativeBuildSpeaksCommandMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, payload, stdout, stderr string
		code                          int
	}{
		{"ok", `{"cents":7}`, `{"charged":14}`, "info {\"msg\":\"charging\",\"actor\":\"charge\"}\n@taskq {\"progress\":{\"step\":\"done\"}}\n", 0},
		{"fail", `{"id":"fail"}`, "", `@taskq {"fail":{"class":"taskq_test.declined","message":"declined","permanent":true,"details":{"code":"c"}}}` + "\n", 1},
		{"snooze", `{"id":"snooze"}`, "", `@taskq {"snooze_ms":1000}` + "\n", 1},
		{"retry after", `{"id":"later"}`, "", `@taskq {"retry_after_ms":1000,"consume_budget":true}` + "\n", 1},
		{"panic", `{"id":"panic"}`, "", "panic: boom\n\ngoroutine ", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TASKQ_TEST_ACTOR=1", "TASKQ_ATTEMPT=2", "TASKQ_ACTOR=charge")
			cmd.Stdin = strings.NewReader(c.payload)
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run() // the code says it
			equal(t, c.code, cmd.ProcessState.ExitCode())
			equal(t, c.stdout, stdout.String())
			if !strings.HasPrefix(stderr.String(), c.stderr) {
				t.Fatalf("want %q\n got %q", c.stderr, stderr.String())
			}
		})
	}
}
