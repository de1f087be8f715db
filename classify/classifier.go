package classify

import (
	"context"
	"errors"
	"fmt"
)

// Classifier has an opinion on failures. It must be a pure function of the
// question, safe for concurrent use, and return soon after ctx ends.
type Classifier interface {
	// Name is how configurations refer to it.
	Name() string
	// Classify answers nil for no opinion. The question and what it points to
	// must not be changed.
	Classify(ctx context.Context, q Question) (*Override, error)
}

// Mapper says what an attempt's end means, successes too; its answer is
// final. The rules of [Classifier] hold.
type Mapper interface {
	Name() string
	// Map answers nil for no opinion.
	Map(ctx context.Context, q Question) (*Verdict, error)
}

// Chain asks its classifiers in order.
type Chain []Classifier

// Breakage says in which way a classifier or mapper was broken.
type Breakage string

// The ways in which one can be broken.
const (
	BreakageError    Breakage = "error"
	BreakagePanic    Breakage = "panic"
	BreakageTimeout  Breakage = "timeout"
	BreakageNonsense Breakage = "nonsense"
	BreakageMissing  Breakage = "missing"
)

// ErrMissing is what an error wraps that says: there is no such classifier.
var ErrMissing = errors.New("there is no such classifier")

// opinion is what both kinds of answers have in common.
type opinion interface {
	empty() bool
	check() error
}

// ask calls a classifier or mapper so that nothing that it does reaches the
// ladder. ok is false without an opinion, be it that it has none or that it
// is broken.
func ask[T any, P interface {
	*T
	opinion
}](l *Ladder, in *Input, what, name string, call func() (P, error)) (answer P, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			l.skip(in, what, name, BreakagePanic, fmt.Errorf("panic: %v", v))
			answer, ok = nil, false
		}
	}()
	answer, err := call()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		l.skip(in, what, name, BreakageTimeout, err)
	case errors.Is(err, ErrMissing):
		l.skip(in, what, name, BreakageMissing, err)
	case errors.Is(err, ErrNonsense):
		l.skip(in, what, name, BreakageNonsense, err)
	case err != nil:
		l.skip(in, what, name, BreakageError, err)
	case answer == nil || answer.empty():
	default:
		if err := answer.check(); err != nil {
			l.skip(in, what, name, BreakageNonsense, err)
			return nil, false
		}
		return answer, true
	}
	return nil, false
}

// skip says and counts that a broken one isn't heard.
func (l *Ladder) skip(in *Input, what, name string, how Breakage, err error) {
	if l.Broken != nil {
		l.Broken(name, how)
	}
	if l.Log != nil {
		keys := append([]any{what, name, "breakage", string(how), "error", err}, in.LogKeys...)
		l.Log.Warn("a broken "+what+" is skipped", keys...)
	}
}
