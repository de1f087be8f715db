package classify

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// Rules are the globs of an actor and its queue; see [Glob]. Nil and empty
// differ for RetryOn only.
type Rules struct {
	RetryOn      []string // of the actor; not nil: whatever matches nothing in it is permanent
	NonRetryable []string // of the actor; idle where RetryOn isn't nil
	Permanent    []string // of the queue
	Retryable    []string // of the queue
}

// Ladder decides the ends of one actor's attempts in one queue. It is safe
// for concurrent use and must not be changed once it is in use.
type Ladder struct {
	Rules    Rules
	Mapper   Mapper // nil: none
	Chain    Chain
	Settings retry.Settings

	Log hclog.Logger // hears of broken classifiers; nil: nobody does
	// Broken counts them; nil: nobody does. It must not block.
	Broken func(name string, how Breakage)
}

// Ending is how an attempt ended.
type Ending int

// The four endings. Whatever else there is counts as Failed.
const (
	Succeeded Ending = iota + 1
	Failed
	Snoozed    // the body asked to be run again later, its attempt given back
	RetryAfter // the body asked for a retry at a time
)

// Input is an attempt that has ended.
type Input struct {
	OwnershipLost   bool // the fence said that the job is no longer ours
	CancelRequested bool

	Ending        Ending
	Result        []byte        // Succeeded; only a mapper reads it
	Failure       *abi.Failure  // Failed; it isn't changed
	Delay         time.Duration // Snoozed, RetryAfter
	ConsumeBudget bool          // RetryAfter

	Policy  retry.Policy // as resolved for this job
	Attempt int          // from 1
	// Lifted is what the decision that scheduled this attempt said in its
	// Lifted; an attempt that is given back keeps it.
	Lifted retry.Kind
	// HostFaults is how many attempts of the job ended in class HostFault,
	// this one included.
	HostFaults int

	Deadline   time.Time // of the job, zero: none. Only classifiers see it
	OccurredAt time.Time // of the end, by the clock that schedules
	Random     uint64    // 64 random bits for the delay's draw

	LogKeys []any // keys and values that name the job in the log
}

// Action is what becomes of the job.
type Action string

const (
	// Drop writes nothing: the job is somebody else's.
	Drop Action = "drop"
	// Cancel ends it cancelled.
	Cancel Action = "cancel"
	// Succeed ends it with its result.
	Succeed Action = "succeed"
	// Fail ends it as a dead letter.
	Fail Action = "fail"
	// Retry runs it again after the delay, because it failed.
	Retry Action = "retry"
	// Snooze runs it again after the delay, because it asked for that.
	Snooze Action = "snooze"
	// RetryLater is Snooze by the signal retry_after.
	RetryLater Action = "retry_after"
)

// Names of the rungs, as they are stored with an attempt. A plain success has
// none.
const (
	ByOwnership      = "ownership"
	ByCancel         = "cancel"
	ByAlwaysTerminal = "always_terminal"
	ByMapper         = "mapper"
	ByGuest          = "guest"
	ByDeny           = "deny"
	ByClassifier     = "classifier:" // and its name
	ByAllow          = "allow"
	ByPolicy         = "policy"
)

// Decision is what becomes of the job, and why.
type Decision struct {
	Action    Action
	DecidedBy string // the rung
	Reason    string // in more detail, for people; may be empty

	Delay    time.Duration // until the next attempt, whole milliseconds; the deadline may come first
	Explicit bool          // Delay was asked for, not computed
	GiveBack bool          // the attempt isn't spent

	// Kind is the one that the budget was checked with, the policy's where
	// none was checked. An Indefinite one obeys Settings.MaxIndefiniteAge.
	Kind retry.Kind
	// Lifted is Kind where it isn't the policy's own; it must come back as the
	// next attempt's Input.Lifted, and goes to [retry.Poisoned].
	Lifted retry.Kind

	DeadReason retry.DeadReason // of Fail
	Failure    *abi.Failure     // to be recorded; nil for what didn't fail
	Result     []byte           // of Succeed by a mapper: JSON in place of what was pushed
	Shortened  bool             // a signal asked for more than Settings.MaxDeferral
}

// DelayMS is the delay in milliseconds.
func (d *Decision) DelayMS() int64 { return d.Delay.Milliseconds() }

// Reschedules reports whether the job runs again.
func (d *Decision) Reschedules() bool {
	return d.Action == Retry || d.Action == Snooze || d.Action == RetryLater
}

// MarshalJSON writes what `classifier try` shows.
func (d Decision) MarshalJSON() ([]byte, error) {
	out := struct {
		Action     Action            `json:"action"`
		DecidedBy  string            `json:"decided_by"`
		Kind       retry.Kind        `json:"kind"`
		DelayMS    *int64            `json:"delay_ms"`
		DeadReason *retry.DeadReason `json:"dead_reason"`
	}{Action: d.Action, DecidedBy: d.DecidedBy, Kind: d.Kind}
	if d.Reschedules() {
		ms := d.DelayMS()
		out.DelayMS = &ms
	}
	if d.DeadReason != retry.NotDead {
		out.DeadReason = &d.DeadReason
	}
	return json.Marshal(out)
}

// rung matches an attempt's end, or leaves it to the next.
type rung func(*Ladder, context.Context, *Input) (Decision, bool)

// The order is the contract. The host's own fault stands before the rules of
// authors and operators: none of them can have meant it.
var rungs = [...]rung{
	(*Ladder).ownership,
	(*Ladder).cancel,
	(*Ladder).hostFault,
	(*Ladder).alwaysTerminal,
	(*Ladder).mapper,
	(*Ladder).guest,
	(*Ladder).deny,
	(*Ladder).chain,
	(*Ladder).allow,
}

// Decide sends an attempt's end down the ladder. Classifiers in WebAssembly
// run under ctx: it should outlive the worker's own stop, because a classifier
// that is interrupted is skipped like a broken one.
func (l *Ladder) Decide(ctx context.Context, in Input) Decision {
	in.normalize()
	for _, matches := range rungs {
		if d, ok := matches(l, ctx, &in); ok {
			return d
		}
	}
	return l.budget(&in, ByPolicy, Override{})
}

// normalize makes every later step total.
func (in *Input) normalize() {
	switch in.Ending {
	case Succeeded, Snoozed, RetryAfter:
		in.Failure = nil
		return
	}
	in.Ending = Failed
	switch f := in.Failure; {
	case f == nil:
		in.Failure = &abi.Failure{Class: abi.ClassGuestError}
	case f.Permanent && f.Retryable:
		in.Failure = &abi.Failure{
			Class: abi.ClassAbiViolation, Ancestors: abi.Ancestors(abi.ClassAbiViolation), Origin: abi.OriginHost,
			Message: "the failure was marked permanent and retryable at once",
		}
	}
}
