package worker

import (
	"context"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// execute runs the attempt and decides about it. A failure that would be
// retried on the curve may be repeated at once, within the same attempt and
// its time: each time in a pristine instance, and only the last end is
// recorded.
func (w *Worker) execute(parent context.Context, a *attempted) *store.Ending {
	ctx, done, refused := a.begin(parent)
	if refused != nil {
		a.ended, a.outcome = a.started, host.Outcome{Kind: host.Stopped, Cause: refused}
		return w.decide(parent, a)
	}
	defer done()
	a.begun, a.started = true, time.Now()
	for {
		a.outcome = w.run(ctx, a)
		d, e := w.judge(parent, a)
		if e == nil || !a.repeats(&d) || !a.pause(ctx) {
			return e
		}
		a.inline++
		a.Extra.Previous = previous(d.Failure)
	}
}

// repeats reports whether a failure is tried again within the attempt. An
// explicit delay and an indefinite kind mean somebody is waited for, and a
// host's fault is given back as an attempt of its own.
func (a *attempted) repeats(d *classify.Decision) bool {
	if a.inline >= a.policy.Inline.Attempts || d.Action != classify.Retry || d.Explicit || d.GiveBack || d.Kind == retry.Indefinite {
		return false
	}
	next := time.Now().Add(a.policy.Inline.Backoff)
	if a.policy.StartToClose > 0 && next.Sub(a.started) >= a.policy.StartToClose {
		return false
	}
	return a.Deadline.IsZero() || a.at(next).Before(a.Deadline)
}

// pause waits out the backoff; false if the attempt is to end instead.
func (a *attempted) pause(ctx context.Context) bool {
	timer := time.NewTimer(a.policy.Inline.Backoff)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	return a.bits.Load()&(abi.HeartbeatCancel|abi.HeartbeatDraining|abi.HeartbeatLeaseLost) == 0
}

// timeLeft is what start_to_close leaves to a run that begins now; 0 means no
// limit, and a negative one is over.
func (a *attempted) timeLeft(now time.Time) time.Duration {
	if a.policy.StartToClose == 0 {
		return 0
	}
	left := a.policy.StartToClose
	if a.inline > 0 {
		left -= now.Sub(a.started)
	}
	if left == 0 {
		return -1
	}
	return left
}
