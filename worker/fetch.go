package worker

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/taskq-host/taskq-host/store"
)

// wakes are the queues that a wake-up named since they were last asked for.
type wakes struct {
	mu     *sync.Mutex
	queues map[string]struct{}
	all    *bool
	signal chan struct{}
}

func newWakes() wakes {
	return wakes{mu: &sync.Mutex{}, queues: map[string]struct{}{}, all: new(bool), signal: make(chan struct{}, 1)}
}

func (w *wakes) add(queue string) {
	w.mu.Lock()
	if queue == "" {
		*w.all = true
	} else {
		w.queues[queue] = struct{}{}
	}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// take answers the queues that were named, and whether any may have work.
func (w *wakes) take() (queues []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := range w.queues {
		queues = append(queues, q)
	}
	clear(w.queues)
	all, *w.all = *w.all, false
	return queues, all
}

// woken is called by the store's listener.
func (w *Worker) woken(queue string) {
	if queue == store.WakeBeat {
		w.beatSoon()
		return
	}
	w.wakes.add(queue)
}

// pace knows how long attempts take, to say how many may be claimed ahead.
type pace struct {
	mu   sync.Mutex
	mean time.Duration // exponentially weighted; 0: nothing is known yet
}

func (p *pace) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		p.mean = d
		return
	}
	p.mean += (d - p.mean) / 32
}

// ahead is how many jobs so many slots begin within that span.
func (p *pace) ahead(slots int, span time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		return 0
	}
	return int(float64(slots) * float64(span) / float64(max(p.mean, 10*time.Microsecond)))
}

// callTimeout bounds every call that isn't a heartbeat's or a completion's: a
// connection that leads nowhere must not hold up the loop that uses it.
const callTimeout = 10 * time.Second

// claimsAtOnce is how many claim calls are under way at most: while one waits
// for the database, the jobs of the other run.
const claimsAtOnce = 3

// fetchLoop claims for as long as there is room, queue by queue in turn, and
// waits for a wake-up or the poll interval when no queue has work.
func (w *Worker) fetchLoop(ctx context.Context) {
	f := fetcher{w: w, cursors: map[string]store.Cursor{}, results: make(chan claimed)}
	poll := time.NewTimer(0)
	defer poll.Stop()
	for ctx.Err() == nil {
		if queues, all := w.wakes.take(); all {
			f.discover(ctx)
		} else {
			f.busy = merge(f.busy, queues, w.serves)
		}
		f.claimMore(ctx)
		var free <-chan struct{}
		if len(f.busy) > 0 { // work is there but no room
			free = w.idle
		}
		select {
		case <-ctx.Done():
		case <-w.wakes.signal:
		case <-free:
		case c := <-f.results:
			f.took(ctx, c)
		case <-poll.C:
			f.discover(ctx)
			poll.Reset(w.fetch.PollInterval)
		}
	}
	for f.underway > 0 { // a claim that was sent is waited for
		f.took(ctx, <-f.results)
	}
}

// room is how many jobs may be claimed now: what free slots can take at once,
// and what all slots will begin within the prefetch span.
func (w *Worker) room() int {
	if w.completer.full() || w.hooks.full() {
		return 0
	}
	waiting := w.backlog.len()
	free := w.concurrency - int(w.active.Load())
	ahead := min(w.pace.ahead(w.concurrency, w.fetch.Prefetch), 8*w.fetch.BatchSize)
	target := free + ahead
	// Refill by halves, so that a claim is worth its statement.
	if waiting > 0 && waiting > target/2 {
		return 0
	}
	return target - waiting
}

// fetcher claims; all of it belongs to the fetch loop's goroutine.
type fetcher struct {
	w        *Worker
	busy     []string // queues that may have work, next first
	cursors  map[string]store.Cursor
	results  chan claimed
	underway int
	asked    int // jobs that the calls under way may bring
}

// claimed is what a claim call brought.
type claimed struct {
	queue string
	limit int
	jobs  int
	next  store.Cursor
	err   error
}

// discover asks which queues have work at all.
func (f *fetcher) discover(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	queues, err := f.w.store.BusyQueues(call, f.w.shard)
	if err != nil {
		if ctx.Err() == nil {
			f.w.log.Warn("queues can't be asked for work", "error", err)
		}
		return
	}
	f.busy = merge(f.busy, queues, f.w.serves)
}

func (w *Worker) serves(queue string) bool {
	for _, glob := range w.queues {
		if ok, err := path.Match(glob, queue); err == nil && ok {
			return true
		}
	}
	return false
}

