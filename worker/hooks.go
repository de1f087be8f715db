package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

const (
	hookTimeout  = 3 * time.Second // unless configured
	hooksAtOnce  = 8
	maxHooksLeft = 2_000 // then claiming stops
	hookSelf     = "self"
)

// hooks runs what is to happen after a job's end was stored. They tell; they
// alter nothing: whatever becomes of one, the outcome stays. Each runs at most
// once, and not at all where ownership was lost or the process died.
type hooks struct {
	slots   chan struct{}
	left    atomic.Int64
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // of all that run, ended by close
	stop    context.CancelFunc
}

func newHooks() *hooks {
	h := &hooks{slots: make(chan struct{}, hooksAtOnce)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// full reports whether so many wait that claiming must.
func (h *hooks) full() bool { return h.left.Load() >= maxHooksLeft }

// start runs f on a goroutine of its own, when there is room.
func (h *hooks) start(f func(ctx context.Context)) {
	h.left.Add(1)
	h.running.Go(func() {
		defer h.left.Add(-1)
		h.slots <- struct{}{}
		defer func() { <-h.slots }()
		f(h.ctx)
	})
}

// close waits for those that run, but no longer than grace; then it stops them.
func (h *hooks) close(grace time.Duration) {
	timer := time.AfterFunc(grace, h.stop)
	h.running.Wait()
	timer.Stop()
	h.stop()
}

// hooked is an ended attempt with the hooks that its actor has.
type hooked struct {
	*attempted
	config.Hooks
}

// hooksOf gives the hooks of an attempt; nil for none.
func (w *Worker) hooksOf(a *attempted) *hooked {
	h := w.config.Current().Tenants[a.tenant.Name].Actors[a.Actor].Hooks
	if h.Success == "" && h.Cancel == "" && h.RetryExhausted == "" {
		return nil
	}
	return &hooked{a, h}
}

// tellHooks is called once an end is stored.
func (w *Worker) tellHooks(e *ending, s store.Status) {
	if e.hooks == nil {
		return
	}
	event, name := e.hooks.of(s)
	if name == "" {
		return
	}
	w.hooks.start(func(ctx context.Context) { w.hook(ctx, e, event, name, s) })
}

func (h *hooked) of(s store.Status) (event abi.HookEvent, name string) {
	switch s {
	case store.Succeeded:
		return abi.HookSuccess, h.Success
	case store.Cancelled:
		return abi.HookCancel, h.Cancel
	case store.Failed, store.Crashed:
		return abi.HookRetryExhausted, h.RetryExhausted
	}
	return "", ""
}

// hook runs one. What it answers is ignored; that it failed is logged.
func (w *Worker) hook(ctx context.Context, e *ending, event abi.HookEvent, name string, s store.Status) {
	err := w.runHook(ctx, e, event, name, s)
	if err == nil {
		w.stats.Hooks.Add(1)
		return
	}
	w.stats.BrokenHooks.Add(1)
	w.log.Warn("a hook failed; the job's outcome stays", "tenant", e.job.tenant.Name, "job", e.job.ID, "actor", e.job.Actor,
		"attempt", e.job.Attempt, "epoch", e.job.Epoch, "event", string(event), "hook", name, "error", err)
}

func (w *Worker) runHook(ctx context.Context, e *ending, event abi.HookEvent, name string, s store.Status) error {
	h := e.hooks
	actor := h.actor
	if name != hookSelf {
		var err error
		if actor, err = w.catalog.Runnable(ctx, h.tenant, name, 0); err != nil {
			return err
		}
	}
	if actor == nil {
		return errors.New("the actor's own module isn't at hand")
	}
	input, err := json.Marshal(h.input(e, event, s))
	if err != nil {
		return err
	}
	timeout := h.Timeout
	if timeout == 0 {
		timeout = hookTimeout
	}
	meta := abi.Meta{
		JobID: h.ID.String(), Tenant: h.tenant.Name, Queue: h.queue, Actor: actor.Name, Version: actor.Version, Digest: actor.Digest,
		Attempt: h.Attempt, MaxAttempts: h.policy.Retry.MaxAttempts, RetryKind: string(h.policy.Retry.Kind), ClaimEpoch: h.Epoch,
		EnqueuedAtMS: h.CreatedAt.UnixMilli(), NowMS: h.at(time.Now()).UnixMilli(), Headers: h.Headers, Tags: h.Tags,
	}
	out := actor.Module.Run(ctx, host.Attempt{
		Kind: abi.KindHook, Input: input, Meta: meta, Timeout: timeout, Sink: &sink{w: w, a: h.attempted},
		Limits: host.Limits{Memory: int64(w.config.Current().Host.Memory)},
	})
	switch out.Kind {
	case host.Failed:
		return errors.New(out.Failure.Class + ": " + out.Failure.Message)
	case host.Stopped:
		return out.Cause
	}
	return nil
}

func (h *hooked) input(e *ending, event abi.HookEvent, s store.Status) abi.HookInput {
	in := abi.HookInput{Event: event, Failure: h.failure, Job: abi.HookJob{
		ID: h.ID.String(), Tenant: h.tenant.Name, Queue: h.queue, Actor: h.Actor, Version: h.version(),
		Status: s.String(), Attempt: h.Attempt, Headers: h.Headers, Tags: h.Tags,
	}}
	switch {
	case event == abi.HookSuccess:
		in.Result = asJSON(e.Result)
	case event == abi.HookRetryExhausted && e.Action != store.End: // the deadline came before the retry
		in.DeadReason = retry.DeadlinePassed.String()
	case event == abi.HookRetryExhausted:
		in.DeadReason = retry.DeadReason(e.DeadReason).String()
		if in.Failure == nil {
			in.Failure = &abi.Failure{Class: e.ErrorClass, Message: e.Message, Origin: abi.OriginHost}
		}
	}
	return in
}

// asJSON is a result as a hook reads it.
func asJSON(result []byte) json.RawMessage {
	switch {
	case len(result) == 0:
		return nil
	case json.Valid(result):
		return result
	case utf8.Valid(result):
		text, _ := json.Marshal(string(result)) // a string always encodes
		return text
	}
	return nil
}
