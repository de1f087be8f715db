package worker

import (
	"context"
	"errors"
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
)

// flushRetries is how long a terminal write that failed waits before it is
// tried again; after the last the row is left to the lease.
var flushRetries = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}

// completer writes endings in batches, by size or by time, whichever comes
// first. The slot that made an ending is free before it is written.
type completer struct {
	end     func(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error)
	settled func(e *ending, v *store.Verdict) // v nil: ownership was lost or the write failed
	log     hclog.Logger

	mu      sync.Mutex
	pending []*ending
	count   int // given and not settled
	wake    chan struct{}
	closing chan struct{}
	done    sync.WaitGroup
}

// ending is what was decided about one job, by the identity that claimed it.
type ending struct {
	store.Ending
	job *job
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
	c.pending = append(c.pending, endings...)
	c.count += len(endings)
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

// close writes what is left and waits for it.
func (c *completer) close() {
	close(c.closing)
	c.done.Wait()
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
	c.mu.Lock()
	c.count -= len(batch)
	c.mu.Unlock()
}

// write stores endings of one identity. A batch that the database refuses is
// written in halves, so that one poisonous row never takes its neighbours
// along.
func (c *completer) write(worker store.ID, batch []*ending) {
	verdicts, err := c.store(worker, batch)
	if err == nil {
		c.settle(batch, verdicts)
		return
	}
	if len(batch) > 1 && !store.Unreachable(err) {
		half := len(batch) / 2
		c.write(worker, batch[:half])
		c.write(worker, batch[half:])
		return
	}
	for _, e := range batch {
		c.log.Error("an outcome could not be written: its lease will give the job back", "job", e.job.ID, "attempt", e.job.Attempt, "epoch", e.job.Epoch, "error", err)
		c.settled(e, nil)
	}
}

func (c *completer) store(worker store.ID, batch []*ending) ([]store.Verdict, error) {
	rows := make([]store.Ending, len(batch))
	for i, e := range batch {
		rows[i] = e.Ending
	}
	var errs []error
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		verdicts, err := c.end(ctx, worker, rows)
		cancel()
		if err == nil {
			return verdicts, nil
		}
		errs = append(errs, err)
		if try == len(flushRetries) || !store.Unreachable(err) {
			return nil, errors.Join(errs...)
		}
		<-time.After(flushRetries[try])
	}
}

func (c *completer) settle(batch []*ending, verdicts []store.Verdict) {
	type key struct {
		lease store.ID
		index int
	}
	by := make(map[key]*store.Verdict, len(verdicts))
	for i := range verdicts {
		by[key{verdicts[i].Lease, verdicts[i].Index}] = &verdicts[i]
	}
	for _, e := range batch {
		c.settled(e, by[key{e.Lease, e.Index}])
	}
}
