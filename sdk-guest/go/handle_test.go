package taskq_test

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

type order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

type receipt struct {
	Charged int `json:"charged"`
}

func charge(_ context.Context, in order) (receipt, error) {
	return receipt{Charged: in.Cents}, nil
}

// failing makes a handler that ends with err.
func failing(err error) func(context.Context, order) (receipt, error) {
	return func(context.Context, order) (receipt, error) { return receipt{}, err }
}

func TestAResultIsTheOutputAsJSON(t *testing.T) {
	t.Parallel()
	out := taskq.Try(context.Background(), charge, taskq.Trial{Payload: order{ID: "a", Cents: 7}})
	equal(t, taskq.Succeeded, out.Kind)
	equal(t, `{"charged":7}`, string(out.Result))
}

func TestAnEmptyPayloadIsNull(t *testing.T) {
	t.Parallel()
	out := taskq.Try(context.Background(), charge, taskq.Trial{Payload: taskq.Raw{}})
	equal(t, `{"charged":0}`, string(out.Result))
}

func TestAPayloadThatDoesNotFitIsNeverRetried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, payload, message string }{
		{"no JSON", `{"id":`, "the payload isn't valid JSON"},
		{"two values", `{} {}`, "the payload isn't valid JSON"},
		{"a field of the wrong type is named, its value isn't", `{"cents":"secret"}`, "cents must not be a JSON string"},
		{"the payload itself of the wrong type", `[1]`, "the payload must not be a JSON array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := taskq.Try(context.Background(), charge, taskq.Trial{Payload: taskq.Raw(c.payload)})
			equal(t, taskq.Failed, out.Kind)
			equal(t, "PayloadValidationError", out.Failure.Class)
			equal(t, c.message, out.Failure.Message)
			equal(t, true, out.Failure.Permanent)
		})
	}
}

func TestRawIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	reverse := func(_ context.Context, in taskq.Raw) (taskq.Raw, error) {
		return taskq.Raw(strings.ToUpper(string(in))), nil
	}
	out := taskq.Try(context.Background(), reverse, taskq.Trial{Payload: taskq.Raw("not json")})
	equal(t, "NOT JSON", string(out.Result))
}

func TestAResultThatCannotBeEncodedSaysSo(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, order) (float64, error) { return math.NaN(), nil }
	out := taskq.Try(context.Background(), handle, taskq.Trial{})
	equal(t, "UnencodableValue", out.Failure.Class)
}

func TestAResultAboveTheLimitFails(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, order) (string, error) { return strings.Repeat("a", 64<<10), nil }
	equal(t, "ResultTooLarge", taskq.Try(context.Background(), handle, taskq.Trial{}).Failure.Class)
}

func TestSignalsAskForAnotherTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		err     error
		kind    taskq.OutcomeKind
		delay   time.Duration
		consume bool
	}{
		{"snooze", taskq.Snooze(time.Minute), taskq.Snoozed, time.Minute, false},
		{"wrapped", errors.Join(errors.New("not yet"), taskq.Snooze(time.Second)), taskq.Snoozed, time.Second, false},
		{"below a millisecond is rounded up", taskq.Snooze(time.Nanosecond), taskq.Snoozed, time.Millisecond, false},
		{"zero stays zero", taskq.Snooze(0), taskq.Snoozed, 0, false},
		{"retry after", taskq.RetryAfter(time.Hour), taskq.RetryLater, time.Hour, true},
		{"retry after, attempt given back", taskq.RetryAfterKeepBudget(time.Hour), taskq.RetryLater, time.Hour, false},
		{"a mark doesn't hide it", taskq.Permanent(taskq.Snooze(time.Second)), taskq.Snoozed, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := taskq.Try(context.Background(), failing(c.err), taskq.Trial{})
			equal(t, c.kind, out.Kind)
			equal(t, c.delay, out.Delay)
			equal(t, c.consume, out.ConsumeBudget)
		})
	}
}

func TestANegativeDelayIsAFailureOfItsOwn(t *testing.T) {
	t.Parallel()
	out := taskq.Try(context.Background(), failing(taskq.Snooze(-time.Second)), taskq.Trial{})
	equal(t, "taskq.NegativeDelay", out.Failure.Class)
	equal(t, true, out.Failure.Permanent)
}

func TestAPanicIsNamedByItsOwnTypeIfItHasOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		panics    func()
		class     string
		ancestors []string
		message   string
	}{
		{"a text has none", func() { panic("boom") }, "GuestPanic", []string{"GuestDeath"}, "boom"},
		{"neither has a plain error", func() { panic(errors.New("boom")) }, "GuestPanic", []string{"GuestDeath"}, "boom"},
		{"an index out of range", func() { _ = []int{}[len(strings.Repeat("a", 3))] }, "runtime.boundsError",
			[]string{"runtime.Error", "GuestPanic", "GuestDeath"}, "runtime error: index out of range [3] with length 0"},
		{"a nil pointer", func() { _ = (*(*order)(nil)).ID }, "runtime.errorString",
			[]string{"runtime.Error", "GuestPanic", "GuestDeath"}, "runtime error: invalid memory address or nil pointer dereference"},
		{"an error with a type", func() { panic(&declined{}) }, "taskq_test.declined", []string{"GuestPanic", "GuestDeath"}, "declined"},
		{"a value with a type", func() { panic(order{ID: "x"}) }, "taskq_test.order", []string{"GuestPanic", "GuestDeath"}, "{x 0}"},
		{"a value whose text panics", func() { panic(broken{}) }, "taskq_test.broken", []string{"GuestPanic", "GuestDeath"},
			"%!v(PANIC=String method: worse)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			handle := func(context.Context, order) (receipt, error) { c.panics(); return receipt{}, nil }
			out := taskq.Try(context.Background(), handle, taskq.Trial{})
			equal(t, taskq.Failed, out.Kind)
			f := out.Failure
			equal(t, c.class, f.Class)
			equal(t, c.ancestors, f.Ancestors)
			if c.name != "a nil pointer" || !strings.HasPrefix(f.Message, c.message) { // the address is the machine's
				equal(t, c.message, f.Message)
			}
			if !strings.HasPrefix(f.Stack, "goroutine ") || !strings.Contains(f.Stack, "handle_test.go") || strings.Contains(f.Stack, "debug.Stack") {
				t.Fatalf("the stack should name the test:\n%s", f.Stack)
			}
		})
	}
}

func TestAPanickedSignalIsASignal(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, order) (receipt, error) { panic(taskq.Snooze(time.Second)) }
	equal(t, taskq.Snoozed, taskq.Try(context.Background(), handle, taskq.Trial{}).Kind)
}

type broken struct{}

func (broken) String() string { panic("worse") }

type declined struct{ code string }

func (*declined) Error() string       { return "declined" }
func (d *declined) TaskqDetails() any { return map[string]string{"code": d.code} }

type timeout struct{ error }

func (timeout) Timeout() bool { return true }

var errPlain = io.ErrClosedPipe
