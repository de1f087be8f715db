package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tx is a transaction that a caller lends.
type Tx = pgx.Tx

// Tenant is whose things they are.
type Tenant struct {
	ID    int32
	Shard int16
	Name  string
}

// DefaultTenant is the name of the tenant that every database has.
const DefaultTenant = "default"

// DefaultQueue is where jobs go that name none.
const DefaultQueue = "default"

// Tenant finds a tenant by its name; [ErrNotFound] if there is none.
func (s *Store) Tenant(ctx context.Context, name string) (Tenant, error) {
	s.mu.RLock()
	t, ok := s.tenants[name]
	s.mu.RUnlock()
	if ok {
		return t, nil
	}
	t = Tenant{Name: name}
	err := s.pool.QueryRow(ctx, s.schema.sql("SELECT tenant_id, shard FROM taskq.tenants WHERE name = $1"), name).Scan(&t.ID, &t.Shard)
	if errors.Is(err, pgx.ErrNoRows) {
		return Tenant{}, fmt.Errorf("tenant %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant %q: %w", name, err)
	}
	s.mu.Lock()
	s.tenants[name] = t
	s.mu.Unlock()
	return t, nil
}

// TenantName finds the name of a tenant's number.
func (s *Store) TenantName(ctx context.Context, id int32) (string, error) {
	s.mu.RLock()
	for _, t := range s.tenants {
		if t.ID == id {
			s.mu.RUnlock()
			return t.Name, nil
		}
	}
	s.mu.RUnlock()
	var name string
	if err := s.pool.QueryRow(ctx, s.schema.sql("SELECT name FROM taskq.tenants WHERE tenant_id = $1"), id).Scan(&name); err != nil {
		return "", fmt.Errorf("tenant %d: %w", id, err)
	}
	_, err := s.Tenant(ctx, name)
	return name, err
}

// QueueID finds a queue's number, and makes the queue if it is new. Numbers
// are given out under a lock, so a name that lost a race burns none.
func (s *Store) QueueID(ctx context.Context, name string) (int32, error) {
	s.mu.RLock()
	id, ok := s.queues[name]
	s.mu.RUnlock()
	if ok {
		return id, nil
	}
	err := s.pool.QueryRow(ctx, s.schema.sql("SELECT queue_id FROM taskq.queues WHERE name = $1"), name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		id, err = s.makeQueue(ctx, name)
	}
	if err != nil {
		return 0, fmt.Errorf("queue %q: %w", name, err)
	}
	s.rememberQueue(id, name)
	return id, nil
}

func (s *Store) rememberQueue(id int32, name string) {
	s.mu.Lock()
	s.queues[name], s.queueID[id] = id, name
	s.mu.Unlock()
}

func (s *Store) makeQueue(ctx context.Context, name string) (id int32, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.schema.sql("LOCK TABLE taskq.queues IN SHARE ROW EXCLUSIVE MODE")); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, s.schema.sql("SELECT queue_id FROM taskq.queues WHERE name = $1"), name).Scan(&id)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return tx.QueryRow(ctx, s.schema.sql("INSERT INTO taskq.queues (queue_id, name) SELECT coalesce(max(queue_id), 0) + 1, $1 FROM taskq.queues RETURNING queue_id"), name).Scan(&id)
	})
	return id, err
}

// QueueName finds the name of a queue's number.
func (s *Store) QueueName(ctx context.Context, id int32) (string, error) {
	s.mu.RLock()
	name, ok := s.queueID[id]
	s.mu.RUnlock()
	if ok {
		return name, nil
	}
	if err := s.pool.QueryRow(ctx, s.schema.sql("SELECT name FROM taskq.queues WHERE queue_id = $1"), id).Scan(&name); err != nil {
		return "", fmt.Errorf("queue %d: %w", id, err)
	}
	s.rememberQueue(id, name)
	return name, nil
}

// A loose index scan over the first two columns of the ready key: one seek a
// queue that has work, whatever its depth.
const busyQueuesSQL = `
WITH RECURSIVE q(queue_id) AS (
    (SELECT queue_id FROM taskq.ready WHERE shard = $1 ORDER BY shard, queue_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.queue_id FROM taskq.ready r WHERE r.shard = $1 AND r.queue_id > q.queue_id ORDER BY r.shard, r.queue_id LIMIT 1)
    FROM q WHERE q.queue_id IS NOT NULL
)
SELECT q.queue_id, n.name FROM q JOIN taskq.queues n USING (queue_id)`

// BusyQueues lists the queues of a shard that have work due.
func (s *Store) BusyQueues(ctx context.Context, shard int16) ([]string, error) {
	rows, err := s.hot.Query(ctx, s.schema.sql(busyQueuesSQL), shard)
	if err != nil {
		return nil, fmt.Errorf("busy queues: %w", err)
	}
	var names []string
	var id int32
	var name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		names = append(names, name)
		s.rememberQueue(id, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("busy queues: %w", err)
	}
	return names, nil
}
