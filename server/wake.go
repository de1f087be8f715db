package server

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/taskq-host/taskq-host/store"
)

// wakeEvery is the least time between two wake-ups of one queue. The first of
// a burst goes out at once, the rest of it as one.
const wakeEvery = 5 * time.Millisecond

// wakeups sends wake-ups to workers, outside of whatever stored the jobs. One
// that is lost costs a poll interval, so nobody waits for it or retries it.
type wakeups struct {
	send func(ctx context.Context, queue string) error
	log  hclog.Logger

	mu      sync.Mutex
	pending map[string]struct{}
	some    chan struct{}
	stop    context.CancelFunc
	done    chan struct{}
}

// newWakeups starts the sender; close ends it.
func newWakeups(send func(context.Context, string) error, log hclog.Logger) *wakeups {
	ctx, stop := context.WithCancel(context.Background())
	w := &wakeups{send: send, log: log, pending: map[string]struct{}{}, some: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

// storeWakeups sends through the database.
func storeWakeups(s *store.Store) func(context.Context, string) error {
	return func(ctx context.Context, queue string) error {
		if queue == store.WakeBeat {
			return s.NotifyCancel(ctx)
		}
		return s.Notify(ctx, queue)
	}
}

// wake asks for a wake-up of a queue's workers; it never blocks.
func (w *wakeups) wake(queue string) {
	w.mu.Lock()
	w.pending[queue] = struct{}{}
	w.mu.Unlock()
	select {
	case w.some <- struct{}{}:
	default:
	}
}

func (w *wakeups) run(ctx context.Context) {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			w.flush(context.WithoutCancel(ctx)) // what was stored just before
			return
		case <-w.some:
		}
		pause.Reset(wakeEvery)
		w.flush(ctx)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

func (w *wakeups) flush(ctx context.Context) {
	w.mu.Lock()
	queues := w.pending
	w.pending = map[string]struct{}{}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for queue := range queues {
		if err := w.send(ctx, queue); err != nil {
			w.log.Debug("a wake-up was lost", "queue", queue, "error", err)
		}
	}
}

// close sends what is pending and ends the sender.
func (w *wakeups) close() {
	w.stop()
	<-w.done
}
