package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// Options of [New]. Store, Catalog and Config are needed.
type Options struct {
	Store     *store.Store
	Catalog   *catalog.Catalog
	Config    *config.Live
	Log       hclog.Logger
	Name      string // for people; empty: host name and pid
	Version   string // of the host
	ListenURL string // the direct connection for wake-ups; empty: the pool's
	Shard     int16
	// ClassifierTimeout is what one question to a classifier's module may take;
	// 0: classifier.Timeout.
	ClassifierTimeout time.Duration
	// Checkpoint is called at named points of a job's way, from whatever
	// goroutine gets there. It is for tests that kill the process at one, or
	// keep a ledger of who ran what. nil calls nothing.
	Checkpoint func(at Point, job *store.Claimed)
}

// Point is a named point of a job's way through its worker.
type Point string

// The points, in the order of a job's way. Those of a batch come without a job.
const (
	ClaimDone Point = "claimed" // a claim's reply has come; its jobs aren't queued yet
	Running   Point = "running" // the guest is about to be let in
	Ran       Point = "ran"     // the guest runs no more
	Writing   Point = "writing" // a batch of outcomes is about to be written
	Written   Point = "written" // and its answer has come
	Beating   Point = "beating" // a heartbeat's answer has come and isn't acted on yet
)

// reached calls the test's hook, if there is one.
func (w *Worker) reached(p Point, j *job) {
	switch {
	case w.checkpoint == nil:
	case j == nil:
		w.checkpoint(p, nil)
	default:
		w.checkpoint(p, &j.Claimed)
	}
}

// Worker claims jobs and runs them. It is made by [New], runs once, in
// [Worker.Run], and leaves nothing behind when that returns.
type Worker struct {
	store   *store.Store
	catalog *catalog.Catalog
	config  *config.Live
	log     hclog.Logger
	// guestLog holds what guests say, so that it can be turned down alone.
	guestLog hclog.Logger

	name, version, listenURL string
	shard                    int16
	queues                   []string
	concurrency              int
	fetch                    config.Worker
	lease                    config.Lease
	stopping                 config.Stop

	backlog   *backlog
	completer *completer
	hooks     *hooks
	answers   *classifier.Cache
	tenure    atomic.Pointer[tenure]
	draining  atomic.Bool
	nudge     chan struct{} // beat now
	wakes     wakes
	pace      pace
	active    atomic.Int64  // attempts under way
	idle      chan struct{} // a slot became free
	hurry     chan struct{}
	sooner    chan time.Duration // a job of ours is due in so long
	stats     Stats

	classifierTimeout time.Duration // 0: the sandbox's own

	checkpoint func(Point, *store.Claimed)
	renewing   sync.Mutex // held while a lost tenure is replaced
	former     sync.Map   // identities that this process had and lost: store.ID → struct{}
}

// Stats counts what a worker has done since it began.
type Stats struct {
	Claimed, Succeeded, Failed, Retried, Deferred, Cancelled, Crashed, Released, Lost atomic.Int64

	BrokenClassifiers  atomic.Int64 // answers of classifiers and mappers that were skipped
	Hooks, BrokenHooks atomic.Int64
}

