package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// NewJob is what an enqueue stores. Sizes and names are the caller's to check;
// the store writes what it gets.
type NewJob struct {
	ID          ID // zero: one is made
	Queue       string
	Actor       string
	Version     int // 0: whatever is current when it runs
	Priority    int // 0..9, 0 first
	Payload     []byte
	ContentType string // "" is application/json
	Headers     map[string]string
	Tags        []string
	Metadata    json.RawMessage
	Options     *JobOptions

	Delay       time.Duration // from the database's now
	ScheduledAt time.Time     // wins over Delay; in the past means now

	// Deadline: the whole job, all attempts. An absolute one wins over
	// ScheduleToClose, which counts from the database's now.
	Deadline        time.Time
	ScheduleToClose time.Duration

	// StartBy: a job that wasn't claimed by then isn't started at all. The
	// absolute StartByAt wins over it.
	StartBy   time.Duration
	StartByAt time.Time
}

// JobOptions is what the enqueue overrode; kept with the job for ever.
type JobOptions struct {
	Retry             json.RawMessage `json:"retry,omitempty"` // a partial policy block
	StartToCloseMS    int64           `json:"start_to_close_ms,omitempty"`
	ScheduleToCloseMS int64           `json:"schedule_to_close_ms,omitempty"` // the interval, for a redrive
	ResultTTLMS       int64           `json:"result_ttl_ms,omitempty"`
}

// Enqueued says what became of one job of an enqueue.
type Enqueued struct {
	ID        ID        `json:"id"`
	Status    Status    `json:"status"` // pending or scheduled
	CreatedAt time.Time `json:"created_at"`
	DueAt     time.Time `json:"due_at"`
}

// LateError is a job whose time lies past its deadline or its start_by. Nothing was stored.
type LateError struct {
	Index    int // of the job in the call
	DueAt    time.Time
	Deadline time.Time // the earlier of both
	Now      time.Time // the database's
}

func (e *LateError) Error() string {
	return fmt.Sprintf("job %d: it is due at %s, past its deadline %s", e.Index, e.DueAt.UTC().Format(time.RFC3339Nano), e.Deadline.UTC().Format(time.RFC3339Nano))
}

const enqueueSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
i AS MATERIALIZED (
    SELECT u.*, t.now,
           coalesce(u.at, t.now + u.delay_ms * interval '1 millisecond', t.now) AS due_at,
           coalesce(u.close_at, t.now + u.close_ms * interval '1 millisecond') AS deadline,
           coalesce(u.start_at, t.now + u.start_ms * interval '1 millisecond') AS start_by
    FROM t, unnest($3::uuid[], $4::int[], $5::smallint[], $6::text[], $7::int[], $8::bytea[], $9::text[], $10::jsonb[],
                   $11::jsonb[], $12::jsonb[], $13::jsonb[], $14::bigint[], $15::timestamptz[], $16::bigint[], $17::timestamptz[], $18::bigint[], $19::timestamptz[])
         WITH ORDINALITY AS u(job_id, queue_id, priority, actor, version, payload, content_type, options,
                   headers, tags, metadata, delay_ms, at, close_ms, close_at, start_ms, start_at, ix)
),
late AS MATERIALIZED (
    SELECT ix, due_at, least(deadline, start_by) AS deadline FROM i WHERE greatest(due_at, now) > least(deadline, start_by) ORDER BY ix LIMIT 1
),
n AS MATERIALIZED (
    SELECT i.*, CASE WHEN due_at <= now THEN nextval('taskq.ready_seq') END AS seq
    FROM i WHERE NOT EXISTS (SELECT FROM late)
),
j AS (
    INSERT INTO taskq.jobs (shard, priority, tenant_id, queue_id, version, job_id, created_at, seq, actor, content_type, payload, options, headers, tags, metadata)
    SELECT $1, priority, $2, queue_id, version, job_id, now, seq, actor, content_type, payload, options, headers,
           CASE WHEN tags IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(tags)) END, metadata
    FROM n
),
r AS (
    INSERT INTO taskq.ready (shard, priority, queue_id, tenant_id, attempt, lane_id, seq, claim_epoch, job_id, deadline, start_by)
    SELECT $1, priority, queue_id, $2, 0, 0, seq, 0, job_id, deadline, start_by FROM n WHERE seq IS NOT NULL
),
s AS (
    INSERT INTO taskq.scheduled (shard, priority, queue_id, tenant_id, attempt, lane_id, claim_epoch, due_at, job_id, reason, deadline, start_by)
    SELECT $1, priority, queue_id, $2, 0, 0, 0, due_at, job_id, 1, deadline, start_by FROM n WHERE seq IS NULL
)
SELECT t.now, late.ix, late.due_at, late.deadline FROM t LEFT JOIN late ON true`

// Enqueue stores jobs of one tenant, all of them or none, and answers in
// their order. It wakes no worker: see [Store.Notify].
func (s *Store) Enqueue(ctx context.Context, tenant Tenant, jobs []NewJob) ([]Enqueued, error) {
	return s.enqueue(ctx, s.hot, tenant, jobs)
}

// EnqueueTx is Enqueue inside a transaction of the caller's: the jobs are
// visible when it commits, and gone if it doesn't.
func (s *Store) EnqueueTx(ctx context.Context, tx Tx, tenant Tenant, jobs []NewJob) ([]Enqueued, error) {
	return s.enqueue(ctx, tx, tenant, jobs)
}

func (s *Store) enqueue(ctx context.Context, q querier, tenant Tenant, jobs []NewJob) ([]Enqueued, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	a, err := s.enqueueArrays(ctx, jobs)
	if err != nil {
		return nil, err
	}
	var now time.Time
	var late pgtype.Int8
	var lateDue, lateDeadline pgtype.Timestamptz
	err = q.QueryRow(ctx, s.schema.sql(enqueueSQL), tenant.Shard, tenant.ID, pgIDs(a.ids), a.queues, a.priorities, a.actors, a.versions,
		a.payloads, a.contentTypes, a.options, a.headers, a.tags, a.metadata, a.delays, a.ats, a.closes, a.closeAts, a.starts, a.startAts).
		Scan(&now, &late, &lateDue, &lateDeadline)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if late.Valid {
		return nil, &LateError{Index: int(late.Int64) - 1, DueAt: lateDue.Time, Deadline: lateDeadline.Time, Now: now}
	}
	out := make([]Enqueued, len(jobs))
	for i, id := range a.ids {
		out[i] = Enqueued{ID: id, Status: Pending, CreatedAt: now, DueAt: now}
		if due := jobs[i].due(now); due.After(now) {
			out[i].Status, out[i].DueAt = Scheduled, due
		}
	}
	return out, nil
}

func (j *NewJob) due(now time.Time) time.Time {
	if !j.ScheduledAt.IsZero() {
		return j.ScheduledAt
	}
	return now.Add(j.Delay)
}

// columns of unnest; a null element is an absent value.
type enqueueColumns struct {
	ids           []ID
	queues        []int32
	priorities    []int16
	actors        []string
	versions      []*int32
	payloads      [][]byte
	contentTypes  []*string
	options       []*string
	headers, tags []*string
	metadata      []*string
	delays        []*int64
	ats           []*time.Time
	closes        []*int64
	closeAts      []*time.Time
	starts        []*int64
	startAts      []*time.Time
}

func (s *Store) enqueueArrays(ctx context.Context, jobs []NewJob) (*enqueueColumns, error) {
	n := len(jobs)
	a := &enqueueColumns{
		ids: make([]ID, n), queues: make([]int32, n), priorities: make([]int16, n), actors: make([]string, n),
		versions: make([]*int32, n), payloads: make([][]byte, n), contentTypes: make([]*string, n), options: make([]*string, n),
		headers: make([]*string, n), tags: make([]*string, n), metadata: make([]*string, n),
		delays: make([]*int64, n), ats: make([]*time.Time, n), closes: make([]*int64, n), closeAts: make([]*time.Time, n),
		starts: make([]*int64, n), startAts: make([]*time.Time, n),
	}
	for i := range jobs {
		j := &jobs[i]
		queue, err := s.QueueID(ctx, j.Queue)
		if err != nil {
			return nil, err
		}
		if a.ids[i] = j.ID; j.ID == (ID{}) {
			a.ids[i] = NewID()
		}
		a.queues[i], a.priorities[i], a.actors[i], a.payloads[i] = queue, int16(j.Priority), j.Actor, j.Payload
		a.versions[i] = orNil(int32(j.Version))
		if j.ContentType != "application/json" {
			a.contentTypes[i] = orNil(j.ContentType)
		}
		a.delays[i], a.closes[i] = orNil(j.Delay.Milliseconds()), orNil(j.ScheduleToClose.Milliseconds())
		a.ats[i], a.closeAts[i] = timeOrNil(j.ScheduledAt), timeOrNil(j.Deadline)
		a.starts[i], a.startAts[i] = orNil(j.StartBy.Milliseconds()), timeOrNil(j.StartByAt)
		if err := a.encode(i, j); err != nil {
			return nil, fmt.Errorf("enqueue: job %d: %w", i, err)
		}
	}
	return a, nil
}

func (a *enqueueColumns) encode(i int, j *NewJob) error {
	var err error
	if !j.Options.empty() {
		if a.options[i], err = jsonText(j.Options); err != nil {
			return fmt.Errorf("options: %w", err)
		}
	}
	if len(j.Headers) > 0 {
		if a.headers[i], err = jsonText(j.Headers); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	if len(j.Tags) > 0 {
		if a.tags[i], err = jsonText(j.Tags); err != nil {
			return fmt.Errorf("tags: %w", err)
		}
	}
	if len(j.Metadata) > 0 {
		text := string(j.Metadata)
		a.metadata[i] = &text
	}
	return nil
}

func (o *JobOptions) empty() bool {
	return o == nil || len(o.Retry) == 0 && o.StartToCloseMS == 0 && o.ScheduleToCloseMS == 0 && o.ResultTTLMS == 0
}

func jsonText(v any) (*string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text := string(b)
	return &text, nil
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
