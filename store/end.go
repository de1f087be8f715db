package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Action is what happens to a member of a lease.
type Action int16

const (
	// End finishes the job with Ending.Status.
	End Action = 1
	// Reschedule runs it again after Ending.Delay, unless its deadline comes
	// first: then it ends Failed with DeadlineExceeded.
	Reschedule Action = 2
	// Release gives back a claim that never started: attempt refunded, due at once.
	Release Action = 3
	// Interrupt gives back a claim whose body was stopped by its worker's own
	// stop: attempt spent, no attempt row, due at once.
	Interrupt Action = 4
)

// Ending is what a worker decided about one member of a lease.
type Ending struct {
	Lease  ID
	Index  int // within the lease, from 1
	Action Action

	// End
	Status      Status
	DeadReason  int16  // retry.DeadReason's number; 0: not dead
	Result      []byte // nil: none is stored
	ContentType string // of Result; "" is application/json
	ErrorClass  string // of the job's last failure
	Message     string
	DecidedBy   string
	Version     int           // of the actor
	Keep        time.Duration // how long the finished job is kept
	ResultKeep  time.Duration // and its result, if that is shorter; 0: as long

	// Reschedule
	Delay    time.Duration
	Reason   ScheduleReason
	GiveBack bool // the attempt is refunded
	// FailKeep is how long the job is kept if the deadline ends it instead.
	FailKeep time.Duration

	// MaxAge is a deadline from the job's creation, for what is retried as
	// indefinite; 0: none. It holds where it comes before the job's own, and
	// stays with the job.
	MaxAge time.Duration

	Extra *Extra // replaces the moving row's; nil keeps it

	// Events are written beside what became of the job. That it was
	// interrupted, died or was cancelled is told without them.
	Events []NewEvent

	// Attempt is written beside it; nil: no row.
	Attempt *AttemptRow

	// Started and Ended count from the claim's time.
	Started, Ended time.Duration
}

func (e *Ending) resultKeep() time.Duration {
	if e.ResultKeep == 0 {
		return e.Keep
	}
	return min(e.ResultKeep, e.Keep)
}

// AttemptRow is the record of an attempt that failed, deferred or crashed.
// Every text must be valid UTF-8 without NUL.
type AttemptRow struct {
	Outcome    AttemptOutcome
	ErrorClass string
	Ancestors  []string
	Message    string
	Stack      string
	Trap       string
	Origin     string
	Record     string // JSON text
	HTTPStatus int
	ExitCode   *int64
	TimedOut   bool
	PreActor   bool
	DecidedBy  string
	RetryKind  string
	DelayMS    *int64
	Policy     []byte // JSON
	Digest     []byte
	Version    int
	Fuel       int64
	PeakMemory int64
	Inline     int // quick repetitions that it had
}

// Verdict says what became of a member. A member without a verdict was no
// longer the worker's: ownership is lost, nothing was written.
type Verdict struct {
	Lease  ID
	Index  int
	Status Status // as people see it: a terminal one, Scheduled or Pending
}

// NewEvent is something that happened to a job and isn't an attempt.
type NewEvent struct {
	Event string `json:"event"`
	Facts any    `json:"facts,omitempty"` // encodes as a JSON object
}

