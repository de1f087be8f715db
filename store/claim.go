package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Cursor is where a claimer stopped in a queue's lanes; the next claim goes on
// behind it, so that no lane is served twice before the others are.
type Cursor struct {
	Tenant int32
	Lane   int64
}

// ClaimRequest asks for due jobs of one queue.
type ClaimRequest struct {
	Shard  int16
	Queue  string
	Worker ID
	Lease  ID // chosen by the worker, so that a lost reply can be found again
	Limit  int
	After  Cursor
}

// Claimed is one job of a claim: a member of the lease.
type Claimed struct {
	Lease  ID
	Index  int // within the lease, from 1
	Tenant int32
	ID     ID
	Actor  string

	Attempt     int   // the one that this claim spends
	Epoch       int64 // the fence
	Version     int   // that the enqueue asked for; 0: current
	Priority    int
	Payload     []byte
	ContentType string
	Headers     map[string]string
	Tags        []string
	Options     JobOptions
	CreatedAt   time.Time
	Deadline    time.Time // zero: none
	Extra       Extra

	// Unreadable names the column that couldn't be decoded and was left empty;
	// "" for nearly all. Such a job must not hold up the others of its block.
	Unreadable string
}

// column is JSON as it is stored, and where it goes.
type column struct {
	name string
	json []byte
	into any
}

func (c *Claimed) decode(columns ...column) {
	for _, col := range columns {
		if decode(col.json, col.into) != nil {
			c.Unreadable = col.name
		}
	}
}

// Extra travels with the moving row: what isn't zero for few jobs.
type Extra struct {
	Snoozes    int              `json:"snoozes,omitempty"`
	Interrupts int              `json:"interrupts,omitempty"`
	HostFaults int              `json:"host_faults,omitempty"` // given back so far
	Redrives   int              `json:"redrives,omitempty"`
	Lifted     string           `json:"lifted,omitempty"`   // the kind that the last decision took in place of the policy's
	Undated    bool             `json:"undated,omitempty"`  // the event indefinite_without_deadline was written
	Adjusted   string           `json:"adjusted,omitempty"` // what the last event policy_adjusted said
	Inline     int              `json:"inline,omitempty"`   // quick repetitions of the attempt that succeeded
	Previous   *PreviousFailure `json:"previous,omitempty"`
}

// PreviousFailure is what the next attempt may know of the last one.
type PreviousFailure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Claim is the answer to a [ClaimRequest].
type Claim struct {
	Jobs []Claimed
	Next Cursor    // for the next request
	Now  time.Time // the database's clock
}

// The plan that this must keep: an index-only seek of ready_pkey a lane in the
// recursion, one range scan of ready_pkey a lane in pick (both stop early), a
// nested loop by primary key for the DELETE and for jobs. Nothing reads the
// backlog: see TestClaimTouchesOnlyItsBatch.
const claimSQL = `
WITH RECURSIVE
t AS MATERIALIZED (SELECT clock_timestamp() AS now),
w AS MATERIALIZED (SELECT FROM taskq.workers, t WHERE worker_id = $3 AND expires_at > t.now),
lane(tenant_id, lane_id, wrapped, n) AS (
    SELECT $5::integer, $6::bigint, false, 0 FROM w
    UNION ALL
    SELECT x.tenant_id, x.lane_id, x.wrapped, lane.n + 1
    FROM lane CROSS JOIN LATERAL (
        (SELECT r.tenant_id, r.lane_id, lane.wrapped FROM taskq.ready r
         WHERE r.shard = $1 AND r.queue_id = $2 AND (r.tenant_id, r.lane_id) > (lane.tenant_id, lane.lane_id)
         ORDER BY r.shard, r.queue_id, r.tenant_id, r.lane_id LIMIT 1)
        UNION ALL
        (SELECT r.tenant_id, r.lane_id, true FROM taskq.ready r
         WHERE NOT lane.wrapped AND r.shard = $1 AND r.queue_id = $2
         ORDER BY r.shard, r.queue_id, r.tenant_id, r.lane_id LIMIT 1)
        LIMIT 1) x
    WHERE lane.n < $7 AND NOT (x.wrapped AND (x.tenant_id, x.lane_id) > ($5::integer, $6::bigint))
),
found AS MATERIALIZED (SELECT tenant_id, lane_id, n, ($7 - 1) / count(*) OVER () + 1 AS quantum FROM lane WHERE n > 0),
pick AS MATERIALIZED (
    SELECT f.n, p.* FROM found f CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM taskq.ready r
        WHERE r.shard = $1 AND r.queue_id = $2 AND r.tenant_id = f.tenant_id AND r.lane_id = f.lane_id
          AND (r.deadline IS NULL OR r.deadline > (SELECT now FROM t)) AND (r.start_by IS NULL OR r.start_by > (SELECT now FROM t))
        ORDER BY r.priority, r.seq LIMIT f.quantum
        FOR UPDATE SKIP LOCKED) p
    LIMIT $7
),
` + takeSQL

