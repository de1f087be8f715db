package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskq-host/taskq-host/config"
)

const (
	sweepBatch    = 500
	sweepInterval = time.Second
	partitionTime = time.Hour
)

// sweep moves due jobs, ends queued ones past their deadline and gives back
// what dead workers held. Each step is bounded and skips what another worker
// is at, so any number of workers may do it.
func (w *Worker) sweep(ctx context.Context) {
	promote := time.NewTimer(0)
	defer promote.Stop()
	upkeep := time.NewTimer(0)
	defer upkeep.Stop()
	var partitions time.Time
	var next time.Time // when promote fires
	look := func(in time.Duration) {
		next = time.Now().Add(in)
		promote.Reset(in)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case in := <-w.sooner: // one of our own jobs was scheduled
			if time.Until(next) > in {
				look(in)
			}
		case <-promote.C:
			look(w.promote(ctx))
		case <-upkeep.C:
			w.expire(ctx)
			w.reclaim(ctx)
			if time.Since(partitions) > partitionTime {
				w.must(ctx, "partitions of the coming days can't be made", w.store.EnsurePartitions(ctx))
				partitions = time.Now()
			}
			// Workers that began together shouldn't sweep together.
			upkeep.Reset(sweepInterval + rand.N(sweepInterval/4))
		}
	}
}

// promote moves what is due and says when to look again: when the next job is
// due, but never later than the poll interval, since others may schedule
// something sooner.
func (w *Worker) promote(ctx context.Context) time.Duration {
	moved, next, err := w.store.Promote(ctx, w.shard, sweepBatch)
	w.must(ctx, "due jobs can't be moved", err)
	if moved > 0 {
		w.wakes.add("")
	}
	if moved == sweepBatch {
		return 0
	}
	if err != nil || next < 0 || next > w.fetch.PollInterval {
		return w.fetch.PollInterval
	}
	return max(next, 2*time.Millisecond)
}

func (w *Worker) expire(ctx context.Context) {
	keep := keepFor(w.config.Current().Resolve(config.Lookup{}).DLQRetention)
	for ctx.Err() == nil {
		n, err := w.store.ExpireDeadlines(ctx, w.shard, sweepBatch, keep)
		w.must(ctx, "jobs past their deadline can't be ended", err)
		if err != nil || n < sweepBatch {
			return
		}
	}
}

func (w *Worker) reclaim(ctx context.Context) {
	n, err := w.store.Reclaim(ctx, w.shard, sweepBatch/10, w.reclaimed)
	w.must(ctx, "jobs of dead workers can't be given back", err)
	if n > 0 {
		w.log.Warn("jobs of a dead worker were given back", "jobs", n)
		w.wakes.add("")
	}
}

// must logs what a background step met; the next round tries again.
func (w *Worker) must(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.Warn(what, "error", err)
	}
}
