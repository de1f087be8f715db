package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// CancelResult says what a cancel found.
type CancelResult string

// What a cancel can find.
const (
	CancelDone      CancelResult = "cancelled" // it was queued and has ended
	CancelRequested CancelResult = "requested" // it runs; its end will be cancelled
	CancelTooLate   CancelResult = "finished"  // it had ended before
	CancelUnknown   CancelResult = "not_found"
)

// A queued job ends at once. Its first ready row is found by the seq that jobs
// keeps, a moved one by the index on moved rows: both are one seek.
const cancelQueuedSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
j AS MATERIALIZED (
    SELECT j.* FROM taskq.jobs j WHERE j.shard = $1 AND j.tenant_id = $2 AND j.job_id = ANY($3)
    ORDER BY j.job_id -- two bulk cancels lock rows in the same order
),
r AS (
    DELETE FROM taskq.ready r USING j
    WHERE r.shard = $1 AND r.queue_id = j.queue_id AND r.tenant_id = $2 AND r.lane_id = j.lane_id AND r.priority = j.priority AND r.seq = j.seq
    RETURNING r.job_id, r.queue_id, r.attempt, r.claim_epoch, r.extra
),
m AS (
    DELETE FROM taskq.ready r USING j WHERE r.moved AND r.shard = $1 AND r.tenant_id = $2 AND r.job_id = j.job_id
    RETURNING r.job_id, r.queue_id, r.attempt, r.claim_epoch, r.extra
),
s AS (
    DELETE FROM taskq.scheduled s USING j WHERE s.shard = $1 AND s.tenant_id = $2 AND s.job_id = j.job_id
    RETURNING s.job_id, s.queue_id, s.attempt, s.claim_epoch, s.extra
),
g AS (SELECT * FROM r UNION ALL SELECT * FROM m UNION ALL SELECT * FROM s),
f AS (
    INSERT INTO taskq.finished (shard, status, queue_id, tenant_id, attempt, keep_until, job_id, claim_epoch, finished_at, decided_by, extra)
    SELECT $1, 12, queue_id, $2, attempt, ((t.now + $4 * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, job_id, claim_epoch, t.now, 'cancel', extra
    FROM g, t
)
SELECT j.job_id, EXISTS (SELECT FROM g WHERE g.job_id = j.job_id) FROM j`

// A running job's bit is set in the lease row that its completion will lock,
// so the completion can't miss it.
const cancelRunningSQL = `
WITH l AS MATERIALIZED (
    SELECT l.worker_id, l.lease_id, l.jobs, l.tenants, l.ended, l.cancel FROM taskq.leases l
    WHERE l.shard = $1 AND l.jobs && $3 ORDER BY l.lease_id FOR UPDATE
),
m AS MATERIALIZED (
    SELECT l.worker_id, l.lease_id, u.job_id, u.ix::integer AS ix
    FROM l, unnest(l.jobs, l.tenants) WITH ORDINALITY AS u(job_id, tenant_id, ix)
    WHERE u.tenant_id = $2 AND u.job_id = ANY($3) AND get_bit(l.ended, (u.ix - 1)::integer) = 0
),
b AS (
    SELECT l.worker_id, l.lease_id, l.cancel | (SELECT string_agg(CASE WHEN EXISTS (SELECT FROM m WHERE m.lease_id = l.lease_id AND m.ix = g) THEN '1' ELSE '0' END, '' ORDER BY g)
        FROM generate_series(1, length(l.cancel)) g)::varbit AS cancel
    FROM l WHERE EXISTS (SELECT FROM m WHERE m.lease_id = l.lease_id)
),
u AS (
    UPDATE taskq.leases x SET cancel = b.cancel FROM b WHERE x.shard = $1 AND x.worker_id = b.worker_id AND x.lease_id = b.lease_id
)
SELECT m.job_id FROM m`

// Cancel ends queued jobs of a tenant and asks for the end of running ones.
// It is safe to repeat, and a job that moved between the two is asked again.
func (s *Store) Cancel(ctx context.Context, tenant Tenant, ids []ID, keep time.Duration) (map[ID]CancelResult, error) {
	out := make(map[ID]CancelResult, len(ids))
	for _, id := range ids {
		out[id] = CancelUnknown
	}
	open := ids
	// A claim or a retry can move a job from one place to the other between
	// two statements, so "neither queued nor running" doesn't mean that it has
	// ended: only its finished row does.
	for range cancelRounds {
		left, err := s.cancelQueued(ctx, tenant, open, keep, out)
		if err != nil {
			return nil, err
		}
		if left, err = s.cancelRunning(ctx, tenant, left, out); err != nil {
			return nil, err
		}
		if open, err = s.notFinished(ctx, tenant, left); err != nil {
			return nil, err
		}
		if len(open) == 0 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("cancel: job %s moves on faster than it can be cancelled", open[0])
}

// cancelRounds bounds how often a job that moves is looked for; each move
// takes a claim or an ending, so two rounds are rare.
const cancelRounds = 20

const notFinishedSQL = `
SELECT u.id FROM unnest($3::uuid[]) AS u(id)
WHERE NOT EXISTS (SELECT FROM taskq.finished f WHERE f.shard = $1 AND f.tenant_id = $2 AND f.job_id = u.id)`

func (s *Store) notFinished(ctx context.Context, tenant Tenant, ids []ID) ([]ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	open, err := s.selectIDs(ctx, notFinishedSQL, tenant.Shard, tenant.ID, pgIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	return open, nil
}

// selectIDs collects the one column of a statement.
func (s *Store) selectIDs(ctx context.Context, sql string, args ...any) ([]ID, error) {
	rows, err := s.hot.Query(ctx, s.schema.sql(sql), args...)
	if err != nil {
		return nil, err
	}
	var out []ID
	var id pgtype.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		out = append(out, id.Bytes)
		return nil
	})
	return out, err
}

func (s *Store) cancelQueued(ctx context.Context, tenant Tenant, ids []ID, keep time.Duration, out map[ID]CancelResult) (left []ID, err error) {
	rows, err := s.hot.Query(ctx, s.schema.sql(cancelQueuedSQL), tenant.Shard, tenant.ID, pgIDs(ids), keep.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	var id pgtype.UUID
	var done bool
	_, err = pgx.ForEachRow(rows, []any{&id, &done}, func() error {
		if done {
			out[id.Bytes] = CancelDone
		} else {
			out[id.Bytes] = CancelTooLate
			left = append(left, id.Bytes)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	return left, nil
}

func (s *Store) cancelRunning(ctx context.Context, tenant Tenant, ids []ID, out map[ID]CancelResult) (left []ID, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	running, err := s.selectIDs(ctx, cancelRunningSQL, tenant.Shard, tenant.ID, pgIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	for _, id := range running {
		out[id] = CancelRequested
	}
	for _, id := range ids {
		if out[id] != CancelRequested {
			left = append(left, id)
		}
	}
	return left, nil
}
