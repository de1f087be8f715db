package store

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the schema, forward only.
type Migration struct {
	Version  int
	Name     string
	SQL      string // with the schema's name in it
	checksum string // of the file as shipped, whatever the schema's name
}

// Migrations lists every step of this release for a schema of that name.
func Migrations(schema string) ([]Migration, error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	out := make([]Migration, 0, len(files))
	for _, file := range files { // Glob sorts
		body, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		number, name, ok := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("migration %s: the name must begin with a number and _", file)
		}
		sum := sha256.Sum256(body)
		out = append(out, Migration{Version: version, Name: name, SQL: qualify(schema, string(body)), checksum: hex.EncodeToString(sum[:])})
	}
	return out, nil
}

const createMigrationsSQL = `CREATE TABLE IF NOT EXISTS taskq.migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

// DumpSQL gives everything that Migrate would run on an empty database, for
// those who must apply it themselves.
func DumpSQL(schema string) (string, error) {
	steps, err := Migrations(schema)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "BEGIN;\nCREATE SCHEMA IF NOT EXISTS %s;\n%s;\n", schema, qualify(schema, createMigrationsSQL))
	for _, m := range steps {
		fmt.Fprintf(&b, "\n-- %04d %s\n%s\nINSERT INTO %s.migrations (version, name, checksum) VALUES (%d, '%s', '%s');\n",
			m.Version, m.Name, m.SQL, schema, m.Version, m.Name, m.checksum)
	}
	b.WriteString("COMMIT;\n")
	return b.String(), nil
}

// Migrate applies what is missing, all of it in one transaction and one
// migrator at a time, and says what it applied. A step that was applied and
// whose text has changed since is an error: then nothing is applied.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) {
	var done []Migration
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// The lock ends with the transaction, so that it also works behind a
		// pooler; CREATE … IF NOT EXISTS alone races.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.schema.name+".migrations"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = '10min'; SET LOCAL client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS "+s.schema.name+"; "+s.schema.sql(createMigrationsSQL)); err != nil {
			return err
		}
		missing, err := s.missing(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range missing {
			if _, err := tx.Exec(ctx, m.SQL); err != nil {
				return fmt.Errorf("migration %04d %s: %w", m.Version, m.Name, err)
			}
			if _, err := tx.Exec(ctx, s.schema.sql("INSERT INTO taskq.migrations (version, name, checksum) VALUES ($1, $2, $3)"), m.Version, m.Name, m.checksum); err != nil {
				return err
			}
		}
		done = missing
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return done, nil
}

// Missing lists the steps that the database doesn't have yet.
func (s *Store) Missing(ctx context.Context) ([]Migration, error) {
	missing, err := s.missing(ctx, s.pool)
	if state := sqlState(err); state == "42P01" || state == "3F000" { // no such table or schema
		return Migrations(s.schema.name)
	}
	return missing, err
}

// Ready returns [ErrNoSchema] if a migration is missing.
func (s *Store) Ready(ctx context.Context) error {
	missing, err := s.Missing(ctx)
	if err == nil && len(missing) > 0 {
		err = ErrNoSchema
	}
	return err
}

func (s *Store) missing(ctx context.Context, q querier) ([]Migration, error) {
	steps, err := Migrations(s.schema.name)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, s.schema.sql("SELECT version, checksum FROM taskq.migrations"))
	if err != nil {
		return nil, err
	}
	applied := map[int]string{}
	var version int
	var checksum string
	_, err = pgx.ForEachRow(rows, []any{&version, &checksum}, func() error {
		applied[version] = checksum
		return nil
	})
	if err != nil {
		return nil, err
	}
	var missing []Migration
	for _, m := range steps {
		sum, ok := applied[m.Version]
		delete(applied, m.Version)
		switch {
		case !ok:
			missing = append(missing, m)
		case sum != m.checksum:
			return nil, fmt.Errorf("migration %04d %s was applied with another text: this isn't the release that made the schema", m.Version, m.Name)
		}
	}
	if len(applied) > 0 {
		return nil, errors.New("the database has migrations that this release doesn't know: it is too old for this schema")
	}
	return missing, nil
}
