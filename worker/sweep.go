package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
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
				partitions = w.ensurePartitions(ctx)
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
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	moved, next, err := w.store.Promote(call, w.shard, sweepBatch)
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
		call, cancel := context.WithTimeout(ctx, callTimeout)
		n, err := w.store.ExpireDeadlines(call, w.shard, sweepBatch, keep)
		cancel()
		w.must(ctx, "jobs past their deadline can't be ended", err)
		if err != nil || n < sweepBatch {
			return
		}
	}
}

// reclaimRounds bounds one sweep's reclaims: other upkeep is due too.
const reclaimRounds = 20

func (w *Worker) reclaim(ctx context.Context) {
	total := 0
	for range reclaimRounds {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		n, err := w.store.Reclaim(call, w.shard, sweepBatch/10, func(now time.Time, orphans []store.Orphan) []store.Ending {
			return w.reclaimed(call, now, orphans)
		})
		cancel()
		w.must(ctx, "jobs of dead workers can't be given back", err)
		if total += n; n == 0 {
			break
		}
	}
	if total > 0 {
		w.log.Warn("jobs of a dead worker were given back", "jobs", total)
		w.wakes.add("")
	}
}

// ensurePartitions answers when it was done, for a next time; a failure is
// tried again in a minute, with days to spare.
func (w *Worker) ensurePartitions(ctx context.Context) time.Time {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := w.store.EnsurePartitions(call); err != nil {
		w.must(ctx, "partitions of the coming days can't be made yet", err)
		return time.Now().Add(time.Minute - partitionTime)
	}
	gone, err := w.store.Retain(call)
	w.must(ctx, "what isn't to be kept any longer can't be removed yet", err)
	if len(gone.Dropped) > 0 || gone.Deleted > 0 {
		w.log.Info("removed what isn't kept any longer", "partitions", gone.Dropped, "archived", gone.Archived, "deleted", gone.Deleted)
	}
	return time.Now()
}

// must logs what a background step met; the next round tries again.
func (w *Worker) must(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.Warn(what, "error", err)
	}
}
