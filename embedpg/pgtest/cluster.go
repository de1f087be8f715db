package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Names of databases: taskq_tpl_<hash> is a template, taskq_new_<hash> one
// that is being made, taskq_test_<run>_<n> a test's.
const (
	templatePrefix = "taskq_tpl_"
	newPrefix      = "taskq_new_"
	testPrefix     = "taskq_test_"
)

// templateLock is held shared while a template is looked up and cloned, and
// exclusively while templates are made and deleted.
const templateLock = 7240010001

// keepTemplates bounds what the test binaries of earlier runs leave on a
// server that lives long.
const keepTemplates = 12

// cluster makes and drops databases on one server.
type cluster struct {
	dsn    func(db string) string
	run    string // names this process' databases
	binary []byte // hash of this test binary, part of each template's name
	copies string // makes CREATE DATABASE copy files rather than log pages

	mu   sync.Mutex // guards what follows
	conn *pgx.Conn  // to the database postgres; holds the run's lock
	next int
}

func openCluster(ctx context.Context) (*cluster, error) {
	dsn, err := serverDSN(ctx)
	if err != nil {
		return nil, err
	}
	c := &cluster{dsn: dsn, run: strings.ToLower(rand.Text()[:12])}
	if c.binary, err = hashOfBinary(); err != nil {
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, c.sweep(ctx)
}

// hashOfBinary keeps a template from outliving a change of the code that
// made it, on a server that outlives the test run.
func hashOfBinary() ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(exe)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), errors.Join(err, f.Close())
}

// connect takes the lock that tells other processes that this run lives.
func (c *cluster) connect(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.dsn("postgres"))
	if err != nil {
		return err
	}
	c.conn = conn
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", runKey(c.run)); err != nil {
		return err
	}
	var version int
	if err := conn.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version >= 150000 { // before, files were copied always
		c.copies = " strategy file_copy"
	}
	return nil
}

// reconnect is for a server that was restarted under the tests.
func (c *cluster) reconnect(ctx context.Context) error {
	if !c.conn.IsClosed() && c.conn.Ping(ctx) == nil {
		return nil
	}
	_ = c.conn.Close(ctx) // broken already
	return c.connect(ctx)
}

// runKey is the advisory lock that a run holds.
func runKey(run string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run)) // never fails
	return int64(h.Sum64())
}

// clone makes a database from the template of this name, and the template
// first if need be.
func (c *cluster) clone(ctx context.Context, name string, setup func(context.Context, string) error) (string, error) {
	sum := sha256.Sum256(append([]byte(name), c.binary...))
	id := hex.EncodeToString(sum[:8])
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.reconnect(ctx); err != nil {
		return "", err
	}
	c.next++
	db := testPrefix + c.run + "_" + strconv.Itoa(c.next)
	for {
		found, err := c.tryClone(ctx, db, templatePrefix+id)
		if found || err != nil {
			return db, err
		}
		if err := c.makeTemplate(ctx, id, setup); err != nil {
			return "", err
		}
	}
}

// tryClone says whether the template was there.
func (c *cluster) tryClone(ctx context.Context, db, template string) (found bool, err error) {
	err = c.locked(ctx, "_shared", func() error {
		if found, err = c.exists(ctx, template); err != nil || !found {
			return err
		}
		_, err := c.conn.Exec(ctx, "create database "+quote(db)+" template "+quote(template)+c.copies)
		return err
	})
	return found, err
}

// makeTemplate fills a database under another name, so that a template is
// complete from the moment it can be seen.
func (c *cluster) makeTemplate(ctx context.Context, id string, setup func(context.Context, string) error) error {
	return c.locked(ctx, "", func() error {
		if there, err := c.exists(ctx, templatePrefix+id); there || err != nil {
			return err
		}
		if err := c.dropOldTemplates(ctx); err != nil {
			return err
		}
		building := newPrefix + id
		if _, err := c.conn.Exec(ctx, "create database "+quote(building)+" template template0"+c.copies); err != nil {
			return err
		}
		if setup != nil {
			if err := setup(ctx, c.dsn(building)); err != nil {
				return fmt.Errorf("setup: %w", err)
			}
		}
		_, err := c.conn.Exec(ctx, "alter database "+quote(building)+" rename to "+quote(templatePrefix+id))
		if err != nil {
			return fmt.Errorf("%w (did setup close its connections?)", err)
		}
		return nil
	})
}

// dropOldTemplates also drops those whose making failed.
func (c *cluster) dropOldTemplates(ctx context.Context) error {
	const old = `(select datname from pg_database where starts_with(datname, $1) order by oid desc offset $2)
		union all (select datname from pg_database where starts_with(datname, $3))`
	rows, err := c.conn.Query(ctx, old, templatePrefix, keepTemplates, newPrefix)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.dropNow(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// locked runs f under the template lock.
func (c *cluster) locked(ctx context.Context, mode string, f func() error) error {
	if _, err := c.conn.Exec(ctx, "select pg_advisory_lock"+mode+"($1)", int64(templateLock)); err != nil {
		return err
	}
	err := f()
	_, uerr := c.conn.Exec(ctx, "select pg_advisory_unlock"+mode+"($1)", int64(templateLock))
	return errors.Join(err, uerr)
}

func (c *cluster) exists(ctx context.Context, db string) (there bool, err error) {
	err = c.conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", db).Scan(&there)
	return there, err
}

// drop removes a test's database.
func (c *cluster) drop(ctx context.Context, db string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.reconnect(ctx); err != nil {
		return err
	}
	return c.dropNow(ctx, db)
}

func (c *cluster) dropNow(ctx context.Context, db string) error {
	_, err := c.conn.Exec(ctx, "drop database if exists "+quote(db)+" with (force)")
	return err
}

// sweep drops the databases of test runs that were killed: nobody holds the
// lock of such a run.
func (c *cluster) sweep(ctx context.Context) error {
	rows, err := c.conn.Query(ctx, "select datname from pg_database where starts_with(datname, $1)", testPrefix)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		run, _, _ := strings.Cut(strings.TrimPrefix(name, testPrefix), "_")
		if run == c.run {
			continue
		}
		var dead bool
		if err := c.conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", runKey(run)).Scan(&dead); err != nil {
			return err
		}
		if !dead {
			continue
		}
		if err := c.dropNow(ctx, name); err != nil {
			return err
		}
		if _, err := c.conn.Exec(ctx, "select pg_advisory_unlock($1)", runKey(run)); err != nil {
			return err
		}
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
