package worker

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// decide sends an outcome down the ladder; nil if the job is no longer ours.
func (w *Worker) decide(ctx context.Context, a *attempted) *store.Ending {
	if a.outcome.Kind == host.Stopped {
		switch {
		case errors.Is(a.outcome.Cause, host.ErrInterrupted) && !a.begun:
			return w.unstarted(a.job)
		case errors.Is(a.outcome.Cause, host.ErrInterrupted):
			return w.interrupted(a)
		case !errors.Is(a.outcome.Cause, host.ErrCancelled):
			return nil // the lease is lost
		}
	}
	c := w.config.Current()
	ladder := classify.Ladder{Rules: rulesOf(c, a), Settings: c.Host.RetrySettings(), Log: w.log}
	return a.ending(ladder.Decide(ctx, a.input()))
}

func rulesOf(c *config.Config, a *attempted) classify.Rules {
	actor := c.Tenants[a.tenant.Name].Actors[a.Actor]
	return classify.Rules{
		RetryOn: actor.RetryOn, NonRetryable: actor.NonRetryableErrors,
		Permanent: a.policy.Classification.Permanent, Retryable: a.policy.Classification.Retryable,
	}
}

var endings = map[host.OutcomeKind]classify.Ending{
	host.Succeeded: classify.Succeeded, host.Failed: classify.Failed, host.Snoozed: classify.Snoozed, host.RetryAfter: classify.RetryAfter,
}

func (a *attempted) input() classify.Input {
	o := &a.outcome
	in := classify.Input{
		CancelRequested: o.Kind == host.Stopped || a.bits.Load()&abi.HeartbeatCancel != 0,
		Ending:          endings[o.Kind], Result: o.Result, Failure: o.Failure, Delay: o.Delay, ConsumeBudget: o.ConsumeBudget,
		Policy: a.policy.Retry, Attempt: a.Attempt, Lifted: a.lifted(), HostFaults: a.Extra.HostFaults,
		Deadline: a.Deadline, OccurredAt: a.at(a.ended), Random: rand.Uint64(),
		LogKeys: []any{"tenant", a.tenant.Name, "job", a.ID, "actor", a.Actor, "attempt", a.Attempt, "epoch", a.Epoch},
	}
	if a.hostFault() {
		in.HostFaults++
	}
	return in
}

func (a *attempted) hostFault() bool {
	return a.outcome.Failure != nil && a.outcome.Failure.Class == abi.ClassHostFault
}

// ending is the decision as the store writes it.
func (a *attempted) ending(d classify.Decision) *store.Ending {
	e := &store.Ending{Version: a.version(), Started: a.started.Sub(a.claimed), Ended: a.ended.Sub(a.claimed), DecidedBy: d.DecidedBy}
	switch d.Action {
	case classify.Drop:
		return nil
	case classify.Succeed:
		a.succeeded(e, &d)
	case classify.Cancel:
		e.Action, e.Status, e.Keep = store.End, store.Cancelled, keepFor(a.policy.TTLSucceeded)
		if d.Failure != nil {
			e.Attempt = a.row(store.AttemptCancelled, &d)
		}
	case classify.Fail:
		e.Action, e.Status, e.DeadReason = store.End, store.Failed, int16(d.DeadReason)
		e.ErrorClass, e.Message, e.Keep = d.Failure.Class, d.Failure.Message, keepFor(a.policy.DLQRetention)
		e.Attempt = a.row(store.AttemptFailed, &d)
	case classify.Retry:
		a.again(e, &d, store.ReasonRetry, store.AttemptFailed)
	case classify.Snooze:
		a.again(e, &d, store.ReasonSnooze, store.AttemptSnoozed)
	case classify.RetryLater:
		a.again(e, &d, store.ReasonRetryAfter, store.AttemptRetryAfter)
	}
	return e
}

func (a *attempted) succeeded(e *store.Ending, d *classify.Decision) {
	e.Action, e.Status, e.Keep = store.End, store.Succeeded, keepFor(a.policy.TTLSucceeded)
	e.ResultKeep = time.Duration(a.Options.ResultTTLMS) * time.Millisecond
	e.Result, e.ContentType = a.outcome.Result, a.outcome.ContentType
	if d.Result != nil {
		e.Result, e.ContentType = d.Result, "application/json"
	}
}

// again reschedules; what the next attempt must know travels with the row.
func (a *attempted) again(e *store.Ending, d *classify.Decision, why store.ScheduleReason, outcome store.AttemptOutcome) {
	e.Action, e.Delay, e.Reason, e.GiveBack = store.Reschedule, d.Delay, why, d.GiveBack
	e.FailKeep = keepFor(a.policy.DLQRetention)
	e.Attempt = a.row(outcome, d)
	extra := a.Extra
	extra.Lifted = string(d.Lifted)
	if why == store.ReasonSnooze {
		extra.Snoozes++
	}
	if f := d.Failure; f != nil {
		message, _ := abi.Text(f.Message, previousMessage)
		extra.Previous = &store.PreviousFailure{Class: f.Class, Message: message}
	}
	if a.hostFault() {
		extra.HostFaults++
	}
	e.Extra = &extra
}

// previousMessage is how much of a failure's text travels with the row.
const previousMessage = 512

// row is the attempt's record.
func (a *attempted) row(outcome store.AttemptOutcome, d *classify.Decision) *store.AttemptRow {
	r := &store.AttemptRow{
		Outcome: outcome, DecidedBy: d.DecidedBy, RetryKind: string(d.Kind), Policy: policySnapshot(a.policy.Retry),
		Version: a.version(), Fuel: a.outcome.Usage.Fuel, PeakMemory: a.outcome.Usage.PeakMemory,
	}
	if a.actor != nil {
		r.Digest = digestBytes(a.actor.Digest)
	}
	if d.Reschedules() {
		ms := d.DelayMS()
		r.DelayMS = &ms
	}
	if d.Failure != nil {
		fillFailure(r, d.Failure)
	}
	return r
}

func fillFailure(r *store.AttemptRow, f *abi.Failure) {
	r.ErrorClass, r.Ancestors, r.Message, r.Stack, r.Trap, r.Origin = f.Class, f.Ancestors, f.Message, f.Stack, f.Trap, string(f.Origin)
	r.TimedOut, r.PreActor = f.TimedOut, f.PreActor
	if f.HTTP != nil {
		r.HTTPStatus = f.HTTP.Status
	}
	if f.ExitCode != nil {
		code := int64(*f.ExitCode)
		r.ExitCode = &code
	}
	rest := struct {
		Permanent bool            `json:"permanent,omitempty"`
		Retryable bool            `json:"retryable,omitempty"`
		HTTP      *abi.HTTP       `json:"http,omitempty"`
		Details   json.RawMessage `json:"details,omitempty"`
		Cause     *abi.Failure    `json:"cause,omitempty"`
		Truncated []string        `json:"truncated,omitempty"`
	}{f.Permanent, f.Retryable, f.HTTP, f.Details, f.Cause, f.Truncated}
	if b, err := json.Marshal(rest); err == nil && string(b) != "{}" {
		r.Record = string(b)
	}
}
