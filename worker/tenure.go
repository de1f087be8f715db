package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// leaseMargin is how long before its lease is over a worker that can't prolong
// it stops its guests, counted from when the last acknowledged heartbeat was sent.
const leaseMargin = 2 * time.Second

// tenure is one registration of this process: an identity, the leases that it
// holds, and the instant until which they are safe. It ends when the lease
// couldn't be prolonged in time; then its context ends with
// [host.ErrLeaseLost], every guest is stopped and every verdict dropped.
type tenure struct {
	id   store.ID
	ctx  context.Context
	lose context.CancelCauseFunc

	mu       sync.Mutex
	safe     time.Time // by the monotonic clock
	watchdog *time.Timer
	claiming map[store.ID]struct{} // claim calls under way
	leases   map[store.ID]*heldLease
}

type heldLease struct {
	jobs map[int]*job // by index, those that haven't settled
}

func newTenure(sent time.Time, lockLease time.Duration) *tenure {
	t := &tenure{id: store.NewID(), claiming: map[store.ID]struct{}{}, leases: map[store.ID]*heldLease{}}
	t.ctx, t.lose = context.WithCancelCause(context.Background())
	t.mu.Lock() // the timer may fire at once
	defer t.mu.Unlock()
	t.safe = sent.Add(lockLease - leaseMargin)
	t.watchdog = time.AfterFunc(time.Until(t.safe), t.checkLease)
	return t
}

func (t *tenure) lost() bool { return t.ctx.Err() != nil }

// prolong moves the instant until which the leases are safe.
func (t *tenure) prolong(sent time.Time, lockLease time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if safe := sent.Add(lockLease - leaseMargin); safe.After(t.safe) {
		t.safe = safe
		t.watchdog.Reset(time.Until(safe))
	}
}

// checkLease ends the tenure unless it was prolonged while the timer fired.
func (t *tenure) checkLease() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := time.Until(t.safe); left > 0 {
		t.watchdog.Reset(left)
		return
	}
	t.lose(host.ErrLeaseLost)
}

// end stops the watchdog of a tenure that is over or has been given up.
func (t *tenure) end() {
	t.watchdog.Stop()
	t.lose(host.ErrLeaseLost)
}

func (t *tenure) claimBegins(lease store.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claiming[lease] = struct{}{}
}

// claimEnds takes the claim's jobs, none if the call failed: if it took
// effect all the same, the next heartbeat finds the lease and gives it back.
func (t *tenure) claimEnds(lease store.ID, jobs []*job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.claiming, lease)
	if len(jobs) == 0 {
		return
	}
	held := &heldLease{jobs: make(map[int]*job, len(jobs))}
	for _, j := range jobs {
		held.jobs[j.Index] = j
	}
	t.leases[lease] = held
}

// settle forgets a job that is no longer ours to end.
func (t *tenure) settle(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, ok := t.leases[j.Lease]
	if !ok {
		return
	}
	if delete(held.jobs, j.Index); len(held.jobs) == 0 {
		delete(t.leases, j.Lease)
	}
}

// reconcile compares what the database says that we hold with what we know:
// it answers jobs that somebody asked to cancel, and members of leases that
// came from a claim whose reply was lost.
func (t *tenure) reconcile(held []store.HeldLease) (cancelled []*job, strays []store.Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range held {
		known, ok := t.leases[l.ID]
		if _, busy := t.claiming[l.ID]; !ok && busy {
			continue
		}
		for _, m := range l.Members {
			switch {
			case !ok:
				strays = append(strays, store.Ending{Lease: l.ID, Index: m.Index, Action: store.Release, Keep: strayKeep, FailKeep: strayKeep})
			case m.Cancelled && known.jobs[m.Index] != nil:
				cancelled = append(cancelled, known.jobs[m.Index])
			}
		}
	}
	return cancelled, strays
}

// strayKeep is how long a job is kept that a cancel or its deadline ends while
// it is given back by a worker that doesn't know what it is.
const strayKeep = 30 * 24 * time.Hour