// Successes are nearly all of the traffic, so they have a statement of their
// own with few columns. A cancel that was requested counts, seen or not.
const endSucceededSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
l AS MATERIALIZED (
    SELECT lease_id, queue_id, claimed_at, jobs, tenants, attempts, epochs, extras, ended, cancel
    FROM taskq.leases WHERE shard = $1 AND worker_id = $2 AND lease_id = ANY($3) ORDER BY lease_id FOR UPDATE
),
m AS MATERIALIZED (
    SELECT i.*, l.queue_id, l.claimed_at, l.jobs[i.ix] AS job_id, l.tenants[i.ix] AS tenant_id, l.attempts[i.ix] AS attempt,
           l.epochs[i.ix] AS claim_epoch, l.extras[i.ix] AS extra, get_bit(l.cancel, i.ix - 1) = 1 AS cancelled
    FROM unnest($5::uuid[], $6::int[], $7::bytea[], $8::text[], $9::int[], $10::bigint[], $11::bigint[], $12::bigint[])
         AS i(lease_id, ix, result, content_type, version, keep_ms, started_us, result_keep_ms)
    JOIN l USING (lease_id) WHERE get_bit(l.ended, i.ix - 1) = 0
),
f AS (
    INSERT INTO taskq.finished (shard, status, queue_id, tenant_id, attempt, version, keep_until, job_id, claim_epoch, worker_id, started_at, finished_at, extra)
    SELECT $1, CASE WHEN cancelled THEN 12 ELSE 10 END, queue_id, tenant_id, attempt, version,
           ((t.now + keep_ms * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, job_id, claim_epoch, $2,
           claimed_at + started_us * interval '1 microsecond', t.now, extra
    FROM m, t
),
r AS (
    INSERT INTO taskq.results (shard, tenant_id, keep_until, job_id, content_type, result)
    SELECT $1, tenant_id, ((t.now + result_keep_ms * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, job_id, content_type, result
    FROM m, t WHERE result IS NOT NULL AND NOT cancelled
),
v AS (
    INSERT INTO taskq.events (shard, tenant_id, job_id, at, event, facts)
    SELECT $1, tenant_id, job_id, t.now, 'job.cancelled', jsonb_build_object('attempt', attempt) FROM m, t WHERE cancelled
),
` + settleLeasesSQL + `
SELECT lease_id, ix, CASE WHEN cancelled THEN 12 ELSE 10 END::smallint FROM m`

// Marks the members of m as ended, and deletes a lease whose last one it was.
// $3 and $4 are the leases and their masks.
const settleLeasesSQL = `e AS MATERIALIZED (
    SELECT l.lease_id, l.ended | rpad(k.mask, length(l.ended), '0')::varbit AS ended, repeat('1', length(l.ended))::varbit AS every
    FROM l JOIN unnest($3::uuid[], $4::text[]) AS k(lease_id, mask) USING (lease_id)
),
gone AS (
    DELETE FROM taskq.leases x USING e
    WHERE x.shard = $1 AND x.worker_id = $2 AND x.lease_id = e.lease_id AND e.ended = e.every
),
left_over AS (
    UPDATE taskq.leases x SET ended = e.ended FROM e
    WHERE x.shard = $1 AND x.worker_id = $2 AND x.lease_id = e.lease_id AND e.ended <> e.every
)`

// deadNamesSQL are the names of retry.DeadReason by number.
const deadNamesSQL = `(ARRAY['exhausted', 'non_retryable', 'deadline', 'crash_exhausted', 'payload_invalid', 'unroutable', 'version_mismatch', 'result_too_large', 'retry_budget'])`

const endAnySQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
l AS MATERIALIZED (
    SELECT lease_id, queue_id, claimed_at, jobs, tenants, attempts, epochs, deadlines, extras, ended, cancel
    FROM taskq.leases WHERE shard = $1 AND worker_id = $2 AND lease_id = ANY($3) ORDER BY lease_id FOR UPDATE
),
m AS MATERIALIZED (
    SELECT i.*, l.queue_id, l.claimed_at, l.jobs[i.ix] AS job_id, l.tenants[i.ix] AS tenant_id, l.attempts[i.ix] AS attempt,
           l.epochs[i.ix] AS claim_epoch, l.deadlines[i.ix] AS deadline, coalesce(i.new_extra, l.extras[i.ix]) AS extra,
           get_bit(l.cancel, i.ix - 1) = 1 AS cancelled, t.now,
           t.now + i.delay_ms * interval '1 millisecond' AS due_at
    FROM t, unnest($5::uuid[], $6::int[], $7::smallint[], $8::smallint[], $9::smallint[], $10::bytea[], $11::text[], $12::text[], $13::text[], $14::text[],
                $15::int[], $16::bigint[], $17::bigint[], $18::smallint[], $19::boolean[], $20::bigint[], $21::jsonb[], $22::bigint[], $23::bigint[],
                $24::smallint[], $25::text[], $26::bigint[], $27::bigint[], $28::jsonb[])
         AS i(lease_id, ix, action, status, dead_reason, result, content_type, error_class, message, decided_by,
                version, keep_ms, delay_ms, reason, give_back, fail_keep_ms, new_extra, started_us, ended_us,
                outcome, attempt_row, result_keep_ms, age_ms, events)
    JOIN l USING (lease_id) WHERE get_bit(l.ended, i.ix - 1) = 0
),
d AS MATERIALIZED (
    SELECT m.*, j.lane_id, j.priority, x.ends_by,
           CASE WHEN m.cancelled THEN 12
                WHEN m.action = 1 THEN m.status
                WHEN x.ends_by < greatest(m.due_at, m.now) THEN 11
                WHEN m.action = 2 THEN 2
                ELSE 1 END::smallint AS verdict,
           NOT m.cancelled AND m.action <> 1 AND x.ends_by < greatest(m.due_at, m.now) AS late
    FROM m CROSS JOIN LATERAL (SELECT j.lane_id, j.priority, j.created_at FROM taskq.jobs j
        WHERE j.shard = $1 AND j.tenant_id = m.tenant_id AND j.job_id = m.job_id LIMIT 1) j -- one seek a member: see membersSQL
    CROSS JOIN LATERAL (SELECT least(m.deadline, j.created_at + m.age_ms * interval '1 millisecond') AS ends_by) x
),
s AS (
    INSERT INTO taskq.scheduled (shard, priority, queue_id, tenant_id, attempt, lane_id, claim_epoch, due_at, job_id, reason, deadline, extra)
    SELECT $1, priority, queue_id, tenant_id, CASE WHEN give_back THEN attempt - 1 ELSE attempt END, lane_id, claim_epoch, due_at, job_id, reason, ends_by, extra
    FROM d WHERE verdict = 2
),
r AS (
    INSERT INTO taskq.ready (shard, priority, queue_id, tenant_id, attempt, lane_id, seq, claim_epoch, job_id, moved, deadline, extra)
    SELECT $1, priority, queue_id, tenant_id, CASE WHEN action = 3 THEN attempt - 1 ELSE attempt END, lane_id, nextval('taskq.ready_seq'), claim_epoch, job_id, true, ends_by, extra
    FROM d WHERE verdict = 1
),
f AS (
    INSERT INTO taskq.finished (shard, status, dead_reason, queue_id, tenant_id, attempt, version, keep_until, job_id, claim_epoch, worker_id, started_at, finished_at, error_class, message, decided_by, extra)
    SELECT $1, verdict, CASE WHEN late THEN 3 WHEN NOT cancelled THEN nullif(dead_reason, 0) END, queue_id, tenant_id, attempt, version,
           ((now + CASE WHEN late THEN fail_keep_ms ELSE keep_ms END * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, job_id, claim_epoch, $2,
           claimed_at + started_us * interval '1 microsecond', now,
           CASE WHEN late THEN 'DeadlineExceeded' ELSE error_class END,
           CASE WHEN NOT late THEN message WHEN ends_by = deadline THEN 'schedule_to_close reached before next dispatch' ELSE 'max_indefinite_age reached before next dispatch' END, decided_by, extra
    FROM d WHERE verdict >= 10
),
z AS (
    INSERT INTO taskq.results (shard, tenant_id, keep_until, job_id, content_type, result)
    SELECT $1, tenant_id, ((now + result_keep_ms * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, job_id, content_type, result
    FROM d WHERE verdict = 10 AND result IS NOT NULL
),
a AS (
    INSERT INTO taskq.attempts (shard, outcome, tenant_id, attempt, version, http_status, exit_code, job_id, claim_epoch, worker_id, started_at, finished_at,
        delay_ms, fuel, peak_memory, inline, timed_out, pre_actor, retry_kind, decided_by, error_class, ancestors, message, stack, trap, origin, record, policy, digest)
    SELECT $1, outcome, tenant_id, attempt, version, (x.v ->> 'http')::int, (x.v ->> 'exit')::bigint, job_id, claim_epoch, $2,
        claimed_at + started_us * interval '1 microsecond', claimed_at + ended_us * interval '1 microsecond',
        (x.v ->> 'delay')::bigint, (x.v ->> 'fuel')::bigint, (x.v ->> 'memory')::bigint, (x.v ->> 'inline')::smallint,
        coalesce((x.v ->> 'timed_out')::boolean, false), coalesce((x.v ->> 'pre_actor')::boolean, false),
        x.v ->> 'kind', x.v ->> 'by', x.v ->> 'class', CASE WHEN x.v ? 'ancestors' THEN ARRAY(SELECT jsonb_array_elements_text(x.v -> 'ancestors')) END,
        x.v ->> 'message', x.v ->> 'stack', x.v ->> 'trap', x.v ->> 'origin', x.v ->> 'record', x.v -> 'policy', decode(x.v ->> 'digest', 'hex')
    FROM (SELECT d.*, attempt_row::jsonb AS v FROM d WHERE attempt_row IS NOT NULL) x
),
v AS (
    INSERT INTO taskq.events (shard, tenant_id, job_id, at, event, facts)
    SELECT $1, tenant_id, job_id, now, 'interrupted', jsonb_build_object('attempt', attempt, 'epoch', claim_epoch)
    FROM d WHERE action = 4
    UNION ALL
    SELECT $1, tenant_id, job_id, now, e ->> 'event', e -> 'facts' FROM d, jsonb_array_elements(events) e
    UNION ALL
    SELECT $1, tenant_id, job_id, now, 'job.cancelled', jsonb_build_object('attempt', attempt) FROM d WHERE verdict = 12
    UNION ALL
    SELECT $1, tenant_id, job_id, now, 'job.dead', jsonb_build_object('attempt', attempt,
        'dead_reason', ` + deadNamesSQL + `[CASE WHEN late THEN 3 ELSE dead_reason END], 'error_class', CASE WHEN late THEN 'DeadlineExceeded' ELSE error_class END)
    FROM d WHERE verdict IN (11, 13)
),
` + settleLeasesSQL + `
SELECT lease_id, ix, verdict FROM d`

// End writes what a worker decided about members of its leases, each exactly
// once: the verdicts name the members that were still the worker's. All of it
// is one statement a kind of ending, so it is stored as a whole or not at all.
func (s *Store) End(ctx context.Context, shard int16, worker ID, endings []Ending) ([]Verdict, error) {
	return s.end(ctx, s.hot, shard, worker, endings)
}

func (s *Store) end(ctx context.Context, q querier, shard int16, worker ID, endings []Ending) ([]Verdict, error) {
	plain, other := partition(endings)
	var out []Verdict
	var err error
	if len(plain) > 0 {
		if out, err = s.endSucceeded(ctx, q, shard, worker, plain); err != nil {
			return nil, fmt.Errorf("end %d successes: %w", len(plain), err)
		}
	}
	if len(other) > 0 {
		more, err := s.endAny(ctx, q, shard, worker, other)
		if err != nil {
			return out, fmt.Errorf("end %d attempts: %w", len(other), err)
		}
		out = append(out, more...)
	}
	return out, nil
}

func partition(endings []Ending) (plain, other []*Ending) {
	for i := range endings {
		e := &endings[i]
		if e.Action == End && e.Status == Succeeded && e.Attempt == nil && e.Extra == nil && e.DecidedBy == "" && e.Events == nil {
			plain = append(plain, e)
		} else {
			other = append(other, e)
		}
	}
	return plain, other
}

// masks names each lease once, in order, with a bit for each member that ends.
// A member that is named twice ends as its first ending says: within one
// statement the second would find it as open as the first did.
func masks(endings []*Ending) ([]*Ending, pgtype.FlatArray[pgtype.UUID], []string) {
	members := map[ID][]byte{}
	once := endings[:0]
	for _, e := range endings {
		mask := members[e.Lease]
		for len(mask) < e.Index {
			mask = append(mask, '0')
		}
		members[e.Lease] = mask
		if mask[e.Index-1] == '0' {
			mask[e.Index-1] = '1'
			once = append(once, e)
		}
	}
	leases := slices.SortedFunc(maps.Keys(members), func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	bits := make([]string, len(leases))
	for i, id := range leases {
		bits[i] = string(members[id])
	}
	return once, pgIDs(leases), bits
}

func (s *Store) endSucceeded(ctx context.Context, q querier, shard int16, worker ID, endings []*Ending) ([]Verdict, error) {
	endings, leases, bits := masks(endings)
	n := len(endings)
	of, ix := make([]ID, n), make([]int32, n)
	results, contentTypes, versions := make([][]byte, n), make([]*string, n), make([]*int32, n)
	keep, started, resultKeep := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, e := range endings {
		of[i], ix[i] = e.Lease, int32(e.Index)
		results[i], contentTypes[i], versions[i] = e.Result, storedType(e.ContentType), orNil(int32(e.Version))
		keep[i], started[i], resultKeep[i] = e.Keep.Milliseconds(), e.Started.Microseconds(), e.resultKeep().Milliseconds()
	}
	rows, err := q.Query(ctx, s.schema.sql(endSucceededSQL), shard, pgID(worker), leases, bits, pgIDs(of), ix, results, contentTypes, versions, keep, started, resultKeep)
	if err != nil {
		return nil, err
	}
	return scanVerdicts(rows)
}

func (s *Store) endAny(ctx context.Context, q querier, shard int16, worker ID, endings []*Ending) ([]Verdict, error) {
	endings, leases, bits := masks(endings)
	n := len(endings)
	of, ix := make([]ID, n), make([]int32, n)
	actions, status, dead, reasons, outcomes := make([]int16, n), make([]int16, n), make([]int16, n), make([]int16, n), make([]int16, n)
	results, contentTypes, versions := make([][]byte, n), make([]*string, n), make([]*int32, n)
	classes, messages, deciders := make([]*string, n), make([]*string, n), make([]*string, n)
	keep, resultKeep, delay, failKeep, ended := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	started, giveBack := make([]int64, n), make([]bool, n)
	extras, attempts, events, ages := make([]*string, n), make([]*string, n), make([]*string, n), make([]*int64, n)
	for i, e := range endings {
		of[i], ix[i] = e.Lease, int32(e.Index)
		actions[i], status[i], dead[i], reasons[i] = int16(e.Action), int16(e.Status), e.DeadReason, int16(e.Reason)
		results[i], contentTypes[i], versions[i] = e.Result, storedType(e.ContentType), orNil(int32(e.Version))
		classes[i], messages[i], deciders[i] = orNil(e.ErrorClass), orNil(e.Message), orNil(e.DecidedBy)
		keep[i], delay[i], failKeep[i], ended[i] = e.Keep.Milliseconds(), e.Delay.Milliseconds(), e.FailKeep.Milliseconds(), e.Ended.Microseconds()
		resultKeep[i] = e.resultKeep().Milliseconds()
		started[i], giveBack[i] = e.Started.Microseconds(), e.GiveBack
		ages[i] = orNil(e.MaxAge.Milliseconds())
		var err error
		if len(e.Events) > 0 {
			if events[i], err = jsonText(e.Events); err != nil {
				return nil, err
			}
		}
		if e.Extra != nil {
			if extras[i], err = jsonText(e.Extra); err != nil {
				return nil, err
			}
		}
		if e.Attempt != nil {
			outcomes[i] = int16(e.Attempt.Outcome)
			if attempts[i], err = jsonText(e.Attempt.columns()); err != nil {
				return nil, err
			}
		}
	}
	rows, err := q.Query(ctx, s.schema.sql(endAnySQL), shard, pgID(worker), leases, bits, pgIDs(of), ix, actions, status, dead, results, contentTypes,
		classes, messages, deciders, versions, keep, delay, reasons, giveBack, failKeep, extras, started, ended, outcomes, attempts, resultKeep, ages, events)
	if err != nil {
		return nil, err
	}
	return scanVerdicts(rows)
}

func scanVerdicts(rows pgx.Rows) ([]Verdict, error) {
	var out []Verdict
	var lease pgtype.UUID
	var v Verdict
	_, err := pgx.ForEachRow(rows, []any{&lease, &v.Index, (*int16)(&v.Status)}, func() error {
		v.Lease = lease.Bytes
		out = append(out, v)
		return nil
	})
	return out, err
}

func storedType(contentType string) *string {
	if contentType == "application/json" {
		return nil
	}
	return orNil(contentType)
}

// columns is the row as endAny's statement takes it apart.
func (a *AttemptRow) columns() any {
	row := struct {
		HTTP      int             `json:"http,omitempty"`
		Exit      *int64          `json:"exit,omitempty"`
		Delay     *int64          `json:"delay,omitempty"`
		Fuel      int64           `json:"fuel,omitempty"`
		Memory    int64           `json:"memory,omitempty"`
		Inline    int             `json:"inline,omitempty"`
		TimedOut  bool            `json:"timed_out,omitempty"`
		PreActor  bool            `json:"pre_actor,omitempty"`
		Kind      string          `json:"kind,omitempty"`
		By        string          `json:"by,omitempty"`
		Class     string          `json:"class,omitempty"`
		Ancestors []string        `json:"ancestors,omitempty"`
		Message   string          `json:"message,omitempty"`
		Stack     string          `json:"stack,omitempty"`
		Trap      string          `json:"trap,omitempty"`
		Origin    string          `json:"origin,omitempty"`
		Record    string          `json:"record,omitempty"`
		Policy    json.RawMessage `json:"policy,omitempty"`
		Digest    string          `json:"digest,omitempty"`
	}{
		a.HTTPStatus, a.ExitCode, a.DelayMS, a.Fuel, a.PeakMemory, a.Inline, a.TimedOut, a.PreActor, a.RetryKind, a.DecidedBy, a.ErrorClass, a.Ancestors,
		a.Message, a.Stack, a.Trap, a.Origin, a.Record, a.Policy, hex.EncodeToString(a.Digest),
	}
	return row
}
