package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// ErrNonsense is what a module's answer that can't be read is wrapped in.
var ErrNonsense = errors.New("nonsense answer")

func nonsense(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNonsense, err)
}

// errNothingToRetry: a success can fail, but it has no delay of its own.
var errNothingToRetry = errors.New("a success can be failed or deferred, an override alone has nothing to retry")

// Override is a classifier's opinion. Without a Kind the policy's is kept,
// without a Delay the curve's; with neither it is no opinion.
type Override struct {
	Kind   retry.Kind
	Delay  *time.Duration // used exactly, within the host's bounds
	Spread float64        // 0..1: the host may draw from [Delay, Delay·(1+Spread)]
	Reason string         // for people
}

// empty reports whether o has no opinion.
func (o *Override) empty() bool { return o.Kind == "" && o.Delay == nil }

// check says what makes o a nonsense answer.
func (o *Override) check() error {
	if o.Kind != "" && !o.Kind.Valid() {
		return errors.New("kind: must be transient | indefinite | non_retryable")
	}
	if o.Delay != nil && *o.Delay < 0 {
		return errors.New("delay_ms: must be >= 0")
	}
	if !(o.Spread >= 0 && o.Spread <= 1) {
		return errors.New("spread: must be 0..1")
	}
	return nil
}

// Verdict is a mapper's answer: one of Succeed, Fail, Snooze and RetryAfter,
// or an Override alone. Fail may come with an Override, which then decides
// whether that failure is retried.
type Verdict struct {
	Override
	Succeed       []byte         // JSON, the job's result; nil: not
	Fail          *abi.Failure   // in place of what the attempt ended with
	Snooze        *time.Duration // not negative
	RetryAfter    *time.Duration // not negative
	ConsumeBudget bool           // of RetryAfter
}

func (v *Verdict) empty() bool {
	return v.Override.empty() && v.Succeed == nil && v.Fail == nil && v.Snooze == nil && v.RetryAfter == nil
}

func (v *Verdict) check() error {
	if err := v.Override.check(); err != nil {
		return err
	}
	if v.Fail != nil && v.Fail.Permanent && v.Fail.Retryable {
		return errors.New("fail: permanent and retryable exclude each other")
	}
	set := 0
	for _, is := range []bool{v.Succeed != nil, v.Fail != nil, v.Snooze != nil, v.RetryAfter != nil} {
		if is {
			set++
		}
	}
	if set > 1 || set == 1 && v.Fail == nil && !v.Override.empty() {
		return errors.New("only one of succeed, fail, snooze_ms, retry_after_ms and an override may be answered")
	}
	for name, d := range map[string]*time.Duration{"snooze_ms": v.Snooze, "retry_after_ms": v.RetryAfter} {
		if d != nil && *d < 0 {
			return fmt.Errorf("%s: must be >= 0", name)
		}
	}
	return nil
}

// ParseAnswer reads what a classifier's module pushed. It is strict about
// types and ignores fields that it doesn't know, so that a module newer than
// the host works. An error is [ErrNonsense]; its text carries nothing of the
// answer.
func ParseAnswer(raw []byte) (*Override, error) {
	a, err := readAnswer(raw)
	if err != nil {
		return nil, nonsense(err)
	}
	o := a.override()
	if err := o.check(); err != nil {
		return nil, nonsense(err)
	}
	return &o, nil
}

// ParseVerdict reads what a mapper's module pushed, as [ParseAnswer] does.
func ParseVerdict(raw []byte) (*Verdict, error) {
	a, err := readAnswer(raw)
	if err != nil {
		return nil, nonsense(err)
	}
	v := &Verdict{Override: a.override(), Succeed: a.succeed, ConsumeBudget: true}
	if a.consumeBudget != nil {
		v.ConsumeBudget = *a.consumeBudget
	}
	v.Snooze, v.RetryAfter = milliseconds(a.snoozeMS), milliseconds(a.retryAfterMS)
	if a.fail != nil {
		if v.Fail, err = abi.ParseFailure(a.fail); err != nil {
			return nil, nonsense(fmt.Errorf("fail: %w", err))
		}
	}
	if err := v.check(); err != nil {
		return nil, nonsense(err)
	}
	return v, nil
}

// answer is every field of both answers.
type answer struct {
	kind          retry.Kind
	delayMS       *int64
	spread        float64
	reason        string
	succeed       json.RawMessage
	fail          json.RawMessage
	snoozeMS      *int64
	retryAfterMS  *int64
	consumeBudget *bool
}

func readAnswer(raw []byte) (*answer, error) {
	// A map, because encoding/json matches the names of struct fields without
	// case, and another host may not.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("the answer must be a JSON object")
	}
	a := &answer{}
	for _, f := range []struct {
		name, want string
		into       any
	}{
		{"kind", "a string", &a.kind},
		{"delay_ms", "whole milliseconds", &a.delayMS},
		{"spread", "a number", &a.spread},
		{"reason", "a string", &a.reason},
		{"snooze_ms", "whole milliseconds", &a.snoozeMS},
		{"retry_after_ms", "whole milliseconds", &a.retryAfterMS},
		{"consume_budget", "true or false", &a.consumeBudget},
	} {
		if value, ok := fields[f.name]; ok && json.Unmarshal(value, f.into) != nil {
			return nil, fmt.Errorf("%s: must be %s", f.name, f.want)
		}
	}
	if value, ok := fields["fail"]; ok && !bytes.Equal(value, []byte("null")) {
		a.fail = value
	}
	if value, ok := fields["succeed"]; ok {
		repaired, err := abi.RepairJSON(value)
		if err != nil {
			return nil, fmt.Errorf("succeed: %w", err)
		}
		a.succeed = repaired
	}
	return a, nil
}

func (a *answer) override() Override {
	reason, _ := abi.Text(a.reason, abi.MaxMessage)
	return Override{Kind: a.kind, Delay: milliseconds(a.delayMS), Spread: a.spread, Reason: reason}
}

func milliseconds(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := abi.Milliseconds(*ms)
	return &d
}
