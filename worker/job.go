package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// job is a claimed job on its way through this process.
type job struct {
	store.Claimed
	worker  store.ID // the identity that claimed it
	queue   string   // its name
	tenant  store.Tenant
	claimed time.Time // when the claim's reply came, by our monotonic clock
	now     time.Time // the same instant by the database's clock

	bits atomic.Uint32 // of the guest's heartbeat

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // of the running attempt; nil before and after
	stopped error                   // why it must not run, or no longer
	grace   *time.Timer             // until a cancelled attempt is stopped
}

// at tells an instant of our monotonic clock by the database's.
func (j *job) at(instant time.Time) time.Time { return j.now.Add(instant.Sub(j.claimed)) }

// begin makes the context of the job's attempt; or answers why the attempt
// must not begin any more.
func (j *job) begin(parent context.Context) (ctx context.Context, done func(), refused error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.stopped != nil:
		return nil, nil, j.stopped
	case j.bits.Load()&abi.HeartbeatCancel != 0:
		return nil, nil, host.ErrCancelled
	}
	ctx, cancel := context.WithCancelCause(parent)
	j.cancel = cancel
	return ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.grace != nil {
			j.grace.Stop()
		}
		j.cancel = nil
		cancel(nil)
	}, nil
}

// askToCancel tells the guest first; if it still runs after the grace, its
// instance is stopped. Asking twice changes nothing.
func (j *job) askToCancel(grace time.Duration) {
	if j.bits.Or(abi.HeartbeatCancel)&abi.HeartbeatCancel != 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.grace = time.AfterFunc(grace, func() { j.stop(host.ErrCancelled) })
}

// stop ends the running attempt, or keeps one that hasn't begun from
// beginning. The first cause counts. It reports whether a guest ran.
func (j *job) stop(cause error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped == nil {
		j.stopped = cause
	}
	if j.cancel == nil {
		return false
	}
	j.cancel(cause)
	return true
}
