package taskq

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// Causes (context.Cause) with which an attempt's context is cancelled.
var (
	// ErrCancelled means that somebody cancelled the job.
	ErrCancelled = errors.New("taskq: the job was cancelled")
	// ErrLeaseLost means that the attempt is no longer this guest's: whatever
	// it answers is dropped.
	ErrLeaseLost = errors.New("taskq: the lease was lost")
)

// Facts is what the host knows of an attempt. Times are Unix milliseconds; 0
// means none.
type Facts struct {
	JobID          string            `json:"job_id"`
	Tenant         string            `json:"tenant"`
	Queue          string            `json:"queue"`
	Actor          string            `json:"actor"`
	Version        int               `json:"version"`
	Digest         string            `json:"digest"` // of the module, SHA-256, hex
	Kind           string            `json:"kind"`
	Attempt        int               `json:"attempt"` // from 1
	MaxAttempts    int               `json:"max_attempts"`
	RetryKind      string            `json:"retry_kind"`
	ClaimEpoch     int64             `json:"claim_epoch"`
	RedriveCount   int               `json:"redrive_count"`
	SnoozeCount    int               `json:"snooze_count"`
	EnqueuedAtMS   int64             `json:"enqueued_at_ms"`
	ScheduledAtMS  int64             `json:"scheduled_at_ms"`
	NowMS          int64             `json:"now_ms"`
	StartToCloseMS int64             `json:"start_to_close_ms"` // for this attempt
	DeadlineMS     int64             `json:"deadline_ms"`       // of the whole job
	ContentType    string            `json:"content_type"`
	Inline         int               `json:"inline"`
	Headers        map[string]string `json:"headers"`
	Tags           []string          `json:"tags"`
	Previous       *Previous         `json:"previous_failure"`
	Config         json.RawMessage   `json:"config"` // the actor's settings
}

// Previous is the attempt before this one, if it failed.
type Previous struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// attempt is the context that a handler gets.
type attempt struct {
	context.Context
	cancel  context.CancelCauseFunc
	host    host
	started time.Time
	facts   func() Facts // read at the first use
}

type attemptKey struct{}

// begin makes the context of an attempt; end releases it.
func begin(parent context.Context, h host) (ctx *attempt, end func()) {
	inner, cancel := context.WithCancelCause(parent)
	a := &attempt{Context: inner, cancel: cancel, host: h, started: time.Now()}
	a.facts = sync.OnceValue(a.readFacts)
	return a, func() { cancel(context.Canceled) }
}

func (a *attempt) readFacts() (f Facts) {
	if err := json.Unmarshal(a.host.meta(), &f); err != nil {
		return Facts{} // a classifier and a describe have none
	}
	return f
}

// Value finds the attempt behind contexts that the handler derived.
func (a *attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// Deadline is when the host stops the attempt. The context itself doesn't
// end there: the guest no longer runs then.
func (a *attempt) Deadline() (time.Time, bool) {
	if limit := a.facts().StartToCloseMS; limit > 0 {
		return a.started.Add(time.Duration(limit) * time.Millisecond), true
	}
	return a.Context.Deadline()
}

// attemptOf finds the attempt that ctx belongs to; nil outside of one.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// hostOf finds the host of an attempt, or that of the process.
func hostOf(ctx context.Context) host {
	if a := attemptOf(ctx); a != nil {
		return a.host
	}
	return current()
}

// Meta gives the facts of the attempt that ctx belongs to; zero Facts outside
// of one. Its maps and slices are shared: don't change them.
func Meta(ctx context.Context) Facts {
	if a := attemptOf(ctx); a != nil {
		return a.facts()
	}
	return Facts{}
}

// Signals is what a heartbeat learns.
type Signals uint32

const (
	// CancelAsked means that somebody wants the job to end.
	CancelAsked Signals = 1
	// Draining means that the worker is about to stop; what takes long should
	// end soon.
	Draining Signals = 2
	// DeadlineNear means that less than ten seconds of the attempt are left.
	DeadlineNear Signals = 4
	// LeaseLost means that the attempt belongs to somebody else by now.
	LeaseLost Signals = 8
)

// Heartbeat asks the host what it wants of this attempt. When the job was
// cancelled or its lease is lost, the attempt's context is cancelled with
// [ErrCancelled] or [ErrLeaseLost] as its cause. It is cheap
// enough to be called at each turn of a loop that does some work.
func Heartbeat(ctx context.Context) Signals {
	a := attemptOf(ctx)
	if a == nil {
		return 0
	}
	s := Signals(a.host.heartbeat())
	switch {
	case s&LeaseLost != 0:
		a.cancel(ErrLeaseLost)
	case s&CancelAsked != 0:
		a.cancel(ErrCancelled)
	}
	return s
}

// Step is how far an attempt is. Every field may be left out.
type Step struct {
	Name    string   `json:"step,omitempty"`
	Percent *float64 `json:"percent,omitempty"` // 0..100
	Detail  string   `json:"detail,omitempty"`
	Data    any      `json:"data,omitempty"` // whatever encodes as JSON
}

// Percent is for [Step.Percent].
func Percent(p float64) *float64 { return &p }

// Progress tells the host how far the attempt is, in at most 16 KiB of JSON.
// The host coalesces what comes too often.
func Progress(ctx context.Context, s Step) error {
	record, err := json.Marshal(s)
	if err != nil {
		return &Error{Class: classUnencodable, Message: "progress: " + err.Error(), Cause: err}
	}
	switch hostOf(ctx).progress(record) {
	case 0:
		return nil
	case codeTooLarge:
		return errors.New("taskq: progress is longer than 16 KiB")
	default:
		return errors.New("taskq: the host took no progress")
	}
}

const codeTooLarge = -3
