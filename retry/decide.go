package retry

import "time"

// Input is a failed attempt as the budget sees it.
type Input struct {
	Policy   Policy
	Settings Settings
	Attempt  int // that failed, from 1

	// Kind counts in place of the policy's, when a classifier or the guest
	// said so; empty keeps the policy's.
	Kind Kind

	// Delay is used in place of the curve's, within Settings.Explicit; nil
	// keeps the curve. Negative counts as 0.
	Delay *time.Duration
	// Spread, 0..1, widens an explicit delay to [d, d·(1+Spread)], never
	// earlier than it was asked for.
	Spread float64

	// CurveAt, if above 0, is where on the curve the delay is read, in place of
	// Attempt.
	CurveAt int

	Random uint64 // 64 random bits for the draw
}

// Decision is what comes after a failed attempt. The deadline isn't part of
// it: it is arbitrated by the statement that writes the decision.
type Decision struct {
	Retry    bool
	Delay    time.Duration // until the retry, whole milliseconds; 0 without one
	Explicit bool          // Delay was asked for, not computed
	Kind     Kind          // that the budget was checked with
	Reason   DeadReason    // without a retry
}

// Decide checks the budget and chooses the delay. It is total: each input has
// exactly one decision.
func Decide(in Input) Decision {
	kind := in.Policy.Kind
	if in.Kind != "" {
		kind = in.Kind
	}
	if reason := spent(kind, in.Attempt, in.Policy.MaxAttempts); reason != NotDead {
		return Decision{Kind: kind, Reason: reason}
	}
	return Decision{Retry: true, Kind: kind, Explicit: in.Delay != nil, Delay: in.delay()}
}

// spent says why no attempt is left after this one.
func spent(kind Kind, attempt, maxAttempts int) DeadReason {
	switch {
	case kind == Indefinite:
		return NotDead
	case kind != Transient:
		return DeadNonRetryable
	case attempt >= maxAttempts:
		return Exhausted
	}
	return NotDead
}

func (in Input) delay() time.Duration {
	if in.Delay != nil {
		low := in.Settings.Explicit(*in.Delay)
		high := BandOf(low, max(in.Settings.MaxRetryBackoff, low), in.Spread).High
		return Band{Low: wholeMS(low), High: high}.Draw(in.Random)
	}
	n := in.Attempt
	if in.CurveAt > 0 {
		n = in.CurveAt
	}
	return in.Policy.Band(n, in.Settings.MaxRetryBackoff).Draw(in.Random)
}
