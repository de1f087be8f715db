package worker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// Endings of attempts that no guest's outcome decides.

// unroutable: the tenant has no such actor at all.
func (w *Worker) unroutable(a *attempted) *store.Ending {
	return a.dead(store.Failed, retry.Unroutable, abi.ClassUnroutable, "the tenant has no actor of this name")
}

// poisoned: a live change of the policy took the budget away.
func (w *Worker) poisoned(a *attempted) bool {
	return retry.Poisoned(a.policy.Retry, a.lifted(), a.Attempt)
}

func (w *Worker) overBudget(a *attempted) *store.Ending {
	return a.dead(store.Failed, retry.Exhausted, abi.ClassMaxAttemptsExceeded, "the policy allows no further attempt")
}

// dead ends the job without another attempt, with a row that says why.
func (a *attempted) dead(status store.Status, reason retry.DeadReason, class, message string) *store.Ending {
	return &store.Ending{
		Action: store.End, Status: status, DeadReason: int16(reason), ErrorClass: class, Message: message, DecidedBy: "policy",
		Keep: keepFor(a.policy.DLQRetention), Started: a.started.Sub(a.claimed), Ended: a.started.Sub(a.claimed),
		Attempt: &store.AttemptRow{
			Outcome: store.AttemptFailed, ErrorClass: class, Message: message, Origin: string(abi.OriginHost), DecidedBy: "policy",
			RetryKind: string(a.policy.Retry.Kind), Policy: policySnapshot(a.policy.Retry), PreActor: true,
		},
	}
}

// unstarted gives back a claim that no guest saw: its attempt is refunded.
func (w *Worker) unstarted(j *job) *store.Ending {
	w.stats.Released.Add(1)
	policy := w.config.Current().Resolve(config.Lookup{Tenant: j.tenant.Name, Queue: j.queue, Actor: j.Actor})
	return &store.Ending{
		Lease: j.Lease, Index: j.Index, Action: store.Release,
		Keep: keepFor(policy.TTLSucceeded), FailKeep: keepFor(policy.DLQRetention), // a cancel or the deadline may end it here
	}
}

// interrupted: the worker stops, and the guest with it. The attempt is spent,
// there is no attempt row, and the job is due again at once; unless its budget
// is gone.
func (w *Worker) interrupted(a *attempted) *store.Ending {
	if d := retry.Interrupt(withKind(a.policy.Retry, a.lifted()), a.Attempt); !d.Retry {
		e := a.dead(store.Crashed, d.Reason, abi.ClassWorkerStopped, "the worker stopped while the job ran, and no attempt is left")
		e.Ended, e.Attempt.Outcome, e.Attempt.PreActor = a.ended.Sub(a.claimed), store.AttemptCrashed, false
		return e
	}
	extra := a.Extra
	extra.Interrupts++
	return &store.Ending{
		Action: store.Interrupt, Extra: &extra, Keep: keepFor(a.policy.TTLSucceeded), FailKeep: keepFor(a.policy.DLQRetention),
		Started: a.started.Sub(a.claimed), Ended: a.ended.Sub(a.claimed),
	}
}

// reclaimed decides for the members of dead workers' leases: each attempt is
// spent, and what comes next is the policy's to say, resolved anew.
func (w *Worker) reclaimed(ctx context.Context, now time.Time, orphans []store.Orphan) []store.Ending {
	out := make([]store.Ending, len(orphans))
	c := w.config.Current()
	for i := range orphans {
		out[i] = w.crashed(ctx, c, now, &orphans[i])
	}
	return out
}

// deathOf says how a worker is gone. That it lives and couldn't reach the
// database is known to itself alone.
func (w *Worker) deathOf(worker store.ID) (class, message string) {
	if _, ours := w.former.Load(worker); ours {
		return abi.ClassHeartbeatLost, "its worker could not reach the database in time"
	}
	return abi.ClassWorkerCrashed, "the worker that ran it is gone"
}

func (w *Worker) crashed(ctx context.Context, c *config.Config, now time.Time, o *store.Orphan) store.Ending {
	says, err := w.catalog.Description(ctx, store.Tenant{ID: o.Tenant, Shard: w.shard, Name: o.TenantName}, o.Actor)
	if err != nil {
		w.log.Warn("an actor's own policy can't be had: the configuration's decides", "tenant", o.TenantName, "job", o.ID, "actor", o.Actor, "error", err)
	}
	policy := w.resolve(&o.Claimed, o.TenantName, o.Queue, says)
	d := retry.Reclaim(withKind(policy.Retry, retry.Kind(o.Extra.Lifted)), c.Host.RetrySettings(), o.ID, o.Attempt)
	class, message := w.deathOf(o.Worker)
	e := store.Ending{
		Lease: o.Lease, Index: o.Index, ErrorClass: class, Message: message, DecidedBy: "policy",
		Keep: keepFor(policy.DLQRetention), FailKeep: keepFor(policy.DLQRetention), Ended: now.Sub(o.ClaimedAt),
		Attempt: &store.AttemptRow{
			Outcome: store.AttemptCrashed, ErrorClass: class, Message: message, Origin: string(abi.OriginHost), DecidedBy: "policy",
			RetryKind: string(d.Kind), Policy: policySnapshot(policy.Retry),
		},
	}
	if !d.Retry {
		e.Action, e.Status, e.DeadReason = store.End, store.Crashed, int16(d.Reason)
		return e
	}
	e.Action, e.Delay, e.Reason = store.Reschedule, d.Delay, store.ReasonReclaim
	ms := d.Delay.Milliseconds()
	e.Attempt.DelayMS = &ms
	extra := o.Extra
	extra.Previous = &store.PreviousFailure{Class: class, Message: message}
	e.Extra = &extra
	return e
}

// withKind is the policy under the kind that the last decision lifted it to:
// a job that a classifier keeps alive as indefinite isn't ended by a crash.
func withKind(p retry.Policy, lifted retry.Kind) retry.Policy {
	if lifted != "" {
		p.Kind = lifted
	}
	return p
}

// policySnapshot is the policy as the attempt's row keeps it.
func policySnapshot(p retry.Policy) []byte {
	b, err := json.Marshal(p)
	if err != nil {
		return nil // a policy always encodes; a row without it beats no row
	}
	return b
}

// bareOf is an ending without anything that came from a guest: the path that
// records an outcome must not fail for what the outcome says. A success
// without its result would be a lie, so it becomes the host's own fault.
func bareOf(e store.Ending) store.Ending {
	const message = "the attempt's outcome could not be stored"
	e.Result, e.ContentType, e.Message = nil, "", message
	if e.Action == store.End && e.Status == store.Succeeded {
		e.Status, e.DeadReason, e.DecidedBy = store.Failed, int16(retry.Exhausted), "policy"
		e.Attempt = &store.AttemptRow{Outcome: store.AttemptFailed, DecidedBy: "policy"}
	}
	if e.Action == store.End {
		e.ErrorClass = abi.ClassHostFault
	}
	if a := e.Attempt; a != nil {
		e.Attempt = &store.AttemptRow{
			Outcome: a.Outcome, ErrorClass: abi.ClassHostFault, Message: message, Origin: string(abi.OriginHost),
			DecidedBy: a.DecidedBy, RetryKind: a.RetryKind, DelayMS: a.DelayMS, Version: a.Version,
		}
	}
	if e.Extra != nil {
		extra := *e.Extra
		extra.Previous = nil
		e.Extra = &extra
	}
	return e
}
