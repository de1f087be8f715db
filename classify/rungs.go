package classify

import (
	"context"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// refundedHostFaults is how many attempts a job gets back because the host
// was at fault; a host that always fails must not run it for ever.
const refundedHostFaults = 3

func (l *Ladder) ownership(_ context.Context, in *Input) (Decision, bool) {
	return Decision{Action: Drop, DecidedBy: ByOwnership, Kind: in.Policy.Kind}, in.OwnershipLost
}

func (l *Ladder) cancel(_ context.Context, in *Input) (Decision, bool) {
	return Decision{Action: Cancel, DecidedBy: ByCancel, Kind: in.Policy.Kind, Failure: in.Failure}, in.CancelRequested
}

// hostFault gives the first ones back, on the curve that they count
// themselves; later ones go down the ladder as any failure.
func (l *Ladder) hostFault(_ context.Context, in *Input) (Decision, bool) {
	if !in.atHostFault() || in.HostFaults > refundedHostFaults {
		return Decision{}, false
	}
	return Decision{
		Action: Retry, DecidedBy: ByPolicy, Reason: "the host's fault: the attempt is given back",
		Delay:    in.Policy.Band(in.HostFaults, l.Settings.MaxRetryBackoff).Draw(in.Random),
		GiveBack: true, Kind: in.Policy.Kind, Lifted: in.Lifted, Failure: in.Failure,
	}, true
}

func (in *Input) atHostFault() bool {
	return in.Failure != nil && in.Failure.Class == abi.ClassHostFault
}

func (l *Ladder) alwaysTerminal(_ context.Context, in *Input) (Decision, bool) {
	if in.Ending != Failed || !abi.AlwaysTerminal(in.Failure.Class) {
		return Decision{}, false
	}
	return in.fail(ByAlwaysTerminal, terminalReason(in.Failure.Class), ""), true
}

func terminalReason(class string) retry.DeadReason {
	switch class {
	case abi.ClassPayloadValidation:
		return retry.PayloadInvalid
	case abi.ClassResultTooLarge:
		return retry.ResultTooLarge
	}
	return retry.DeadNonRetryable
}

// guest is what the body said itself: a success, a signal, a mark.
func (l *Ladder) guest(_ context.Context, in *Input) (Decision, bool) {
	switch {
	case in.Ending == Succeeded:
		return Decision{Action: Succeed, Kind: in.Policy.Kind}, true
	case in.Ending == Snoozed:
		return l.snooze(in, ByGuest, in.Delay), true
	case in.Ending == RetryAfter:
		return l.retryAfter(in, ByGuest, in.Delay, in.ConsumeBudget), true
	case in.Failure.Permanent:
		return in.fail(ByGuest, retry.DeadNonRetryable, "marked permanent"), true
	case in.Failure.Retryable:
		return l.budget(in, ByGuest, Override{Kind: in.liftedByGuest(), Reason: "marked retryable"}), true
	}
	return Decision{}, false
}

// liftedByGuest is the kind that a guest's own wish to be retried counts as:
// it knows this instance, so it lifts non_retryable, but no budget.
func (in *Input) liftedByGuest() retry.Kind {
	if in.Policy.Kind == retry.NonRetryable {
		return retry.Transient
	}
	return ""
}

func (l *Ladder) deny(_ context.Context, in *Input) (Decision, bool) {
	if l.Rules.RetryOn != nil {
		if _, ok := firstMatch(l.Rules.RetryOn, in.Failure); !ok {
			return in.fail(ByDeny, retry.DeadNonRetryable, "retry_on: nothing matches"), true
		}
	} else if p, ok := firstMatch(l.Rules.NonRetryable, in.Failure); ok {
		return in.fail(ByDeny, retry.DeadNonRetryable, "non_retryable_errors: "+p), true
	}
	if p, ok := firstMatch(l.Rules.Permanent, in.Failure); ok {
		return in.fail(ByDeny, retry.DeadNonRetryable, "classification.permanent: "+p), true
	}
	return Decision{}, false
}

func (l *Ladder) chain(ctx context.Context, in *Input) (Decision, bool) {
	if len(l.Chain) == 0 {
		return Decision{}, false
	}
	q := l.question(in)
	for _, c := range l.Chain {
		name := c.Name()
		o, ok := ask(l, in, "classifier", name, func() (*Override, error) { return c.Classify(ctx, q) })
		if ok {
			return l.budget(in, ByClassifier+name, *o), true
		}
	}
	return Decision{}, false
}

// allow lifts nothing: a glob knows a type, not this instance.
func (l *Ladder) allow(_ context.Context, in *Input) (Decision, bool) {
	if in.Policy.Kind == retry.NonRetryable {
		return Decision{}, false
	}
	p, ok := firstMatch(l.Rules.Retryable, in.Failure)
	if !ok {
		return Decision{}, false
	}
	return l.budget(in, ByAllow, Override{Reason: "classification.retryable: " + p}), true
}

// question is what classifiers and the mapper are asked.
func (l *Ladder) question(in *Input) Question {
	return Question{
		Failure: in.Failure, Result: in.Result, Attempt: in.Attempt, OnCurve: in.onCurve(),
		Policy: in.Policy, Settings: l.Settings, Deadline: in.Deadline, OccurredAt: in.OccurredAt,
	}
}

// onCurve is where on the curve the attempt's delay is; 0 means at its number.
func (in *Input) onCurve() int {
	if in.atHostFault() {
		return in.HostFaults
	}
	return 0
}

// budget ends every way down the ladder on which a retry is possible.
func (l *Ladder) budget(in *Input, by string, o Override) Decision {
	r := retry.Decide(retry.Input{
		Policy: in.Policy, Settings: l.Settings, Attempt: in.Attempt, Kind: o.Kind,
		Delay: o.Delay, Spread: o.Spread, CurveAt: in.onCurve(), Random: in.Random,
	})
	d := Decision{
		Action: Fail, DecidedBy: by, Reason: o.Reason, Kind: r.Kind,
		Delay: r.Delay, Explicit: r.Explicit, DeadReason: r.Reason, Failure: in.Failure,
	}
	if r.Retry {
		d.Action, d.Lifted = Retry, o.Kind
	}
	return d
}

func (in *Input) fail(by string, why retry.DeadReason, reason string) Decision {
	return Decision{Action: Fail, DecidedBy: by, Reason: reason, Kind: in.Policy.Kind, DeadReason: why, Failure: in.Failure}
}
