package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Attempt is one execution that has ended, as it was recorded.
type Attempt struct {
	Attempt    int             `json:"attempt"`
	Epoch      int64           `json:"epoch"`
	Outcome    AttemptOutcome  `json:"outcome"`
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt time.Time       `json:"finished_at"`
	DecidedBy  string          `json:"decided_by,omitempty"`
	RetryKind  string          `json:"retry_kind,omitempty"`
	DelayMS    *int64          `json:"delay_ms,omitempty"`
	ErrorClass string          `json:"error_class,omitempty"`
	Ancestors  []string        `json:"ancestors,omitempty"`
	Message    string          `json:"message,omitempty"`
	Stack      string          `json:"stack,omitempty"`
	Trap       string          `json:"trap,omitempty"`
	Origin     string          `json:"origin,omitempty"`
	HTTPStatus int             `json:"http_status,omitempty"`
	ExitCode   *int64          `json:"exit_code,omitempty"`
	TimedOut   bool            `json:"timed_out,omitempty"`
	PreActor   bool            `json:"pre_actor,omitempty"`
	Record     json.RawMessage `json:"record,omitempty"`
	Policy     json.RawMessage `json:"policy,omitempty"`
	Digest     string          `json:"digest,omitempty"` // of the module, hex
	Version    int             `json:"version,omitempty"`
	Fuel       int64           `json:"fuel,omitempty"`
	PeakMemory int64           `json:"peak_memory,omitempty"` // bytes
	Inline     int             `json:"inline,omitempty"`      // quick repetitions that it had
}

const attemptsSQL = `
SELECT attempt, claim_epoch, outcome, started_at, finished_at, coalesce(decided_by, ''), coalesce(retry_kind, ''), delay_ms, coalesce(error_class, ''), ancestors,
       coalesce(message, ''), coalesce(stack, ''), coalesce(trap, ''), coalesce(origin, ''), coalesce(http_status, 0), exit_code, timed_out, pre_actor, record, policy, digest,
       coalesce(version, 0), coalesce(fuel, 0), coalesce(peak_memory, 0), coalesce(inline, 0)
FROM taskq.attempts WHERE shard = $1 AND tenant_id = $2 AND job_id = $3
UNION ALL
SELECT attempt, claim_epoch, 6, started_at, finished_at, coalesce(decided_by, 'guest'), '', NULL, '', NULL, '', '', '', '', 0, NULL, false, false, NULL, NULL, NULL, coalesce(version, 0), 0, 0, coalesce((extra ->> 'inline')::int, 0)
FROM taskq.finished WHERE shard = $1 AND tenant_id = $2 AND job_id = $3 AND status = 10
ORDER BY 2`

// Attempts lists the attempts of a job that have ended, oldest first.
func (s *Store) Attempts(ctx context.Context, tenant Tenant, id ID) ([]Attempt, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(attemptsSQL), tenant.Shard, tenant.ID, pgID(id))
	if err != nil {
		return nil, fmt.Errorf("attempts of %s: %w", id, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Attempt, error) {
		var a Attempt
		var record *string
		var digest []byte
		err := row.Scan(&a.Attempt, &a.Epoch, (*int16)(&a.Outcome), &a.StartedAt, &a.FinishedAt, &a.DecidedBy, &a.RetryKind, &a.DelayMS, &a.ErrorClass, &a.Ancestors,
			&a.Message, &a.Stack, &a.Trap, &a.Origin, &a.HTTPStatus, &a.ExitCode, &a.TimedOut, &a.PreActor, &record, &a.Policy, &digest, &a.Version, &a.Fuel, &a.PeakMemory, &a.Inline)
		if record != nil && json.Valid([]byte(*record)) {
			a.Record = json.RawMessage(*record)
		}
		a.Digest = hex.EncodeToString(digest)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("attempts of %s: %w", id, err)
	}
	return out, nil
}

// Event is something that happened to a job and isn't an attempt.
type Event struct {
	At    time.Time       `json:"at"`
	Event string          `json:"event"`
	Facts json.RawMessage `json:"facts,omitempty"`
}

// Events lists a job's events, oldest first.
func (s *Store) Events(ctx context.Context, tenant Tenant, id ID) ([]Event, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql("SELECT at, event, facts FROM taskq.events WHERE shard = $1 AND tenant_id = $2 AND job_id = $3 ORDER BY at"), tenant.Shard, tenant.ID, pgID(id))
	if err != nil {
		return nil, fmt.Errorf("events of %s: %w", id, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("events of %s: %w", id, err)
	}
	return out, nil
}