// New makes a worker; nothing runs yet.
func New(o Options) (*Worker, error) {
	if o.Store == nil || o.Catalog == nil || o.Config == nil {
		return nil, errors.New("worker: store, catalog and config are needed")
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Name == "" {
		hostname, _ := os.Hostname()
		o.Name = fmt.Sprintf("%s-%d", hostname, os.Getpid())
	}
	c := o.Config.Current()
	w := &Worker{
		store: o.Store, catalog: o.Catalog, config: o.Config, log: o.Log.Named("worker"), guestLog: o.Log.Named("guest"),
		name: o.Name, version: o.Version, listenURL: o.ListenURL, shard: o.Shard,
		queues: c.Worker.Queues, concurrency: c.Worker.Concurrency, fetch: c.Worker, lease: c.Lease, stopping: c.Stop,
		backlog: newBacklog(), nudge: make(chan struct{}, 1), wakes: newWakes(),
		idle: make(chan struct{}, 1), hurry: make(chan struct{}, 2),
		sooner: make(chan time.Duration, 16), checkpoint: o.Checkpoint,
		hooks: newHooks(), answers: classifier.NewCache(), classifierTimeout: o.ClassifierTimeout,
	}
	w.completer = newCompleter(func(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error) {
		w.reached(Writing, nil)
		verdicts, err := w.store.End(ctx, w.shard, who, endings)
		w.reached(Written, nil)
		return verdicts, err
	}, w.settled, w.log)
	return w, nil
}

// Stats is the worker's own; read it at any time.
func (w *Worker) Stats() *Stats { return &w.stats }

// Hurry ends the present phase of a stop that is under way: what is still
// waited for is stopped now. It never blocks.
func (w *Worker) Hurry() {
	select {
	case w.hurry <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, then stops in phases: no more claims, what never
// started is given back with its attempt; running guests are told and get
// stop.drain to finish; those that don't are stopped, and their jobs are due
// again at once. It returns when every guest has stopped and every outcome is
// written; with an error if a guest couldn't be stopped within
// stop.cleanup_grace: then the process must end, and the leases give the jobs
// back.
func (w *Worker) Run(ctx context.Context) error {
	first, err := w.register(ctx)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	w.tenure.Store(first)
	w.log.Info("the worker is up", "worker", first.id, "name", w.name, "concurrency", w.concurrency, "queues", w.queues)

	fetching, stopFetching := context.WithCancel(ctx)
	beating, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFetching()
	defer stopBeating()

	var fetchers, slots, beaters sync.WaitGroup
	fetchers.Go(func() { w.fetchLoop(fetching) })
	fetchers.Go(func() { w.store.Listen(fetching, w.listenURL, w.woken) })
	fetchers.Go(func() { w.sweep(fetching) })
	fetchers.Go(func() { w.returnStale(fetching) })
	beaters.Go(func() { w.heartbeats(beating) })
	for range w.concurrency {
		slots.Go(w.slot)
	}

	<-ctx.Done()
	w.draining.Store(true)
	w.beatSoon()
	stopFetching()
	fetchers.Wait()
	w.release(w.backlog.takeAll())
	w.backlog.close()
	err = w.drain(&slots)
	w.completer.close()
	w.hooks.close(w.stopping.CleanupGrace)
	stopBeating()
	beaters.Wait()
	w.leave()
	w.log.Info("the worker has stopped")
	return err
}

// slot runs one attempt after the other.
func (w *Worker) slot() {
	for {
		j, ok := w.backlog.pop()
		if !ok {
			return
		}
		w.active.Add(1)
		w.attempt(j)
		w.active.Add(-1)
		select {
		case w.idle <- struct{}{}:
		default:
		}
	}
}

// drain waits for the slots, stops the guests that don't come to an end, and
// gives up on those that can't be stopped. Each phase ends at [Worker.Hurry].
func (w *Worker) drain(slots *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		slots.Wait()
		close(done)
	}()
	for _, j := range w.running() {
		j.bits.Or(abi.HeartbeatDraining)
	}
	if w.phase(done, w.stopping.Drain) {
		return nil
	}
	running := w.running()
	w.log.Warn("guests that are still running are stopped", "jobs", len(running))
	for _, j := range running {
		j.stop(host.ErrInterrupted)
	}
	if w.phase(done, w.stopping.CleanupGrace) {
		return nil
	}
	return fmt.Errorf("worker: %d attempts can't be stopped: they are left to their leases", w.active.Load())
}

// phase waits until all is done, the time is up or somebody is in a hurry.
func (w *Worker) phase(done <-chan struct{}, most time.Duration) (finished bool) {
	select {
	case <-done:
		return true
	case <-w.hurry:
	case <-time.After(most):
	}
	select { // done in the same moment
	case <-done:
		return true
	default:
		return false
	}
}

func (w *Worker) running() []*job {
	if t := w.tenure.Load(); t != nil {
		return t.running()
	}
	return nil
}

// leave takes the worker off the list, so that nobody waits for its lease.
func (w *Worker) leave() {
	t := w.tenure.Load()
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.lease.HeartbeatCommandTimeout)
	defer cancel()
	if !t.lost() {
		if err := w.store.Forget(ctx, w.shard, t.id); err != nil {
			w.log.Warn("the worker's row stays until its lease is over", "error", err)
		}
	}
	t.end()
}

// release gives back jobs that never started, with their attempts.
func (w *Worker) release(jobs []*job) {
	endings := make([]*ending, len(jobs))
	for i, j := range jobs {
		endings[i] = &ending{job: j, Ending: *w.unstarted(j)}
	}
	w.completer.add(endings...)
}

// settled is told by the completer what became of an ending.
func (w *Worker) settled(e *ending, v *store.Verdict) {
	t := w.tenure.Load()
	ours := t != nil && t.id == e.job.worker
	if ours {
		t.settle(e.job)
	}
	if v == nil && e.unsure && ours && !t.lost() {
		// Nobody else may end it: the write that got no answer did.
		w.count(e, e.intended())
		w.tellHooks(e, e.intended())
		return
	}
	if v == nil {
		w.stats.Lost.Add(1)
		w.log.Warn(abi.ClassOwnershipMismatch, "job", e.job.ID, "attempt", e.job.Attempt, "epoch", e.job.Epoch)
		return
	}
	w.count(e, v.Status)
	w.tellHooks(e, v.Status)
}

func (w *Worker) count(e *ending, s store.Status) {
	switch s {
	case store.Succeeded:
		w.stats.Succeeded.Add(1)
	case store.Failed:
		w.stats.Failed.Add(1)
	case store.Cancelled:
		w.stats.Cancelled.Add(1)
	case store.Crashed:
		w.stats.Crashed.Add(1)
	case store.Scheduled:
		select {
		case w.sooner <- e.Delay:
		default: // full: the sweep looks again within the poll interval
		}
		if e.Reason == store.ReasonRetry {
			w.stats.Retried.Add(1)
		} else {
			w.stats.Deferred.Add(1)
		}
	}
}

func (w *Worker) beatSoon() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}
