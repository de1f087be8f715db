package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Orphan is a member of a lease whose worker is gone: its attempt is spent,
// and whoever reclaims it decides what comes next.
type Orphan struct {
	Claimed
	Queue      string
	TenantName string
	Worker     ID
	ClaimedAt  time.Time
	Cancelled  bool
}

// A worker whose lease is over loses its row before any of its leases is
// touched. So a heartbeat that read the clock just in time and then waited
// finds nothing to prolong, whether this call gives back all of the worker's
// leases or only some.
const buryWorkersSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS MATERIALIZED (
    SELECT w.worker_id FROM taskq.workers w
    WHERE w.expires_at <= (SELECT now FROM t) ORDER BY w.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
DELETE FROM taskq.workers w USING p WHERE w.worker_id = p.worker_id`

// Leases without a worker's row: of those just buried, what an earlier call
// left, and of a claim that committed while its worker was being buried.
const orphansSQL = `
SELECT DISTINCT l.worker_id FROM taskq.leases l
WHERE l.shard = $1 AND NOT EXISTS (SELECT FROM taskq.workers w WHERE w.worker_id = l.worker_id) LIMIT $2`

// One seek of jobs a member, by its whole key. As a plain join, planned while
// the table was small, it read all of a tenant's jobs for each member (7.6 s for
// 200 members beside 30,000 jobs): the queue stood still until workers stopped dying.
const membersSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
l AS MATERIALIZED (
    SELECT l.* FROM taskq.leases l WHERE l.shard = $1 AND l.worker_id = ANY($2)
    ORDER BY l.lease_id LIMIT $3 FOR UPDATE SKIP LOCKED
)
SELECT t.now, l.lease_id, l.worker_id, l.claimed_at, q.name, n.name, u.ix, u.tenant_id, u.job_id, u.attempt, u.epoch,
       l.deadlines[u.ix], l.extras[u.ix], get_bit(l.cancel, (u.ix - 1)::integer) = 1,
       j.actor, j.version, j.priority, j.options, j.created_at
FROM t, l JOIN taskq.queues q USING (queue_id), unnest(l.jobs, l.tenants, l.attempts, l.epochs) WITH ORDINALITY AS u(job_id, tenant_id, attempt, epoch, ix)
CROSS JOIN LATERAL (SELECT j.* FROM taskq.jobs j WHERE j.shard = $1 AND j.tenant_id = u.tenant_id AND j.job_id = u.job_id LIMIT 1) j
CROSS JOIN LATERAL (SELECT n.name FROM taskq.tenants n WHERE n.tenant_id = u.tenant_id LIMIT 1) n
WHERE get_bit(l.ended, (u.ix - 1)::integer) = 0
ORDER BY l.lease_id, u.ix`

// Reclaim hands the members of dead workers' leases to decide, which answers
// an ending for each, and writes those, all in one transaction with the
// leases locked. At most limit leases are taken in one call, and leases that
// somebody is writing to are left to a later one: call it until it answers 0.
// It answers how many members it gave back.
func (s *Store) Reclaim(ctx context.Context, shard int16, limit int, decide func(now time.Time, orphans []Orphan) []Ending) (int, error) {
	var count int
	err := pgx.BeginFunc(ctx, s.hot, func(tx pgx.Tx) error {
		dead, err := s.deadWorkers(ctx, tx, shard)
		if err != nil || len(dead) == 0 {
			return err
		}
		now, orphans, err := s.orphans(ctx, tx, shard, dead, limit)
		if err != nil {
			return err
		}
		byWorker := map[ID][]Ending{}
		owner := make(map[ID]ID, len(orphans))
		for i := range orphans {
			owner[orphans[i].Lease] = orphans[i].Worker
		}
		for _, e := range decide(now, orphans) {
			byWorker[owner[e.Lease]] = append(byWorker[owner[e.Lease]], e)
		}
		for worker, endings := range byWorker {
			verdicts, err := s.end(ctx, tx, shard, worker, endings)
			if err != nil {
				return err
			}
			count += len(verdicts)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reclaim: %w", err)
	}
	return count, nil
}

// deadWorkers buries workers whose lease is over, and lists those that have
// leases and no row.
func (s *Store) deadWorkers(ctx context.Context, tx pgx.Tx, shard int16) ([]ID, error) {
	const most = 16
	if _, err := tx.Exec(ctx, s.schema.sql(buryWorkersSQL), most); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, s.schema.sql(orphansSQL), shard, most)
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

func (s *Store) orphans(ctx context.Context, tx pgx.Tx, shard int16, workers []ID, limit int) (time.Time, []Orphan, error) {
	rows, err := tx.Query(ctx, s.schema.sql(membersSQL), shard, pgIDs(workers), limit)
	if err != nil {
		return time.Time{}, nil, err
	}
	var now time.Time
	var out []Orphan
	var lease, worker, job pgtype.UUID
	var deadline pgtype.Timestamptz
	var extra, options []byte
	var version *int32
	var o Orphan
	_, err = pgx.ForEachRow(rows, []any{&now, &lease, &worker, &o.ClaimedAt, &o.Queue, &o.TenantName, &o.Index, &o.Tenant, &job, &o.Attempt, &o.Epoch,
		&deadline, &extra, &o.Cancelled, &o.Actor, &version, &o.Priority, &options, &o.CreatedAt}, func() error {
		c := o
		c.Lease, c.Worker, c.ID, c.Deadline = lease.Bytes, worker.Bytes, job.Bytes, deadline.Time
		if version != nil {
			c.Version = int(*version)
		}
		c.Extra, c.Options = Extra{}, JobOptions{}
		c.decode(column{"extra", extra, &c.Extra}, column{"options", options, &c.Options})
		out = append(out, c)
		return nil
	})
	if err != nil {
		return now, nil, err
	}
	return now, out, nil
}
