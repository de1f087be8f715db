package main

import (
	"context"
	"fmt"
	"time"

	"github.com/taskq-host/taskq-host/store"
)

// claimCost measures a claim of 100 over many tenants at a depth: each claim
// is rolled forward by the rotating cursor, its jobs ended at once.
func claimCost(ctx context.Context, s *store.Store, depth, tenants, claims int) ([]float64, error) {
	if err := fillTenants(ctx, s, depth, tenants); err != nil {
		return nil, err
	}
	worker := store.NewID()
	if err := s.Register(ctx, store.Worker{ID: worker, Name: "bench", Version: "bench", Queues: []string{"*"}}, time.Hour); err != nil {
		return nil, err
	}
	var after store.Cursor
	var ms []float64
	for i := range claims + 10 {
		start := time.Now()
		c, err := s.Claim(ctx, store.ClaimRequest{Queue: "default", Worker: worker, Lease: store.NewID(), Limit: 100, After: after})
		if err != nil {
			return nil, err
		}
		took := time.Since(start)
		if len(c.Jobs) == 0 {
			return nil, fmt.Errorf("claim cost: nothing left after %d claims", i)
		}
		if i >= 10 { // the first ones warm connections and plans
			ms = append(ms, float64(took.Microseconds())/1000)
		}
		after = c.Next
		endings := make([]store.Ending, len(c.Jobs))
		for k, j := range c.Jobs {
			endings[k] = store.Ending{Lease: j.Lease, Index: j.Index, Action: store.End, Status: store.Succeeded, Keep: time.Hour}
		}
		if _, err := s.End(ctx, 0, worker, endings); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// fillTenants spreads a backlog over tenants, half of it on the first.
func fillTenants(ctx context.Context, s *store.Store, depth, tenants int) error {
	if _, err := s.QueueID(ctx, "default"); err != nil {
		return err
	}
	sql := fmt.Sprintf(`
		INSERT INTO taskq.tenants (tenant_id, name) SELECT 1000 + g, 'bench' || g FROM generate_series(0, %[2]d - 1) g;
		CREATE TEMP TABLE filled AS SELECT g, 1000 + CASE WHEN g %% 2 = 0 THEN 0 ELSE (g / 2) %% %[2]d END AS tenant_id, gen_random_uuid() AS job_id FROM generate_series(1, %[1]d) g;
		INSERT INTO taskq.jobs (shard, priority, tenant_id, queue_id, job_id, created_at, seq, actor, payload)
			SELECT 0, 5, tenant_id, 1, overlay(job_id::text placing substr(taskq.uuid_floor(clock_timestamp())::text, 1, 13) from 1 for 13)::uuid, clock_timestamp(), g, 'noop', '{}' FROM filled;
		INSERT INTO taskq.ready (shard, priority, queue_id, tenant_id, attempt, lane_id, seq, claim_epoch, job_id)
			SELECT 0, 5, 1, tenant_id, 0, 0, seq, 0, job_id FROM taskq.jobs;
		DROP TABLE filled; ANALYZE taskq.ready; ANALYZE taskq.jobs`, depth, tenants)
	_, err := s.Pool().Exec(ctx, sql)
	return err
}
