package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// MinServerVersion is the oldest Postgres that is served, as server_version_num.
const MinServerVersion = 140000

// Sentinels that callers match with errors.Is.
var (
	ErrNotFound = errors.New("not found")
	// ErrNoSchema means that the migrations were not applied.
	ErrNoSchema = errors.New("the schema isn't there or isn't up to date: run taskq-host migrate")
)

// Options of [Open].
type Options struct {
	URL          string // a Postgres URL or key/value string
	Schema       string // "taskq" where empty; [a-z_][a-z0-9_]{0,62}
	MaxConns     int32  // of both pools together; 0: 20, at least 4. One more is the heartbeat's own
	PasswordFile string // read anew for each connection
	// StatementTimeout bounds every statement on the server; 0: 30s.
	StatementTimeout time.Duration
	Log              hclog.Logger
}

// Store is a few pools of connections with every statement the host knows. It
// is safe for use by many goroutines and must be closed.
type Store struct {
	pool   *pgxpool.Pool // lists, configuration, whatever isn't hot
	hot    *pgxpool.Pool // the statements that move jobs
	beat   *pgxpool.Pool // the heartbeat's own connection, so that no load can starve it
	schema schema
	log    hclog.Logger

	floors sync.Map // where claims stopped: (shard, queue) → *floors

	mu      sync.RWMutex
	queues  map[string]int32
	queueID map[int32]string
	tenants map[string]Tenant
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open connects; it fails if the database can't be reached, is older than
// [MinServerVersion] or can't be written. It doesn't migrate.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	if !schemaName.MatchString(o.Schema) {
		return nil, fmt.Errorf("database.schema: %q must match %s", o.Schema, schemaName)
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	s := &Store{
		schema: schema{name: o.Schema}, log: o.Log.Named("store"),
		queues: map[string]int32{}, queueID: map[int32]string{}, tenants: map[string]Tenant{},
	}
	if err := s.connect(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.checkServer(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// The hot statements are made for one plan, by primary key in nested loops,
// whatever the statistics of the moment say: a plan made while a day's
// partition was empty must not read it from end to end when it is full.
// Planning them anew each time took longer than running them.
const hotSettings = "; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"

func (s *Store) connect(ctx context.Context, o Options) error {
	most := o.MaxConns
	if most <= 0 {
		most = 20
	}
	for _, p := range []struct {
		pool     **pgxpool.Pool
		settings string
		most     int32
	}{{&s.pool, "", max(2, most/2)}, {&s.hot, hotSettings, max(2, most/2)}, {&s.beat, hotSettings, 1}} {
		cfg, err := poolConfig(o, p.settings)
		if err != nil {
			return err
		}
		cfg.MaxConns = p.most
		s.renewWhenReadOnly(cfg)
		if *p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
			return fmt.Errorf("database.url: %w", err)
		}
	}
	return nil
}

// renewWhenReadOnly closes every connection once a server says that it can't
// be written to: after a failover the others lead to the same replica, and new
// ones to the new primary.
func (s *Store) renewWhenReadOnly(cfg *pgxpool.Config) {
	before := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(c *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code == readOnly {
			s.renew()
			return false // closes this one
		}
		return before(c, e)
	}
}

// renew makes every pool connect anew; connections in use are closed when
// they are given back.
func (s *Store) renew() {
	for _, p := range []*pgxpool.Pool{s.pool, s.hot, s.beat} {
		if p != nil {
			p.Reset()
		}
	}
}

// idleInTransaction is how long the server waits for the next statement of an
// open transaction before it ends the session.
const idleInTransaction = 5 * time.Second

func poolConfig(o Options, more string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		// pgx redacts the password in its message.
		return nil, fmt.Errorf("database.url: %w", err)
	}
	timeout := o.StatementTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	params := cfg.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "taskq-host"
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	// jit costs tens of milliseconds on a claim whose estimate is inflated. A
	// process that is frozen inside a transaction (SIGSTOP, a paused machine)
	// must not hold its locks until it wakes: making partitions locks tables
	// that every list reads.
	settings := fmt.Sprintf("SET jit = off; SET statement_timeout = %d; SET idle_in_transaction_session_timeout = %d; SET timezone = 'UTC'",
		timeout.Milliseconds(), idleInTransaction.Milliseconds()) + more
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, settings)
		return err
	}
	if file := o.PasswordFile; file != "" {
		cfg.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
			b, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("database.password_file: %w", err)
			}
			cc.Password = strings.TrimRight(string(b), "\r\n")
			return nil
		}
	}
	return cfg, nil
}

func (s *Store) checkServer(ctx context.Context) error {
	var version int
	var name string
	err := s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, current_setting('server_version')").Scan(&version, &name)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if version < MinServerVersion {
		return fmt.Errorf("database: Postgres %s is too old: 14 is the oldest that is served", name)
	}
	return nil
}

// Close closes every connection; it waits for those in use.
func (s *Store) Close() {
	for _, p := range []*pgxpool.Pool{s.beat, s.hot, s.pool} {
		if p != nil {
			p.Close()
		}
	}
}

// Pool is the store's own pool, for callers that join a transaction of
// theirs with ours. It must not be closed.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Schema is the name of the schema that everything is in.
func (s *Store) Schema() string { return s.schema.name }

// Health says whether work can be done: connected, writable, migrated.
type Health struct {
	Version  string `json:"version"`
	Schema   string `json:"schema"`
	ReadOnly bool   `json:"read_only"`
	Migrated bool   `json:"migrated"`
}

// Check asks the database for its [Health]. A read-only server or a missing
// migration isn't an error of Check itself.
func (s *Store) Check(ctx context.Context) (Health, error) {
	h := Health{Schema: s.schema.name}
	err := s.pool.QueryRow(ctx, `SELECT current_setting('server_version'),
		pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'`).Scan(&h.Version, &h.ReadOnly)
	if err != nil {
		return h, fmt.Errorf("database: %w", err)
	}
	missing, err := s.Missing(ctx)
	if err != nil {
		return h, err
	}
	h.Migrated = len(missing) == 0
	return h, nil
}

// sqlState gives the SQLSTATE of a database's error, or "".
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// querier is what a pool, a connection and a transaction have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
