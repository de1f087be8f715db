package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Actor is a name that jobs are sent to, or that classifier chains refer to,
// with the version that runs now.
type Actor struct {
	Name      string
	Version   int // the current one
	Digest    []byte
	Size      int // of the module, bytes
	Report    json.RawMessage
	Manifest  json.RawMessage
	CreatedAt time.Time // of the version
}

// Platform owns the classifiers that every tenant may use as shared/name. It
// has no jobs and is no tenant.
var Platform = Tenant{Name: "shared"}

// Shelf is one of the places that modules have names on.
type Shelf string

// The shelves. A name on one says nothing of the other.
const (
	Actors      Shelf = "actor"
	Classifiers Shelf = "classifier"
)

// sql fills the shelf's name into a statement.
func (k Shelf) sql(written string) string { return shelved[k][written] }

// shelved are the statements of each shelf: the same text each time, so that
// pgx finds its prepared statement.
var shelved = func() map[Shelf]map[string]string {
	out := map[Shelf]map[string]string{}
	for _, k := range []Shelf{Actors, Classifiers} {
		out[k] = map[string]string{}
		for _, written := range []string{nameSQL, currentSQL, versionSQL, modulesSQL, moduleSQL, modulesByNameSQL, deleteSQL} {
			out[k][written] = strings.ReplaceAll(written, "{shelf}", string(k))
		}
	}
	return out
}()

const nameSQL = "INSERT INTO taskq.{shelf}s (tenant_id, {shelf}, current) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING"

// The row lock makes two pushes of one name take turns.
const currentSQL = `SELECT a.current, EXISTS (SELECT FROM taskq.{shelf}_versions v WHERE v.tenant_id = a.tenant_id AND v.{shelf} = a.{shelf} AND v.version = a.current AND v.digest = $3)
FROM taskq.{shelf}s a WHERE a.tenant_id = $1 AND a.{shelf} = $2 FOR UPDATE`

const versionSQL = `WITH v AS (
	INSERT INTO taskq.{shelf}_versions (tenant_id, {shelf}, version, digest, manifest)
	SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4 FROM taskq.{shelf}_versions WHERE tenant_id = $1 AND {shelf} = $2 RETURNING version)
UPDATE taskq.{shelf}s a SET current = v.version, updated_at = clock_timestamp() FROM v WHERE a.tenant_id = $1 AND a.{shelf} = $2`

const modulesSQL = `
SELECT v.{shelf}, v.version, v.digest, length(m.wasm), m.report, v.manifest, v.created_at
FROM taskq.{shelf}s a JOIN taskq.{shelf}_versions v ON v.tenant_id = a.tenant_id AND v.{shelf} = a.{shelf} AND v.version = a.current
JOIN taskq.modules m USING (digest) WHERE a.tenant_id = $1`

const (
	moduleSQL        = modulesSQL + " AND a.{shelf} = $2"
	modulesByNameSQL = modulesSQL + " ORDER BY a.{shelf}"
	deleteSQL        = "DELETE FROM taskq.{shelf}s WHERE tenant_id = $1 AND {shelf} = $2"
)

const sweepModulesSQL = `DELETE FROM taskq.modules m WHERE NOT EXISTS (SELECT FROM taskq.actor_versions v WHERE v.digest = m.digest)
AND NOT EXISTS (SELECT FROM taskq.classifier_versions v WHERE v.digest = m.digest)`

// PutActor is [Store.PutModule] on the shelf of actors.
func (s *Store) PutActor(ctx context.Context, tenant Tenant, name string, digest, wasm []byte, report, manifest json.RawMessage) (*Actor, error) {
	return s.PutModule(ctx, Actors, tenant, name, digest, wasm, report, manifest)
}

// PutModule stores a module under a name as its next version, and makes that
// the current one. The same bytes as the current version's make no new
// version. The module and the version are stored together or not at all.
func (s *Store) PutModule(ctx context.Context, shelf Shelf, tenant Tenant, name string, digest, wasm []byte, report, manifest json.RawMessage) (*Actor, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.schema.sql("INSERT INTO taskq.modules (digest, wasm, report) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE SET report = excluded.report"), digest, wasm, report)
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, s.schema.sql(shelf.sql(nameSQL)), tenant.ID, name); err != nil {
			return err
		}
		var current int
		var same bool
		err = tx.QueryRow(ctx, s.schema.sql(shelf.sql(currentSQL)), tenant.ID, name, digest).Scan(&current, &same)
		if err != nil || same {
			return err
		}
		_, err = tx.Exec(ctx, s.schema.sql(shelf.sql(versionSQL)), tenant.ID, name, digest, manifest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store %s %s: %w", shelf, name, err)
	}
	return s.Module(ctx, shelf, tenant, name)
}

// Actor is [Store.Module] on the shelf of actors.
func (s *Store) Actor(ctx context.Context, tenant Tenant, name string) (*Actor, error) {
	return s.Module(ctx, Actors, tenant, name)
}

// Module finds a name's current version; [ErrNotFound] if the tenant has no such name.
func (s *Store) Module(ctx context.Context, shelf Shelf, tenant Tenant, name string) (*Actor, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(shelf.sql(moduleSQL)), tenant.ID, name)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", shelf, name, err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[Actor])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%s %q: %w", shelf, name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", shelf, name, err)
	}
	return a, nil
}

// Actors lists a tenant's actors by name.
func (s *Store) Actors(ctx context.Context, tenant Tenant) ([]Actor, error) {
	return s.Modules(ctx, Actors, tenant)
}

// Modules lists what a tenant has on a shelf, by name.
func (s *Store) Modules(ctx context.Context, shelf Shelf, tenant Tenant) ([]Actor, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(shelf.sql(modulesByNameSQL)), tenant.ID)
	if err != nil {
		return nil, fmt.Errorf("%ss: %w", shelf, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Actor])
	if err != nil {
		return nil, fmt.Errorf("%ss: %w", shelf, err)
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
	return s.DeleteModule(ctx, Actors, tenant, name)
}

// DeleteModule removes a name with all its versions, and modules that nobody
// names any more; [ErrNotFound] if the tenant has no such name.
func (s *Store) DeleteModule(ctx context.Context, shelf Shelf, tenant Tenant, name string) error {
	var found bool
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.schema.sql(shelf.sql(deleteSQL)), tenant.ID, name)
		if err != nil {
			return err
		}
		found = tag.RowsAffected() > 0
		_, err = tx.Exec(ctx, s.schema.sql(sweepModulesSQL))
		return err
	})
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", shelf, name, err)
	}
	if !found {
		return fmt.Errorf("%s %q: %w", shelf, name, ErrNotFound)
	}
	return nil
}
