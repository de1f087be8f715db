package worker

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// attempt is the way of a claimed job: run, decide, record.
func (w *Worker) attempt(j *job) {
	t := w.tenure.Load()
	if t.lost() || t.id != j.worker {
		w.settled(&ending{job: j}, nil)
		return
	}
	a, e := w.prepare(t.ctx, j)
	if a != nil && e == nil {
		e = w.execute(t.ctx, a)
	}
	if e == nil { // ownership is lost: no verdict
		w.settled(&ending{job: j}, nil)
		return
	}
	tellAdjusted(e, a.Extra, a.adjusted)
	w.record(a, e)
}

// attempted is an attempt with all that its verdict depends on.
type attempted struct {
	*job
	actor    *catalog.Runnable
	policy   config.Resolved
	adjusted []string        // what of the enqueue no longer holds
	settings json.RawMessage // the actor's own; nil: none

	started, ended time.Time // by the monotonic clock
	begun          bool      // the guest was let in
	inline         int       // quick repetitions so far
	outcome        host.Outcome
	failure        *abi.Failure // that was decided about; nil: none
}

func (a *attempted) version() int {
	if a.actor == nil {
		return 0
	}
	return a.actor.Version
}

// lifted is the kind that the decision before this attempt took in place of
// the policy's.
func (a *attempted) lifted() retry.Kind { return retry.Kind(a.Extra.Lifted) }

// prepare finds the actor and the policy; or says how the job ends without
// being run. It answers nothing at all if the lease was lost meanwhile.
func (w *Worker) prepare(ctx context.Context, j *job) (*attempted, *store.Ending) {
	actor, err := w.catalog.Runnable(ctx, j.tenant, j.Actor, j.Version)
	a := &attempted{job: j, actor: actor, started: time.Now()}
	var says config.Patch
	if actor != nil {
		says = actor.Description
	}
	a.policy, a.adjusted = w.resolve(&j.Claimed, j.tenant.Name, j.queue, says)
	switch {
	case j.Unreadable != "":
		w.log.Error("a job's row can't be read", "tenant", j.tenant.Name, "actor", j.Actor, "job", j.ID, "attempt", j.Attempt, "epoch", j.Epoch, "column", j.Unreadable)
		return a, w.hostFault(ctx, a, "the job's row could not be read")
	case errors.Is(err, store.ErrNotFound):
		return a, w.unroutable(a)
	case ctx.Err() != nil:
		return nil, nil
	case err != nil:
		// The module can't be had: the database's or the disk's trouble, not
		// the job's. It goes down the ladder as a fault of the host's own.
		w.log.Error("an actor can't be loaded", "tenant", j.tenant.Name, "actor", j.Actor, "job", j.ID, "attempt", j.Attempt, "epoch", j.Epoch, "error", err)
		return a, w.hostFault(ctx, a, "the actor's module could not be loaded")
	}
	if w.poisoned(a) {
		return a, w.overBudget(a)
	}
	a.settings = w.settingsOf(a)
	return a, nil
}

// settingsOf is the actor's free-form block, as its guest and its mapper read it.
func (w *Worker) settingsOf(a *attempted) json.RawMessage {
	block := w.config.Current().Tenants[a.tenant.Name].Actors[a.Actor].Settings
	if block == nil {
		return nil
	}
	raw, err := json.Marshal(block)
	if err != nil {
		w.log.Error("an actor's settings can't be encoded", "tenant", a.tenant.Name, "actor", a.Actor, "error", err)
		return nil
	}
	return raw
}

// hostFault sends a trouble of the host's own, before the guest could be let
// in, down the ladder.
func (w *Worker) hostFault(ctx context.Context, a *attempted, message string) *store.Ending {
	a.outcome = host.Outcome{Kind: host.Failed, Failure: &abi.Failure{Class: abi.ClassHostFault, Message: message, Origin: abi.OriginHost, PreActor: true}}
	a.ended = time.Now()
	return w.decide(ctx, a)
}