// The same from where the claims of a few lanes stopped: see floor.go. Each
// probe is one range scan of ready_pkey that begins at a live row.
const claimFromFloorsSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
w AS MATERIALIZED (SELECT FROM taskq.workers, t WHERE worker_id = $3 AND expires_at > t.now),
h AS MATERIALIZED (
    SELECT * FROM unnest($5::integer[], $6::bigint[], $8::smallint[], $9::bigint[]) AS u(tenant_id, lane_id, priority, seq)
),
pick AS MATERIALIZED (
    SELECT f.n, p.* FROM w, (SELECT tenant_id, lane_id, row_number() OVER () AS n FROM h WHERE priority = 0) f CROSS JOIN LATERAL (
        SELECT x.row FROM (SELECT * FROM h WHERE h.tenant_id = f.tenant_id AND h.lane_id = f.lane_id ORDER BY h.priority) h CROSS JOIN LATERAL (
            SELECT r.ctid AS row FROM taskq.ready r
            WHERE r.shard = $1 AND r.queue_id = $2 AND r.tenant_id = h.tenant_id AND r.lane_id = h.lane_id AND r.priority = h.priority AND r.seq >= h.seq
              AND (r.deadline IS NULL OR r.deadline > (SELECT now FROM t)) AND (r.start_by IS NULL OR r.start_by > (SELECT now FROM t))
            ORDER BY r.seq LIMIT $10
            FOR UPDATE SKIP LOCKED) x
        LIMIT $10) p
    LIMIT $7
),
` + takeSQL

// What was picked is taken: its rows go, one lease comes.
const takeSQL = `taken AS (
    DELETE FROM taskq.ready r USING pick p
    WHERE r.ctid = p.row AND r.shard = $1
    RETURNING p.n, r.tenant_id, r.lane_id, r.priority, r.seq, r.job_id, r.attempt + 1 AS attempt, r.claim_epoch + 1 AS claim_epoch, r.deadline, r.extra
),
member AS MATERIALIZED (SELECT *, row_number() OVER (ORDER BY n, priority, seq) AS ix FROM taken),
lease AS (
    INSERT INTO taskq.leases (shard, queue_id, worker_id, lease_id, claimed_at, ended, cancel, jobs, tenants, attempts, epochs, deadlines, extras)
    SELECT $1, $2, $3, $4, t.now, repeat('0', count(*)::integer)::varbit, repeat('0', count(*)::integer)::varbit,
           array_agg(job_id ORDER BY ix), array_agg(tenant_id ORDER BY ix), array_agg(attempt ORDER BY ix), array_agg(claim_epoch ORDER BY ix),
           CASE WHEN count(deadline) > 0 THEN array_agg(deadline ORDER BY ix) END,
           CASE WHEN count(extra) > 0 THEN array_agg(extra ORDER BY ix) END
    FROM member, t GROUP BY t.now
)
SELECT t.now, m.ix, m.tenant_id, m.lane_id, m.seq, m.job_id, m.attempt, m.claim_epoch, m.deadline, m.extra,
       j.actor, j.version, j.priority, j.payload, j.content_type, j.headers, j.tags, j.options, j.created_at
