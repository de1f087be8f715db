package host

import (
	"time"

	"github.com/taskq-host/taskq-host/abi"
)

// OutcomeKind says how an attempt ended.
type OutcomeKind int

const (
	// Succeeded means that Result holds what was pushed; nil if nothing was.
	Succeeded OutcomeKind = iota + 1
	// Failed means that Failure is set.
	Failed
	// Snoozed means that the guest wants to run again after Delay; the attempt is given back.
	Snoozed
	// RetryAfter means that the guest wants a retry after Delay; the attempt
	// is spent if ConsumeBudget is set.
	RetryAfter
	// Stopped means that the caller's context ended, for the reason in Cause;
	// the guest runs no more. What it means is the caller's to decide.
	Stopped
)

// Outcome is what became of one attempt. There is one for every attempt,
// whatever the guest or the host itself did.
type Outcome struct {
	Kind          OutcomeKind
	Result        []byte
	ContentType   string        // of Result
	Failure       *abi.Failure  // Failed only
	Delay         time.Duration // Snoozed, RetryAfter; never negative
	ConsumeBudget bool          // RetryAfter
	Returned      int32         // what the entry returned, where it did: 2 of a payload factory skips the tick
	Cause         error         // Stopped: ErrCancelled, ErrInterrupted, ErrLeaseLost or the context's own
	Usage         Usage
	Stdout        string   // the last Limits.Stdio bytes, repaired; a command's result isn't repeated here
	Stderr        string   // likewise
	Warnings      []string // for the operator's log; never a payload's content
}

// Usage is what an attempt took.
type Usage struct {
	Duration   time.Duration // wall clock, instance creation included
	Startup    time.Duration // of it: until the entry was called
	PeakMemory int64         // bytes of linear memory
	Fuel       int64         // units of work, preparations included; 0 where the module isn't metered
	HostCalls  int64
	LogBytes   int64
	LogDropped int64 // lines
}
