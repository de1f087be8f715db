package main

import (
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg"
	"github.com/taskq-host/taskq-host/store"
)

// demoName is the database of the embedded server, or the schema of a
// configured one, that each demo makes anew.
const demoName = "taskq_demo"

// openThrowaway opens a database with nothing in it but the schema. release
// lets the next demo begin and must be called after the database was closed.
func openThrowaway(ctx context.Context, cmd *cobra.Command, cfg config.Database, log hclog.Logger) (_ *database, release func() error, err error) {
	db := &database{}
	url := cfg.URL
	if url == "" {
		if db.embedded, err = embedpg.Start(ctx, embeddedOptions(cmd, log)); err != nil {
			return nil, nil, embeddedError(err)
		}
		url = db.embedded.DSN("postgres")
	}
	release, err = db.makeAnew(ctx, cfg, url, log)
	if err != nil {
		if db.embedded != nil {
			err = errors.Join(err, db.embedded.Close())
		}
		return nil, nil, err
	}
	return db, release, nil
}

// makeAnew drops what the last demo left and opens its successor. The
// connection that holds the lock stays until release.
func (d *database) makeAnew(ctx context.Context, cfg config.Database, url string, log hclog.Logger) (release func() error, err error) {
	o := storeOptions(cfg, url, log)
	o.Schema = demoName
	if d.embedded != nil {
		o.URL, o.Schema = d.embedded.DSN(demoName), cfg.Schema
	}
	admin, err := connectAs(ctx, url, cfg.PasswordFile)
	if err != nil {
		return nil, databaseError(err)
	}
	release = func() error { return admin.Close(context.WithoutCancel(ctx)) }
	if err := d.clear(ctx, admin); err != nil {
		return nil, errors.Join(err, release())
	}
	if d.Store, err = store.Open(ctx, o); err != nil {
		return nil, errors.Join(databaseError(err), release())
	}
	if _, err := d.migrate(ctx, "demo"); err != nil {
		d.Close()
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// clear takes the lock of demos and drops what the last one left.
func (d *database) clear(ctx context.Context, admin *pgx.Conn) error {
	var readOnly, first bool
	err := admin.QueryRow(ctx, "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', pg_try_advisory_lock(hashtextextended($1, 0))", demoName).Scan(&readOnly, &first)
	if err != nil {
		return failed("demo", err)
	}
	if readOnly {
		return failedf("demo", "the database is read-only; connect to the primary")
	}
	if !first {
		return failedf("demo", "another demo is running on this Postgres; wait for its end")
	}
	statements := []string{"DROP SCHEMA IF EXISTS " + demoName + " CASCADE"}
	if d.embedded != nil {
		statements = []string{"DROP DATABASE IF EXISTS " + demoName + " WITH (FORCE)", "CREATE DATABASE " + demoName}
	}
	for _, sql := range statements {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return failed("demo", err)
		}
	}
	return nil
}