FROM member m JOIN taskq.jobs j ON j.shard = $1 AND j.tenant_id = m.tenant_id AND j.job_id = m.job_id CROSS JOIN t
ORDER BY m.ix`

// Claim takes due jobs of one queue, an equal share for each lane that has
// any, and leases them to the worker. Fewer than Limit are no sign that
// nothing is left. A worker that isn't registered or whose lease is over gets
// nothing.
func (s *Store) Claim(ctx context.Context, r ClaimRequest) (Claim, error) {
	queue, err := s.QueueID(ctx, r.Queue)
	if err != nil {
		return Claim{}, err
	}
	out, err := s.claim(ctx, &r, queue)
	if err != nil {
		return Claim{}, fmt.Errorf("claim %s: %w", r.Queue, err)
	}
	return out, nil
}

func (s *Store) claim(ctx context.Context, r *ClaimRequest, queue int32) (Claim, error) {
	began := time.Now()
	known := s.floorsOf(r.Shard, queue)
	if from, ok := known.use(began); ok {
		quantum := (r.Limit-1)/from.count + 1
		out, at, err := s.claimWith(ctx, r, claimFromFloorsSQL, r.Shard, queue, pgID(r.Worker), pgID(r.Lease), from.tenants, from.lanes, r.Limit, from.priorities, from.seqs, quantum)
		if err == nil {
			known.further(at, r.Limit)
		}
		return out, err
	}
	out, at, err := s.claimWith(ctx, r, claimSQL, r.Shard, queue, pgID(r.Worker), pgID(r.Lease), r.After.Tenant, r.After.Lane, r.Limit)
	if err == nil {
		known.whole(time.Now(), time.Since(began), at)
	}
	return out, err
}

func (s *Store) claimWith(ctx context.Context, r *ClaimRequest, sql string, args ...any) (Claim, []claimedRow, error) {
	rows, err := s.hot.Query(ctx, s.schema.sql(sql), args...)
	if err != nil {
		return Claim{}, nil, err
	}
	out := Claim{Next: r.After}
	var at []claimedRow
	defer rows.Close()
	for rows.Next() {
		c := Claimed{Lease: r.Lease}
		row := claimedRow{}
		if err := scanClaimed(rows, &out, &c, &row.seq); err != nil {
			return Claim{}, nil, err
		}
		row.lane, row.priority = lane{out.Next.Tenant, out.Next.Lane}, c.Priority
		out.Jobs, at = append(out.Jobs, c), append(at, row)
	}
	return out, at, rows.Err()
}

func scanClaimed(rows pgx.Rows, out *Claim, c *Claimed, seq *int64) error {
	var id pgtype.UUID
	var deadline pgtype.Timestamptz
	var version *int32
	var contentType *string
	var extra, headers, options []byte
	err := rows.Scan(&out.Now, &c.Index, &c.Tenant, &out.Next.Lane, seq, &id, &c.Attempt, &c.Epoch, &deadline, &extra,
		&c.Actor, &version, &c.Priority, &c.Payload, &contentType, &headers, &c.Tags, &options, &c.CreatedAt)
	if err != nil {
		return err
	}
	out.Next.Tenant = c.Tenant
	c.ID, c.Deadline, c.ContentType = id.Bytes, deadline.Time, "application/json"
	if version != nil {
		c.Version = int(*version)
	}
	if contentType != nil {
		c.ContentType = *contentType
	}
	c.decode(column{"extra", extra, &c.Extra}, column{"headers", headers, &c.Headers}, column{"options", options, &c.Options})
	return nil
}

// Rows that are due move to ready; whoever sees them moves them, so no leader
// is needed for work to flow.
const promoteSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
    SELECT s.tenant_id, s.job_id FROM taskq.scheduled s
    WHERE s.shard = $1 AND s.due_at <= (SELECT now FROM t)
    ORDER BY s.due_at LIMIT $2 FOR UPDATE SKIP LOCKED
),
m AS (
    DELETE FROM taskq.scheduled s USING d WHERE s.shard = $1 AND s.tenant_id = d.tenant_id AND s.job_id = d.job_id
    RETURNING s.*
),
r AS (
    INSERT INTO taskq.ready (shard, priority, queue_id, tenant_id, attempt, lane_id, seq, claim_epoch, job_id, moved, deadline, start_by, extra)
    SELECT shard, priority, queue_id, tenant_id, attempt, lane_id, nextval('taskq.ready_seq'), claim_epoch, job_id, true, deadline, start_by, extra
    FROM m ORDER BY due_at
    RETURNING queue_id
)
SELECT (SELECT count(*) FROM r),
       (SELECT greatest(0, extract(epoch FROM s.due_at - (SELECT now FROM t)) * 1000)::bigint FROM taskq.scheduled s
        WHERE s.shard = $1 AND s.due_at > (SELECT now FROM t) ORDER BY s.due_at LIMIT 1)`

// Promote moves at most limit due rows to ready. It answers how many it moved
// and how long it is until the next one is due; negative if there is none.
func (s *Store) Promote(ctx context.Context, shard int16, limit int) (moved int, next time.Duration, err error) {
	var ms *int64
	if err := s.hot.QueryRow(ctx, s.schema.sql(promoteSQL), shard, limit).Scan(&moved, &ms); err != nil {
		return 0, 0, fmt.Errorf("promote: %w", err)
	}
	if ms == nil {
		return moved, -1, nil
	}
	return moved, time.Duration(*ms) * time.Millisecond, nil
}
