package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg"
	"github.com/taskq-host/taskq-host/store"
)

// embeddedDatabase is the database of the embedded server that holds jobs.
const embeddedDatabase = "taskq"

// database is an open store and what it stands on.
type database struct {
	*store.Store
	embedded *embedpg.Server // nil where a database.url is configured
}

func addEmbeddedFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("data-dir", "", "`folder` of the embedded Postgres (TASKQ_PG_DIR; default: below the user's data folder, /var/lib/taskq-host for root)")
	f.String("postgres-bin", "", "`folder` with initdb and postgres (TASKQ_PG_BIN; default: the newest that is found)")
}

func embeddedOptions(cmd *cobra.Command, log hclog.Logger) embedpg.Options {
	return embedpg.Options{
		Dir:    flagOrEnv(cmd, "data-dir", embedpg.EnvDir),
		BinDir: flagOrEnv(cmd, "postgres-bin", embedpg.EnvBinDir),
		Log:    log.Named("postgres"),
	}
}

// openDatabase opens the configured database, or starts or joins the embedded
// server where none is. The caller must close it.
func openDatabase(ctx context.Context, cmd *cobra.Command, cfg config.Database, log hclog.Logger) (*database, error) {
	if cfg.URL != "" {
		s, err := store.Open(ctx, storeOptions(cfg, cfg.URL, log))
		if err != nil {
			return nil, databaseError(err)
		}
		return &database{Store: s}, nil
	}
	server, err := embedpg.Start(ctx, embeddedOptions(cmd, log))
	if err != nil {
		return nil, embeddedError(err)
	}
	s, err := openEmbedded(ctx, server, cfg, log)
	if err != nil {
		return nil, errors.Join(databaseError(err), server.Close())
	}
	return &database{Store: s, embedded: server}, nil
}

func openEmbedded(ctx context.Context, server *embedpg.Server, cfg config.Database, log hclog.Logger) (*store.Store, error) {
	if err := ensureDatabase(ctx, server, embeddedDatabase); err != nil {
		return nil, err
	}
	return store.Open(ctx, storeOptions(cfg, server.DSN(embeddedDatabase), log))
}

func storeOptions(cfg config.Database, url string, log hclog.Logger) store.Options {
	return store.Options{
		URL: url, Schema: cfg.Schema, MaxConns: int32(cfg.MaxConns), //nolint:gosec // the schema of the configuration bounds it
		PasswordFile: cfg.PasswordFile, Log: log,
	}
}

// ensureDatabase makes a database of the embedded server unless it is there.
// Two processes may do it at once: the second one finds it there.
func ensureDatabase(ctx context.Context, server *embedpg.Server, name string) error {
	conn, err := connectAs(ctx, server.DSN("postgres"), "")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is left to lose
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if state := sqlState(err); state == "42P04" || state == "23505" { // made by somebody else meanwhile
		return nil
	}
	return err
}

// connectAs opens one connection; the password may come from a file, as the
// store's own connections' does. Notices stay on the server.
func connectAs(ctx context.Context, url, passwordFile string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database.url: %w", err)
	}
	if passwordFile != "" {
		b, err := os.ReadFile(passwordFile)
		if err != nil {
			return nil, fmt.Errorf("database.password_file: %w", err)
		}
		cfg.Password = strings.TrimRight(string(b), "\r\n")
	}
	return pgx.ConnectConfig(ctx, cfg)
}

func (d *database) close() error {
	d.Close()
	if d.embedded == nil {
		return nil
	}
	return d.embedded.Close()
}

// watch keeps the embedded server running until ctx ends.
func (d *database) watch(ctx context.Context, log hclog.Logger) {
	if d.embedded == nil {
		return
	}
	d.embedded.Watch(ctx, time.Second, func(s embedpg.Status, err error) {
		if err != nil {
			log.Error("the embedded postgres is down", "error", err)
			return
		}
		log.Warn("the embedded postgres was started anew", "pid", s.Postmaster, "last_exit", s.LastExit)
	})
}

// requireWritable refuses a server that only answers questions, such as a
// standby.
func (d *database) requireWritable(ctx context.Context, what string) (store.Health, error) {
	h, err := d.Check(ctx)
	if err != nil {
		return h, failed(what, err)
	}
	if h.ReadOnly {
		return h, failedf(what, "the database (Postgres %s) is read-only; connect to the primary", h.Version)
	}
	return h, nil
}

// requireMigrated refuses a schema that isn't this release's.
func (d *database) requireMigrated(ctx context.Context, what string) error {
	h, err := d.requireWritable(ctx, what)
	if err == nil && !h.Migrated {
		err = failedf(what, "schema %s isn't there or isn't up to date; type: taskq-host migrate", d.Schema())
	}
	return err
}

// migrate makes or updates the schema and says what it applied.
func (d *database) migrate(ctx context.Context, what string) ([]store.Migration, error) {
	if _, err := d.requireWritable(ctx, what); err != nil {
		return nil, err
	}
	done, err := d.Migrate(ctx)
	if err != nil {
		return nil, failed("", err) // which says that it migrates
	}
	return done, nil
}

// databaseError gives an error of connecting its exit code.
func databaseError(err error) error {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return failed("", err)
	}
	code := sqlState(err)
	err = eachOnce{err}
	switch code {
	case "28P01", "28000", "42501": // wrong password, no such role, no privilege
		return &failure{exitNoAccess, "", err}
	case "3D000":
		return &failure{exitNotFound, "", err}
	}
	return &failure{exitUnreachable, "", err}
}

// eachOnce tells an error's lines once. A connection is tried with TLS and
// without, and for each address, and mostly fails in the same words.
type eachOnce struct{ error }

func (e eachOnce) Error() string {
	var told []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	return strings.Join(told, " ")
}

func (e eachOnce) Unwrap() error { return e.error }

func embeddedError(err error) error {
	var missing *embedpg.MissingError
	if errors.As(err, &missing) {
		return failed("database", fmt.Errorf("%w; or set database.url", err))
	}
	return failed("database", err)
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