// run executes the body once; when it returns the guest has stopped.
func (w *Worker) run(ctx context.Context, a *attempted) host.Outcome {
	w.reached(Running, a.job)
	began := time.Now()
	out := a.actor.Module.Run(ctx, host.Attempt{
		Kind: abi.KindRun, Input: a.Payload, Meta: a.meta(), Limits: host.Limits{Memory: int64(w.config.Current().Host.Memory)},
		Sink: &sink{w: w, a: a}, Timeout: a.timeLeft(began), Heartbeat: a.bits.Load, ResultContentType: a.actor.ResultContentType(),
	})
	a.ended = time.Now()
	w.reached(Ran, a.job)
	w.pace.took(a.ended.Sub(began))
	for _, warning := range out.Warnings {
		w.log.Warn("attempt", "tenant", a.tenant.Name, "job", a.ID, "actor", a.Actor, "attempt", a.Attempt, "epoch", a.Epoch, "warning", warning)
	}
	return out
}

func (a *attempted) meta() abi.Meta {
	m := abi.Meta{
		JobID: a.ID.String(), Tenant: a.tenant.Name, Queue: a.queue, Actor: a.Actor, Version: a.actor.Version, Digest: a.actor.Digest, Kind: abi.KindRun,
		Attempt: a.Attempt, MaxAttempts: a.policy.Retry.MaxAttempts, RetryKind: string(a.policy.Retry.Kind), ClaimEpoch: a.Epoch,
		RedriveCount: a.Extra.Redrives, SnoozeCount: a.Extra.Snoozes, EnqueuedAtMS: a.CreatedAt.UnixMilli(), NowMS: a.at(a.started).UnixMilli(),
		StartToCloseMS: a.policy.StartToClose.Milliseconds(), ContentType: a.ContentType, Headers: a.Headers, Tags: a.Tags,
		Inline: a.inline, Config: a.settings,
	}
	if !a.Deadline.IsZero() {
		m.DeadlineMS = a.Deadline.UnixMilli()
	}
	if p := a.Extra.Previous; p != nil {
		m.Previous = &abi.PreviousFailure{Class: p.Class, Message: p.Message}
	}
	return m
}

// record hands an ending to the completer; the slot is free from here on.
func (w *Worker) record(a *attempted, e *store.Ending) {
	e.Lease, e.Index = a.Lease, a.Index
	w.completer.add(&ending{Ending: *e, job: a.job, hooks: w.hooksOf(a)})
}

// sink takes what a guest says into the host's log.
type sink struct {
	w *Worker
	a *attempted
}

func (s *sink) Log(line abi.LogLine) {
	args := []any{"tenant", s.a.tenant.Name, "job", s.a.ID, "actor", s.a.Actor, "attempt", s.a.Attempt, "epoch", s.a.Epoch}
	for k, v := range line.Fields {
		args = append(args, "guest."+abi.OneLine(k), oneLine(v))
	}
	s.w.guestLog.Log(hclogLevel(line.Level), abi.OneLine(line.Message), args...)
}

// oneLine is a field's value as a log's line may hold it.
func oneLine(v any) any {
	switch v := v.(type) {
	case string:
		return abi.OneLine(v)
	case bool, float64, nil:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return abi.OneLine(string(b))
}

func (s *sink) Progress(json []byte) {
	s.w.guestLog.Debug("progress", "tenant", s.a.tenant.Name, "job", s.a.ID, "actor", s.a.Actor, "attempt", s.a.Attempt, "epoch", s.a.Epoch, "bytes", len(json))
}

func digestBytes(digest string) []byte {
	b, err := hex.DecodeString(digest)
	if err != nil {
		return nil
	}
	return b
}

// guestLevels are ours for those of the contract.
var guestLevels = [...]hclog.Level{abi.LevelTrace: hclog.Trace, abi.LevelDebug: hclog.Debug, abi.LevelInfo: hclog.Info, abi.LevelWarn: hclog.Warn, abi.LevelError: hclog.Error}

func hclogLevel(l abi.Level) hclog.Level {
	return guestLevels[min(max(l, abi.LevelTrace), abi.LevelError)]
}
