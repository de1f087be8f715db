package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Worker is a process that claims. Its id is random per boot, so a restarted
// one never answers for its predecessor's leases.
type Worker struct {
	ID          ID
	Name        string // for people
	Version     string
	Concurrency int
	Queues      []string
}

// ErrWorkerLost means that the worker's lease was over before the heartbeat
// came: everything that it had claimed is somebody else's.
var ErrWorkerLost = errors.New("the worker's lease is over")

const registerSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now)
INSERT INTO taskq.workers (worker_id, name, version, concurrency, queues, started_at, heartbeat_at, expires_at)
SELECT $1, $2, $3, $4, $5, now, now, now + $6 * interval '1 millisecond' FROM t`

// Register makes the worker known, with a first lease.
func (s *Store) Register(ctx context.Context, w Worker, lease time.Duration) error {
	_, err := s.beat.Exec(ctx, s.schema.sql(registerSQL), pgID(w.ID), w.Name, w.Version, w.Concurrency, w.Queues, lease.Milliseconds())
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	return nil
}

// One row is written, however many leases the worker has. A worker whose lease
// is over can't come back: the sweep may already hold its row.
const heartbeatSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now)
UPDATE taskq.workers w SET heartbeat_at = t.now, expires_at = t.now + $2 * interval '1 millisecond', draining = $3
FROM t WHERE w.worker_id = $1 AND w.expires_at > t.now`

const leasesOfSQL = `
SELECT lease_id, queue_id, jobs, epochs, cancel, ended FROM taskq.leases WHERE shard = $1 AND worker_id = $2`

// HeldLease is a lease as the database has it.
type HeldLease struct {
	ID      ID
	Members []HeldMember // that haven't ended
}

// HeldMember is a member of a [HeldLease].
type HeldMember struct {
	Index     int
	Job       ID
	Epoch     int64
	Cancelled bool // somebody asked to cancel it
}

// Heartbeat prolongs every lease of the worker and answers those that it
// holds: one that it doesn't know and whose claim call is over came from a
// lost reply and is to be released. [ErrWorkerLost] if it came too late.
func (s *Store) Heartbeat(ctx context.Context, shard int16, worker ID, lease time.Duration, draining bool) ([]HeldLease, error) {
	var held []HeldLease
	// In the order sent: the leases are read after the worker's row was
	// prolonged, in one round trip.
	batch := &pgx.Batch{}
	batch.Queue(s.schema.sql(heartbeatSQL), pgID(worker), lease.Milliseconds(), draining)
	batch.Queue(s.schema.sql(leasesOfSQL), shard, pgID(worker))
	res := s.beat.SendBatch(ctx, batch)
	defer func() { _ = res.Close() }()
	tag, err := res.Exec()
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	rows, err := res.Query()
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	held, err = scanLeases(rows)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil, ErrWorkerLost
	}
	return held, nil
}

func scanLeases(rows pgx.Rows) ([]HeldLease, error) {
	var out []HeldLease
	var id pgtype.UUID
	var queue int32
	var jobs pgtype.FlatArray[pgtype.UUID]
	var epochs []int64
	var cancel, ended pgtype.Bits
	_, err := pgx.ForEachRow(rows, []any{&id, &queue, &jobs, &epochs, &cancel, &ended}, func() error {
		l := HeldLease{ID: id.Bytes}
		for i, job := range jobs {
			if !bit(ended, i) {
				l.Members = append(l.Members, HeldMember{Index: i + 1, Job: job.Bytes, Epoch: epochs[i], Cancelled: bit(cancel, i)})
			}
		}
		out = append(out, l)
		return nil
	})
	return out, err
}

func bit(b pgtype.Bits, i int) bool { return b.Bytes[i/8]&(0x80>>(i%8)) != 0 }

const forgetSQL = `
DELETE FROM taskq.workers w WHERE w.worker_id = $1
AND NOT EXISTS (SELECT FROM taskq.leases l WHERE l.shard = $2 AND l.worker_id = w.worker_id)`

// Forget removes a worker that has stopped, unless a lease is still its own:
// then the sweep finds both.
func (s *Store) Forget(ctx context.Context, shard int16, worker ID) error {
	if _, err := s.pool.Exec(ctx, s.schema.sql(forgetSQL), pgID(worker), shard); err != nil {
		return fmt.Errorf("forget worker: %w", err)
	}
	return nil
}

// WorkerRow is a worker as the database knows it.
type WorkerRow struct {
	ID          ID        `json:"id"`
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	Draining    bool      `json:"draining"`
}

// Workers lists the workers that are registered, oldest first.
func (s *Store) Workers(ctx context.Context) ([]WorkerRow, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(`SELECT worker_id, name, version, concurrency, queues, started_at, heartbeat_at, expires_at, draining
		FROM taskq.workers ORDER BY started_at`))
	if err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	var out []WorkerRow
	var id pgtype.UUID
	var w WorkerRow
	_, err = pgx.ForEachRow(rows, []any{&id, &w.Name, &w.Version, &w.Concurrency, &w.Queues, &w.StartedAt, &w.HeartbeatAt, &w.ExpiresAt, &w.Draining}, func() error {
		w.ID = id.Bytes
		out = append(out, w)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	return out, nil
}
