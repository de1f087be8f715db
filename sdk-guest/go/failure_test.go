package taskq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

func equal(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("want %#v\n got %#v", want, got)
	}
}

func TestTheClassIsTheFirstNameOfTheChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		err       error
		class     string
		ancestors []string
	}{
		{"nobody has a name", errors.New("x"), "Error", nil},
		{"wrapping gives none", fmt.Errorf("a: %w", fmt.Errorf("b: %w", errPlain)), "Error", nil},
		{"a type, without its pointer", &declined{}, "taskq_test.declined", nil},
		{"through wrappers", fmt.Errorf("charge: %w", &declined{}), "taskq_test.declined", nil},
		{"what it wraps are its ancestors", &fs.PathError{Op: "open", Err: &declined{}}, "fs.PathError", []string{"taskq_test.declined"}},
		{"all members of a joined error", errors.Join(errors.New("x"), &declined{}, &fs.PathError{Err: errPlain}), "taskq_test.declined", []string{"fs.PathError"}},
		{"a name counts once", errors.Join(&declined{}, &declined{}), "taskq_test.declined", nil},
		{"known sentinels", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "io.ErrUnexpectedEOF", nil},
		{"a cancelled context", context.Canceled, "context.Canceled", nil},
		{"a timeout is a TimeoutError too", context.DeadlineExceeded, "context.DeadlineExceeded", []string{"TimeoutError"}},
		{"whoever says Timeout", timeout{errPlain}, "taskq_test.timeout", []string{"TimeoutError"}},
		{"a class of one's own", &taskq.Error{Class: "stripe.CardDeclined", Ancestors: []string{"stripe.Error"}}, "stripe.CardDeclined", []string{"stripe.Error"}},
		{"with its cause after it", &taskq.Error{Class: "A", Ancestors: []string{"B"}, Cause: &declined{}}, "A", []string{"B", "taskq_test.declined"}},
		{"without a class it's its cause's", &taskq.Error{Message: "m", Cause: &declined{}}, "taskq_test.declined", nil},
		{"marks have no name", taskq.Permanent(taskq.Retryable(&declined{})), "taskq_test.declined", nil},
		{"an HTTP error", &taskq.HTTPError{Status: 500}, "taskq.HTTPError", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := taskq.FailureOf(c.err)
			equal(t, c.class, f.Class)
			equal(t, c.ancestors, f.Ancestors)
			equal(t, c.err.Error(), f.Message)
		})
	}
}

func TestTheOutermostMarkCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		err                  error
		permanent, retryable bool
	}{
		{"none", errPlain, false, false},
		{"permanent", taskq.Permanent(errPlain), true, false},
		{"retryable", taskq.Retryable(errPlain), false, true},
		{"wrapped", fmt.Errorf("x: %w", taskq.Permanent(errPlain)), true, false},
		{"retryable over permanent", taskq.Retryable(taskq.Permanent(errPlain)), false, true},
		{"an Error that says so", &taskq.Error{Message: "m", Permanent: true}, true, false},
		{"an Error that says nothing leaves it to its cause", &taskq.Error{Message: "m", Cause: taskq.Permanent(errPlain)}, true, false},
		{"never both", &taskq.Error{Message: "m", Permanent: true, Retryable: true}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := taskq.FailureOf(c.err)
			equal(t, c.permanent, f.Permanent)
			equal(t, c.retryable, f.Retryable)
		})
	}
}

func TestMarkingNothingGivesNothing(t *testing.T) {
	t.Parallel()
	equal(t, nil, taskq.Permanent(nil))
	equal(t, nil, taskq.Retryable(nil))
}

func TestDetailsAndHTTPComeFromTheChain(t *testing.T) {
	t.Parallel()
	http := &taskq.HTTPError{Status: 402, Headers: map[string]string{"X": "y"}}
	f := taskq.FailureOf(errors.Join(&declined{code: "c1"}, http))
	equal(t, `{"code":"c1"}`, string(f.Details))
	equal(t, &taskq.HTTP{Status: 402, Headers: map[string]string{"X": "y"}}, f.HTTP)
}

func TestDetailsThatCannotBeSentAreDropped(t *testing.T) {
	t.Parallel()
	for _, details := range []any{make(chan int), strings.Repeat("a", 17<<10)} {
		f := taskq.FailureOf(&taskq.Error{Class: "A", Details: details})
		equal(t, "A", f.Class)
		equal(t, 0, len(f.Details))
	}
}

func TestALongMessageIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	f := taskq.FailureOf(errors.New(strings.Repeat("ü", 4<<10)))
	if len(f.Message) > 4<<10 || !utf8.ValidString(f.Message) {
		t.Fatalf("%d bytes, valid %t", len(f.Message), utf8.ValidString(f.Message))
	}
}

type circle struct{ err error }

func (c *circle) Error() string { return "circle" }
func (c *circle) Unwrap() error { return c.err }

func TestAChainThatIsACircleEnds(t *testing.T) {
	t.Parallel()
	loop := &circle{}
	loop.err = errors.Join(loop, fmt.Errorf("x: %w", loop))
	f := taskq.FailureOf(loop)
	equal(t, "taskq_test.circle", f.Class)
	equal(t, 0, len(f.Ancestors))
}