// gone lists those of the jobs that we thought ours before the heartbeat was
// sent and that it didn't answer: somebody else has ended or moved them.
func gone(before []*job, held []store.HeldLease) (out []*job) {
	type key struct {
		lease store.ID
		index int
	}
	ours := map[key]struct{}{}
	for _, l := range held {
		for _, m := range l.Members {
			ours[key{l.ID, m.Index}] = struct{}{}
		}
	}
	for _, j := range before {
		if _, ok := ours[key{j.Lease, j.Index}]; !ok {
			out = append(out, j)
		}
	}
	return out
}

// running lists every job that hasn't settled.
func (t *tenure) running() []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*job
	for _, l := range t.leases {
		for _, j := range l.jobs {
			out = append(out, j)
		}
	}
	return out
}

// register begins a new tenure; it tries until ctx ends.
func (w *Worker) register(ctx context.Context) (*tenure, error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		sent := time.Now()
		t := newTenure(sent, w.lease.LockLease)
		call, cancel := context.WithTimeout(ctx, w.lease.HeartbeatCommandTimeout)
		err := w.store.Register(call, store.Worker{ID: t.id, Name: w.name, Version: w.version, Concurrency: w.concurrency, Queues: w.queues}, w.lease.LockLease)
		cancel()
		if err == nil {
			return t, nil
		}
		t.end()
		if ctx.Err() != nil {
			return nil, err
		}
		w.log.Warn("the worker can't register", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// beat prolongs the tenure's leases once and acts on what it hears.
func (w *Worker) beat(ctx context.Context, t *tenure) {
	before := t.running()
	sent := time.Now()
	call, cancel := context.WithTimeout(ctx, w.lease.HeartbeatCommandTimeout)
	defer cancel()
	held, err := w.store.Heartbeat(call, w.shard, t.id, w.lease.LockLease, w.draining.Load())
	w.reached(Beating, nil)
	switch {
	case errors.Is(err, store.ErrWorkerLost):
		w.log.Error("the worker's lease was over before its heartbeat came: everything it ran is given up", "worker", t.id)
		t.lose(host.ErrLeaseLost)
		return
	case err != nil:
		if ctx.Err() == nil {
			w.log.Warn("a heartbeat failed", "worker", t.id, "error", err)
		}
		return
	}
	t.prolong(sent, w.lease.LockLease)
	w.completer.resume()
	for _, j := range gone(before, held) {
		if j.stop(host.ErrLeaseLost) {
			w.log.Error("a running job is no longer ours: its guest is stopped", "job", j.ID, "attempt", j.Attempt, "epoch", j.Epoch)
		}
	}
	cancelled, strays := t.reconcile(held)
	for _, j := range cancelled {
		j.askToCancel(w.stopping.CancellationGrace)
	}
	w.giveBackStrays(call, t, strays)
}

// giveBackStrays releases what a claim took whose reply was lost. Members that
// were ended since the heartbeat read them are none, and the fence knows.
func (w *Worker) giveBackStrays(ctx context.Context, t *tenure, strays []store.Ending) {
	if len(strays) == 0 {
		return
	}
	back, err := w.store.End(ctx, w.shard, t.id, strays)
	switch {
	case err != nil:
		w.log.Warn("the jobs of a lost claim can't be given back yet", "worker", t.id, "error", err)
	case len(back) > 0:
		w.log.Warn("a claim's reply was lost: its jobs are given back", "worker", t.id, "jobs", len(back))
	}
}

// heartbeats beats until ctx ends, and sooner whenever it is nudged.
func (w *Worker) heartbeats(ctx context.Context) {
	tick := time.NewTicker(w.lease.HeartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.nudge:
		}
		t := w.tenure.Load()
		if t.lost() && !w.draining.Load() {
			var err error
			if t, err = w.currentTenure(ctx); err != nil {
				return
			}
		}
		if !t.lost() {
			w.beat(ctx, t)
		}
	}
}
