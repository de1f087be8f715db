package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Actor is a name that jobs are sent to, with the version that runs now.
type Actor struct {
	Name      string
	Version   int // the current one
	Digest    []byte
	Size      int // of the module, bytes
	Report    json.RawMessage
	Manifest  json.RawMessage
	CreatedAt time.Time // of the version
}

// PutActor stores a module under an actor's name as its next version, and makes
// that the current one. The same bytes as the current version's make no new
// version. The module and the version are stored together or not at all.
func (s *Store) PutActor(ctx context.Context, tenant Tenant, name string, digest, wasm []byte, report, manifest json.RawMessage) (*Actor, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.schema.sql("INSERT INTO taskq.modules (digest, wasm, report) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE SET report = excluded.report"), digest, wasm, report)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.schema.sql("INSERT INTO taskq.actors (tenant_id, actor, current) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING"), tenant.ID, name)
		if err != nil {
			return err
		}
		// The row lock makes two pushes of one actor take turns.
		var current int
		var same bool
		err = tx.QueryRow(ctx, s.schema.sql(`SELECT a.current, EXISTS (SELECT FROM taskq.actor_versions v WHERE v.tenant_id = a.tenant_id AND v.actor = a.actor AND v.version = a.current AND v.digest = $3)
			FROM taskq.actors a WHERE a.tenant_id = $1 AND a.actor = $2 FOR UPDATE`), tenant.ID, name, digest).Scan(&current, &same)
		if err != nil || same {
			return err
		}
		_, err = tx.Exec(ctx, s.schema.sql(`WITH v AS (
				INSERT INTO taskq.actor_versions (tenant_id, actor, version, digest, manifest)
				SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4 FROM taskq.actor_versions WHERE tenant_id = $1 AND actor = $2 RETURNING version)
			UPDATE taskq.actors a SET current = v.version, updated_at = clock_timestamp() FROM v WHERE a.tenant_id = $1 AND a.actor = $2`), tenant.ID, name, digest, manifest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store actor %s: %w", name, err)
	}
	return s.Actor(ctx, tenant, name)
}

const actorsSQL = `
SELECT v.actor, v.version, v.digest, length(m.wasm), m.report, v.manifest, v.created_at
FROM taskq.actors a JOIN taskq.actor_versions v ON v.tenant_id = a.tenant_id AND v.actor = a.actor AND v.version = a.current
JOIN taskq.modules m USING (digest) WHERE a.tenant_id = $1`

// Actor finds an actor's current version; [ErrNotFound] if the tenant has no such actor.
func (s *Store) Actor(ctx context.Context, tenant Tenant, name string) (*Actor, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(actorsSQL+" AND a.actor = $2"), tenant.ID, name)
	if err != nil {
		return nil, fmt.Errorf("actor %q: %w", name, err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[Actor])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("actor %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("actor %q: %w", name, err)
	}
	return a, nil
}

// Actors lists a tenant's actors by name.
func (s *Store) Actors(ctx context.Context, tenant Tenant) ([]Actor, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(actorsSQL+" ORDER BY a.actor"), tenant.ID)
	if err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Actor])
	if err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	return out, nil
}

// ModuleBytes fetches a module by its digest.
func (s *Store) ModuleBytes(ctx context.Context, digest []byte) (wasm []byte, err error) {
	err = s.pool.QueryRow(ctx, s.schema.sql("SELECT wasm FROM taskq.modules WHERE digest = $1"), digest).Scan(&wasm)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("module %x: %w", digest, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("module %x: %w", digest, err)
	}
	return wasm, nil
}

// DeleteActor removes an actor with all its versions, and modules that nobody
// names any more. Its queued jobs end as unroutable when they are claimed.
func (s *Store) DeleteActor(ctx context.Context, tenant Tenant, name string) error {
	var found bool
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.schema.sql("DELETE FROM taskq.actors WHERE tenant_id = $1 AND actor = $2"), tenant.ID, name)
		if err != nil {
			return err
		}
		found = tag.RowsAffected() > 0
		_, err = tx.Exec(ctx, s.schema.sql("DELETE FROM taskq.modules m WHERE NOT EXISTS (SELECT FROM taskq.actor_versions v WHERE v.digest = m.digest)"))
		return err
	})
	if err != nil {
		return fmt.Errorf("delete actor %s: %w", name, err)
	}
	if !found {
		return fmt.Errorf("actor %q: %w", name, ErrNotFound)
	}
	return nil
}
