package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Job is a job as people see it, put together from wherever its parts are.
// Pointers and empty strings are what it doesn't have.
type Job struct {
	ID          ID
	Tenant      string
	Queue       string
	Actor       string
	Version     int // that ran or was asked for; 0: current
	Priority    int
	Status      Status
	Attempt     int
	Epoch       int64
	CreatedAt   time.Time
	ScheduledAt *time.Time // when it is due, if that is later
	Reason      ScheduleReason
	Deadline    *time.Time
	StartedAt   *time.Time // its last attempt
	FinishedAt  *time.Time
	ErrorClass  string // of the last failure
	Message     string
	DecidedBy   string
	DeadReason  int16
	Cancelling  bool
	ContentType string
	Payload     []byte // nil in lists: a page of them could be a gigabyte
	Headers     map[string]string
	Tags        []string
	Metadata    json.RawMessage
	Options     JobOptions
	Extra       Extra
	Result      []byte // nil in lists
	ResultType  string
}

// Where a job is, by looking into each place: a seek each, so a list costs what
// it shows, never the backlog. In no place (status 0) is a job whose end isn't
// kept any longer and whose row waits for its partition to be dropped.
const jobHeadSQL = `
SELECT j.job_id, q.name, j.actor, coalesce(f.version, j.version, 0), j.priority,
       CASE WHEN f.job_id IS NOT NULL THEN f.status WHEN l.job_id IS NOT NULL THEN 4 WHEN s.due_at > (SELECT now FROM t) THEN 2
            WHEN s.job_id IS NOT NULL OR m.job_id IS NOT NULL OR fr.job_id IS NOT NULL THEN 1 ELSE 0 END::smallint,
       coalesce(f.attempt, l.attempt, s.attempt, m.attempt, 0), coalesce(f.claim_epoch, l.epoch, s.claim_epoch, m.claim_epoch, 0),
       j.created_at, CASE WHEN s.due_at > (SELECT now FROM t) THEN s.due_at END, coalesce(s.reason, 0)::smallint, coalesce(l.deadline, s.deadline, m.deadline, fr.deadline),
       coalesce(f.started_at, l.claimed_at), f.finished_at, coalesce(f.error_class, a.error_class, ''), coalesce(f.message, a.message, ''), coalesce(f.decided_by, a.decided_by, ''),
       coalesce(f.dead_reason, 0)::smallint, coalesce(l.cancelling, false), coalesce(j.content_type, 'application/json'), `

const jobTailSQL = `, j.headers, j.tags, j.metadata, j.options,
       coalesce(f.extra, l.extra, s.extra, m.extra)
FROM p JOIN taskq.jobs j ON j.shard = $1 AND j.tenant_id = $2 AND j.job_id = p.job_id
JOIN taskq.queues q USING (queue_id)
LEFT JOIN LATERAL (SELECT f.* FROM taskq.finished f WHERE f.shard = $1 AND f.tenant_id = $2 AND f.job_id = j.job_id LIMIT 1) f ON true
LEFT JOIN taskq.scheduled s ON s.shard = $1 AND s.tenant_id = $2 AND s.job_id = j.job_id
LEFT JOIN taskq.ready m ON m.moved AND m.shard = $1 AND m.tenant_id = $2 AND m.job_id = j.job_id
LEFT JOIN taskq.ready fr ON fr.shard = $1 AND fr.queue_id = j.queue_id AND fr.tenant_id = $2 AND fr.lane_id = j.lane_id AND fr.priority = j.priority AND fr.seq = j.seq
LEFT JOIN (
    SELECT u.job_id, u.attempt, u.epoch, l.claimed_at, l.deadlines[u.ix] AS deadline, l.extras[u.ix] AS extra, get_bit(l.cancel, (u.ix - 1)::integer) = 1 AS cancelling
    FROM taskq.leases l, unnest(l.jobs, l.tenants, l.attempts, l.epochs) WITH ORDINALITY AS u(job_id, tenant_id, attempt, epoch, ix)
    WHERE l.shard = $1 AND u.tenant_id = $2 AND get_bit(l.ended, (u.ix - 1)::integer) = 0 AND l.jobs && ARRAY(SELECT job_id FROM p)) l ON l.job_id = j.job_id
LEFT JOIN LATERAL (SELECT a.error_class, a.message, a.decided_by FROM taskq.attempts a WHERE a.shard = $1 AND a.tenant_id = $2 AND a.job_id = j.job_id
    ORDER BY a.claim_epoch DESC LIMIT 1) a ON true
`

const jobSQL = `WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now), p AS MATERIALIZED (SELECT unnest($3::uuid[]) AS job_id)` + jobHeadSQL + `j.payload` + jobTailSQL

const resultSQL = `SELECT result, coalesce(content_type, 'application/json') FROM taskq.results WHERE shard = $1 AND tenant_id = $2 AND job_id = $3 LIMIT 1`

