package worker

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/store"
)

const (
	flushSize    = 100
	flushDelay   = 5 * time.Millisecond
	maxUnflushed = 4_000 // then claiming stops
	flushers     = 2
	flushTimeout = 10 * time.Second
)

// flushRetries is how long a terminal write that failed waits before it is
// tried again; after the last it waits for a heartbeat that comes through.
var flushRetries = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}

// completer writes endings in batches, by size or by time, whichever comes
// first. The slot that made an ending is free before it is written.
//
// An ending that can't be written while the database is away is parked, and
// written when a heartbeat has come through again: as long as the lease is
// ours its verdict holds. If the lease was lost meanwhile the fence drops it.
type completer struct {
	end     func(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error)
	settled func(e *ending, v *store.Verdict) // v nil: ownership was lost, or see ending.unsure
	log     hclog.Logger

	mu      sync.Mutex
	pending []*ending
	parked  []*ending
	count   int // given and not settled
	wake    chan struct{}
	closing chan struct{}
	done    sync.WaitGroup
}

// ending is what was decided about one job, by the identity that claimed it.
type ending struct {
	store.Ending
	job   *job
	hooks *hooked // that hear of it; nil: none
	// unsure: a write of it got no answer, so one that finds nothing to end
	// may have been preceded by itself.
	unsure bool
	bare   bool // its texts and its result were refused
}

// intended is the state that the ending asks for.
func (e *ending) intended() store.Status {
	switch e.Action {
	case store.End:
		return e.Status
	case store.Reschedule:
		return store.Scheduled
	}
	return store.Pending
}

func newCompleter(end func(context.Context, store.ID, []store.Ending) ([]store.Verdict, error), settled func(*ending, *store.Verdict), log hclog.Logger) *completer {
	c := &completer{end: end, settled: settled, log: log, wake: make(chan struct{}, flushers), closing: make(chan struct{})}
	for range flushers {
		c.done.Add(1)
		go c.flushLoop()
	}
	return c
}

// add takes an ending over; it never blocks.
func (c *completer) add(endings ...*ending) {
	c.mu.Lock()
	c.count += len(endings)
	c.mu.Unlock()
	c.queue(endings)
}

func (c *completer) queue(endings []*ending) {
	if len(endings) == 0 {
		return
	}
	c.mu.Lock()
	c.pending = append(c.pending, endings...)
	n := len(c.pending)
	c.mu.Unlock()
	if n >= flushSize || n == len(endings) { // a full batch, or the first of one
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// full reports whether so much is unwritten that claiming must wait.
func (c *completer) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count >= maxUnflushed
}

// resume writes what was parked: the database answers again.
func (c *completer) resume() {
	c.queue(c.takeParked())
}

func (c *completer) takeParked() []*ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	parked := c.parked
	c.parked = nil
	return parked
}

// close writes what is left and waits for it. What can't be written then is
// left to its lease.
func (c *completer) close() {
	c.resume()
	close(c.closing)
	c.done.Wait()
	for _, e := range c.takeParked() {
		c.finish(e, nil)
	}
}

func (c *completer) take() []*ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.pending), 5*flushSize)
	out := c.pending[:n:n]
	c.pending = c.pending[n:]
	return out
}

func (c *completer) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

func (c *completer) flushLoop() {
	defer c.done.Done()
	timer := time.NewTimer(flushDelay)
	defer timer.Stop()
	for {
		closing := false
		select {
		case <-c.wake:
		case <-c.closing:
			closing = true
		}
		if n := c.size(); !closing && n > 0 && n < flushSize {
			timer.Reset(flushDelay)
			c.gather(timer)
		}
		for batch := c.take(); len(batch) > 0; batch = c.take() {
			c.flush(batch)
		}
		if closing && c.size() == 0 {
			return
		}
	}
}

// gather waits until the batch is full or its time is up.
func (c *completer) gather(timer *time.Timer) {
	for {
		select {
		case <-timer.C:
			return
		case <-c.closing:
			return
		case <-c.wake:
			if c.size() >= flushSize {
				return
			}
		}
	}
}

// flush writes one batch; each identity's endings are a call of their own.
func (c *completer) flush(batch []*ending) {
	byWorker := map[store.ID][]*ending{}
	for _, e := range batch {
		byWorker[e.job.worker] = append(byWorker[e.job.worker], e)
	}
	for worker, endings := range byWorker {
		c.write(worker, endings)
	}
}

// write stores endings of one identity, in several tries if need be.
func (c *completer) write(worker store.ID, open []*ending) {
	for try := 0; ; try++ {
		verdicts, err := c.call(worker, open)
		if open = c.settle(open, verdicts, err == nil); len(open) == 0 {
			return
		}
		for _, e := range open {
			e.unsure = e.unsure || store.Ambiguous(err)
		}
		switch {
		case !store.Unreachable(err), store.TooSlow(err) && len(open) > 1:
			c.split(worker, open, err)
			return
		case try == len(flushRetries):
			c.park(open, err)
			return
		}
		<-time.After(flushRetries[try])
	}
}

func (c *completer) call(worker store.ID, batch []*ending) ([]store.Verdict, error) {
	rows := make([]store.Ending, len(batch))
	for i, e := range batch {
		rows[i] = e.Ending
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return c.end(ctx, worker, rows)
}

// settle tells what became of endings: of those that have a verdict, and of
// all once the call went through. It answers those that are still open.
func (c *completer) settle(batch []*ending, verdicts []store.Verdict, through bool) (open []*ending) {
	type key struct {
		lease store.ID
		index int
	}
	by := make(map[key]*store.Verdict, len(verdicts))
	for i := range verdicts {
		by[key{verdicts[i].Lease, verdicts[i].Index}] = &verdicts[i]
	}
	for _, e := range batch {
		v := by[key{e.Lease, e.Index}]
		if v == nil && !through {
			open = append(open, e)
			continue
		}
		c.finish(e, v)
	}
	return open
}

func (c *completer) finish(e *ending, v *store.Verdict) {
	c.mu.Lock()
	c.count--
	c.mu.Unlock()
	c.settled(e, v)
}

// split writes a batch that the database refuses in halves, so that one
// poisonous row never takes its neighbours along. What is refused alone is
// written once more without what its guest said.
func (c *completer) split(worker store.ID, batch []*ending, err error) {
	if len(batch) > 1 {
		half := len(batch) / 2
		c.write(worker, batch[:half:half])
		c.write(worker, batch[half:])
		return
	}
	e := batch[0]
	if e.bare {
		c.park(batch, err)
		return
	}
	c.log.Error("an outcome was refused: it is written without its texts and its result", "job", e.job.ID, "attempt", e.job.Attempt, "epoch", e.job.Epoch, "error", err)
	e.Ending, e.bare = bareOf(e.Ending), true
	c.write(worker, batch)
}

// park keeps endings until a heartbeat comes through.
func (c *completer) park(batch []*ending, err error) {
	for _, e := range batch {
		c.log.Error("an outcome can't be written yet", "job", e.job.ID, "attempt", e.job.Attempt, "epoch", e.job.Epoch, "error", err)
	}
	c.mu.Lock()
	c.parked = append(c.parked, batch...)
	c.mu.Unlock()
}