func merge(busy, more []string, serves func(string) bool) []string {
	for _, q := range more {
		if !slices.Contains(busy, q) && serves(q) {
			busy = append(busy, q)
		}
	}
	return busy
}

// claimMore sends claims for the queues whose turn it is, as far as there is
// room for what they may bring.
func (f *fetcher) claimMore(ctx context.Context) {
	for f.underway < claimsAtOnce && len(f.busy) > 0 {
		limit := min(f.w.room()-f.asked, f.w.fetch.BatchSize)
		if limit <= 0 {
			return
		}
		t, err := f.w.currentTenure(ctx)
		if err != nil {
			return
		}
		queue := f.busy[0]
		f.busy = append(f.busy[1:], queue)
		f.underway++
		f.asked += limit
		after := f.cursors[queue]
		go func() { f.results <- f.w.claim(ctx, t, queue, limit, after) }()
	}
}

// took notes what a claim brought. A queue that gave nothing is asked again
// when something says that it has work.
func (f *fetcher) took(ctx context.Context, c claimed) {
	f.underway--
	f.asked -= c.limit
	if c.err != nil {
		if ctx.Err() == nil {
			f.w.log.Warn("a claim failed", "queue", c.queue, "error", c.err)
			select { // the database has trouble: don't hammer it
			case <-ctx.Done():
			case <-time.After(f.w.fetch.PollInterval):
			}
		}
		return
	}
	f.cursors[c.queue] = c.next
	if c.jobs == 0 {
		f.busy = slices.DeleteFunc(f.busy, func(q string) bool { return q == c.queue })
	}
}

// currentTenure is the worker's identity; a lost one is replaced.
func (w *Worker) currentTenure(ctx context.Context) (*tenure, error) {
	w.renewing.Lock()
	defer w.renewing.Unlock()
	t := w.tenure.Load()
	if !t.lost() {
		return t, nil
	}
	w.former.Store(t.id, struct{}{})
	w.log.Warn("the worker goes on under a new identity", "old", t.id)
	t.end()
	for _, j := range w.backlog.takeAll() { // their leases are somebody else's
		w.settled(&ending{job: j}, nil)
	}
	next, err := w.register(ctx)
	if err != nil {
		return nil, err
	}
	w.tenure.Store(next)
	return next, nil
}

// claim takes jobs of one queue into the backlog.
func (w *Worker) claim(ctx context.Context, t *tenure, queue string, limit int, after store.Cursor) claimed {
	out := claimed{queue: queue, limit: limit, next: after}
	lease := store.NewID()
	t.claimBegins(lease)
	// A claim that was sent is waited for, even when the worker stops: its
	// jobs are then given back, not left to the lease.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	c, err := w.store.Claim(call, store.ClaimRequest{Shard: w.shard, Queue: queue, Worker: t.id, Lease: lease, Limit: limit, After: after})
	var jobs []*job
	if err == nil {
		jobs, err = w.jobsOf(call, t, queue, c)
	}
	w.reached(ClaimDone, nil)
	t.claimEnds(lease, jobs)
	if err != nil {
		w.beatSoon() // which finds the lease, if the claim took effect, and gives it back
		out.err = err
		return out
	}
	out.jobs, out.next = len(jobs), c.Next
	w.stats.Claimed.Add(int64(len(jobs)))
	if len(jobs) > 0 && !w.backlog.push(jobs) {
		w.release(jobs)
	}
	return out
}

func (w *Worker) jobsOf(ctx context.Context, t *tenure, queue string, c store.Claim) ([]*job, error) {
	replied := time.Now()
	jobs := make([]*job, len(c.Jobs))
	for i := range c.Jobs {
		name, err := w.store.TenantName(ctx, c.Jobs[i].Tenant)
		if err != nil {
			return nil, err
		}
		tenant := store.Tenant{ID: c.Jobs[i].Tenant, Shard: w.shard, Name: name}
		jobs[i] = &job{Claimed: c.Jobs[i], worker: t.id, queue: queue, tenant: tenant, claimed: replied, now: c.Now}
	}
	return jobs, nil
}

// returnStale gives back jobs that were claimed ahead and whose turn didn't
// come: attempts took longer than their predecessors did.
func (w *Worker) returnStale(ctx context.Context) {
	patience := max(5*w.fetch.Prefetch, time.Second)
	tick := time.NewTicker(patience / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if jobs := w.backlog.stale(time.Now().Add(-patience)); len(jobs) > 0 {
				w.log.Debug("jobs that were claimed ahead are given back", "jobs", len(jobs))
				w.release(jobs)
			}
		}
	}
}