// Job finds one job of a tenant with its result; [ErrNotFound] if the tenant has no such job.
func (s *Store) Job(ctx context.Context, tenant Tenant, id ID) (*Job, error) {
	jobs, err := s.Jobs(ctx, tenant, []ID{id})
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("job %s: %w", id, ErrNotFound)
	}
	j := &jobs[0]
	if j.Status != Succeeded {
		return j, nil
	}
	err = s.pool.QueryRow(ctx, s.schema.sql(resultSQL), tenant.Shard, tenant.ID, pgID(id)).Scan(&j.Result, &j.ResultType)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// Jobs finds those of the jobs that the tenant has, without their results, in
// no order.
func (s *Store) Jobs(ctx context.Context, tenant Tenant, ids []ID) ([]Job, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(jobSQL), tenant.Shard, tenant.ID, pgIDs(ids))
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	jobs, err := scanJobs(rows, tenant)
	return slices.DeleteFunc(jobs, Job.gone), err
}

// gone: nothing is left of it but a row.
func (j Job) gone() bool { return j.Status == 0 }

// JobFilter narrows a list. Zero fields don't.
type JobFilter struct {
	Status []Status
	Queue  string
	Actor  string
	Tag    string
	Before ID  // a cursor: only jobs made before this one
	Limit  int // of the answer
}

// listScan is how many of a tenant's jobs a list reads for a page at most;
// what a narrow filter doesn't find within it is on a later page.
const listScan = 5_000

const jobsSQL = `WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now), p AS MATERIALIZED (
    SELECT j.job_id FROM taskq.jobs j
    WHERE j.shard = $1 AND j.tenant_id = $2 AND j.job_id < $3
      AND ($4::text IS NULL OR j.actor = $4) AND ($5::integer IS NULL OR j.queue_id = $5) AND ($6::text IS NULL OR $6 = ANY (j.tags))
    ORDER BY j.job_id DESC LIMIT $7
)` + jobHeadSQL + `NULL::bytea` + jobTailSQL + `ORDER BY j.job_id DESC`

// ListJobs lists jobs of a tenant, newest first. The second answer is the
// cursor for the next page, zero when there is none. A page may hold fewer
// than Limit and still have a next one.
func (s *Store) ListJobs(ctx context.Context, tenant Tenant, f JobFilter) ([]Job, ID, error) {
	before := f.Before
	if before == (ID{}) {
		before = ID{0: 0xff, 1: 0xff, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff}
	}
	var queue *int32
	if f.Queue != "" {
		id, err := s.knownQueue(ctx, f.Queue)
		if errors.Is(err, ErrNotFound) {
			return nil, ID{}, nil
		}
		if err != nil {
			return nil, ID{}, err
		}
		queue = &id
	}
	var out []Job
	chunk := f.Limit
	if len(f.Status) > 0 {
		chunk = max(chunk, 200) // the state is known only after the joins
	}
	for scanned := 0; scanned < listScan; scanned += chunk {
		rows, err := s.pool.Query(ctx, s.schema.sql(jobsSQL), tenant.Shard, tenant.ID, pgID(before), orNil(f.Actor), queue, orNil(f.Tag), chunk)
		if err != nil {
			return nil, ID{}, fmt.Errorf("jobs: %w", err)
		}
		jobs, err := scanJobs(rows, tenant)
		if err != nil {
			return nil, ID{}, err
		}
		for _, j := range jobs {
			before = j.ID
			if !j.gone() && f.wants(j.Status) {
				if out = append(out, j); len(out) == f.Limit {
					return out, before, nil
				}
			}
		}
		if len(jobs) < chunk {
			return out, ID{}, nil
		}
	}
	return out, before, nil
}

func (f *JobFilter) wants(s Status) bool {
	for _, want := range f.Status {
		if want == s {
			return true
		}
	}
	return len(f.Status) == 0
}

func (s *Store) knownQueue(ctx context.Context, name string) (id int32, err error) {
	err = s.pool.QueryRow(ctx, s.schema.sql("SELECT queue_id FROM taskq.queues WHERE name = $1"), name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("queue %q: %w", name, ErrNotFound)
	}
	return id, err
}

func scanJobs(rows pgx.Rows, tenant Tenant) ([]Job, error) {
	var out []Job
	defer rows.Close()
	for rows.Next() {
		j := Job{Tenant: tenant.Name}
		var id pgtype.UUID
		var headers, metadata, options, extra []byte
		err := rows.Scan(&id, &j.Queue, &j.Actor, &j.Version, &j.Priority, (*int16)(&j.Status), &j.Attempt, &j.Epoch,
			&j.CreatedAt, &j.ScheduledAt, (*int16)(&j.Reason), &j.Deadline, &j.StartedAt, &j.FinishedAt, &j.ErrorClass, &j.Message, &j.DecidedBy,
			&j.DeadReason, &j.Cancelling, &j.ContentType, &j.Payload, &headers, &j.Tags, &metadata, &options, &extra)
		if err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
		j.ID, j.Metadata = id.Bytes, metadata
		if err := errors.Join(decode(headers, &j.Headers), decode(options, &j.Options), decode(extra, &j.Extra)); err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
		out = append(out, j)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return out, nil
}

// decode leaves the target as it is where there is nothing.
func decode(b []byte, into any) error {
	if b == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}
