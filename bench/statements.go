package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskq-host/taskq-host/store"
)

var payload = []byte(`{"n":1,"padding":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`)

// openStore migrates an empty database.
func openStore(ctx context.Context, dsn string) (*store.Store, store.Tenant, error) {
	s, err := store.Open(ctx, store.Options{URL: dsn, StatementTimeout: 5 * time.Minute})
	if err != nil {
		return nil, store.Tenant{}, err
	}
	if _, err := s.Migrate(ctx); err != nil {
		s.Close()
		return nil, store.Tenant{}, err
	}
	t, err := s.Tenant(ctx, store.DefaultTenant)
	return s, t, err
}

func fill(ctx context.Context, s *store.Store, t store.Tenant, actor string, n int) (time.Duration, error) {
	start := time.Now()
	for left := n; left > 0; left -= 1000 {
		jobs := make([]store.NewJob, min(left, 1000))
		for i := range jobs {
			jobs[i] = store.NewJob{Queue: "default", Actor: actor, Priority: 5, Payload: payload}
		}
		if _, err := s.Enqueue(ctx, t, jobs); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	_, err := s.Pool().Exec(ctx, "ANALYZE taskq.jobs; ANALYZE taskq.ready")
	return took, err
}

// burnStatements works jobs off with the worker's own statements and no guest:
// the raw limit of this store on this machine.
func burnStatements(ctx context.Context, s *store.Store, n, batch, claimers int) (time.Duration, error) {
	worker := store.NewID()
	if err := s.Register(ctx, store.Worker{ID: worker, Name: "bench", Version: "bench", Queues: []string{"*"}}, time.Hour); err != nil {
		return 0, err
	}
	var done atomic.Int64
	var failure atomic.Pointer[error]
	start := time.Now()
	var wg sync.WaitGroup
	for range claimers {
		wg.Go(func() {
			for done.Load() < int64(n) && failure.Load() == nil {
				if err := claimAndEnd(ctx, s, worker, batch, &done); err != nil {
					failure.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failure.Load(); err != nil {
		return 0, fmt.Errorf("statements: %w", *err)
	}
	return time.Since(start), nil
}

func claimAndEnd(ctx context.Context, s *store.Store, worker store.ID, batch int, done *atomic.Int64) error {
	c, err := s.Claim(ctx, store.ClaimRequest{Queue: "default", Worker: worker, Lease: store.NewID(), Limit: batch})
	if err != nil || len(c.Jobs) == 0 {
		return err
	}
	endings := make([]store.Ending, len(c.Jobs))
	for i, j := range c.Jobs {
		endings[i] = store.Ending{Lease: j.Lease, Index: j.Index, Action: store.End, Status: store.Succeeded, Version: 1, Keep: 24 * time.Hour}
	}
	verdicts, err := s.End(ctx, 0, worker, endings)
	done.Add(int64(len(verdicts)))
	return err
}
