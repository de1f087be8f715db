package classify

import (
	"context"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// snooze costs nothing: a thousand of them exhaust no budget.
func (l *Ladder) snooze(in *Input, by string, delay time.Duration) Decision {
	d := Decision{Action: Snooze, DecidedBy: by, GiveBack: true, Kind: in.Policy.Kind, Lifted: in.Lifted}
	return l.deferred(in, d, delay)
}

// retryAfter spends the attempt if it consumes the budget; then the budget is
// that of every kind but indefinite.
func (l *Ladder) retryAfter(in *Input, by string, delay time.Duration, consume bool) Decision {
	d := Decision{Action: RetryLater, DecidedBy: by, GiveBack: !consume, Kind: in.Policy.Kind, Lifted: in.Lifted}
	if consume {
		d.Lifted = in.liftedByGuest()
		if d.Lifted != "" {
			d.Kind = d.Lifted
		}
		if d.Kind != retry.Indefinite && in.Attempt >= in.Policy.MaxAttempts {
			return Decision{
				Action: Fail, DecidedBy: by, Kind: d.Kind, DeadReason: retry.Exhausted,
				Failure: &abi.Failure{
					Class: abi.ClassMaxAttemptsExceeded, Origin: abi.OriginHost,
					Message: "retry_after on the last attempt",
				},
			}
		}
	}
	return l.deferred(in, d, delay)
}

// deferred fits a signal's delay. The guest was told nothing when it asked
// for more than it gets, so the log is.
func (l *Ladder) deferred(in *Input, d Decision, asked time.Duration) Decision {
	d.Explicit = true
	d.Delay, d.Shortened = l.Settings.Deferral(asked)
	d.Delay = d.Delay.Truncate(time.Millisecond)
	if d.Shortened && l.Log != nil {
		keys := append([]any{"signal", string(d.Action), "asked", asked, "max_deferral", l.Settings.MaxDeferral}, in.LogKeys...)
		l.Log.Warn("a deferral is shortened", keys...)
	}
	return d
}

// mapper asks the actor's own about successes and failures. Signals are the
// body's plain wish, and a mapper has no field for them.
func (l *Ladder) mapper(ctx context.Context, in *Input) (Decision, bool) {
	if l.Mapper == nil || in.Ending != Succeeded && in.Ending != Failed {
		return Decision{}, false
	}
	name := l.Mapper.Name()
	q := l.question(in)
	v, ok := ask(l, in, "mapper", name, func() (*Verdict, error) {
		v, err := l.Mapper.Map(ctx, q)
		if err == nil && v != nil && q.Failure == nil && v.Fail == nil && !v.Override.empty() {
			return nil, nonsense(errNothingToRetry)
		}
		return v, err
	})
	if !ok {
		return Decision{}, false
	}
	d := l.mapped(in, v)
	if d.Reason == "" {
		d.Reason = v.Reason
	}
	return d, true
}

func (l *Ladder) mapped(in *Input, v *Verdict) Decision {
	switch {
	case v.Succeed != nil:
		return Decision{Action: Succeed, DecidedBy: ByMapper, Kind: in.Policy.Kind, Result: v.Succeed}
	case v.Snooze != nil:
		return l.snooze(in, ByMapper, *v.Snooze)
	case v.RetryAfter != nil:
		return l.retryAfter(in, ByMapper, *v.RetryAfter, v.ConsumeBudget)
	case v.Fail != nil:
		return l.failedByMapper(in, v)
	}
	return l.budget(in, ByMapper, v.Override)
}

// failedByMapper puts the mapper's failure in place of the attempt's end. No
// rule is asked about it, but it is a failure like others: its class may be
// terminal, its mark or the override beside it counts, then the policy.
func (l *Ladder) failedByMapper(in *Input, v *Verdict) Decision {
	mapped := *in
	mapped.Failure = v.Fail
	switch o := v.Override; {
	case abi.AlwaysTerminal(v.Fail.Class):
		return mapped.fail(ByMapper, terminalReason(v.Fail.Class), "")
	case v.Fail.Permanent:
		return mapped.fail(ByMapper, retry.DeadNonRetryable, "marked permanent")
	case v.Fail.Retryable && o.Kind == "":
		o.Kind = mapped.liftedByGuest()
		return l.budget(&mapped, ByMapper, o)
	default:
		return l.budget(&mapped, ByMapper, o)
	}
}
