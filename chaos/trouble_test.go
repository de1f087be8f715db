package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg"
	"github.com/taskq-host/taskq-host/store"
)

// underLoad runs body while jobs come in, then lets the rest end and checks.
func (r *run) underLoad(backlog int, body func()) *report {
	r.t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.load(stop, backlog)
	}()
	body()
	close(stop)
	<-stopped
	r.finish(r.dsn, time.Minute)
	out := r.check()
	require.Empty(r.t, out.findings)
	return out
}

// stopAll ends workers as a deploy does.
func (r *run) stopAll(workers ...*process) {
	r.t.Helper()
	for _, p := range workers {
		p.signal(r.t, syscall.SIGTERM)
	}
	for _, p := range workers {
		require.NoError(r.t, p.wait())
	}
}

// finishedSince counts what ended in the last while.
func (r *run) finishedSince(d time.Duration) (n int) {
	_ = r.store.Pool().QueryRow(r.ctx, "SELECT count(*) FROM taskq.finished WHERE finished_at > clock_timestamp() - $1 * interval '1 millisecond'", d.Milliseconds()).Scan(&n)
	return n // 0 while there is no database
}

// postgres is a durable server of the test's own, whose supervisor starts it
// again when it dies.
func postgres(t *testing.T) (dsn, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "taskq-chaos") // short, for the socket's sake
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return postgresIn(ctx, t, dir, nil), dir
}

func postgresIn(ctx context.Context, t *testing.T, dir string, settings map[string]string) (dsn string) {
	t.Helper()
	s, err := embedpg.Start(ctx, embedpg.Options{Dir: filepath.Join(dir, "pg"), Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	dsn = s.DSN("postgres")
	require.NoError(t, migrate(ctx, dsn))
	return dsn
}

func signalPostmaster(t *testing.T, dir string, s syscall.Signal) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pg", "data", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, s))
}

// Postgres is restarted under load, by a shutdown and by a crash: nothing that
// was acknowledged is lost, and the workers go on by themselves.
func TestPostgresRestartsUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"a fast shutdown": syscall.SIGINT, "a crash": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, dir := postgres(t)
			r := runOn(t, dsn)
			out := r.underLoad(200, func() {
				workers := []*process{r.spawn(dsn, doom{}), r.spawn(dsn, doom{})}
				<-time.After(3 * time.Second)
				before := r.finishedSince(2 * time.Second)
				require.NotZero(t, before)
				signalPostmaster(t, dir, signal)
				r.awaitRestart()
				up := time.Now()
				for r.finishedSince(500*time.Millisecond)*4 < before/2 {
					require.Less(t, time.Since(up), 20*time.Second, "no work is done")
					<-time.After(50 * time.Millisecond)
				}
				t.Logf("%d jobs/s before, half of that %s after the server was up again", before/2, time.Since(up).Round(10*time.Millisecond))
				require.Less(t, time.Since(up), 5*time.Second)
				r.stopAll(workers...)
			})
			t.Logf("%d jobs, %d attempts", out.Jobs, out.Attempts)
		})
	}
}

// awaitRestart waits until the server is another one that answers.
func (r *run) awaitRestart() {
	r.t.Helper()
	began := time.Now()
	require.Eventually(r.t, func() bool {
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, r.dsn)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(ctx) }()
		var age float64
		err = conn.QueryRow(ctx, "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())").Scan(&age)
		return err == nil && age < time.Since(began).Seconds()
	}, 30*time.Second, 20*time.Millisecond)
}

// exec runs a statement on a connection of its own, whatever the database's
// defaults are.
func (r *run) exec(sql string, args ...any) {
	r.t.Helper()
	conn, err := pgx.Connect(r.ctx, r.dsn)
	require.NoError(r.t, err)
	defer func() { _ = conn.Close(r.ctx) }()
	_, err = conn.Exec(r.ctx, "SET default_transaction_read_only = off")
	require.NoError(r.t, err)
	_, err = conn.Exec(r.ctx, sql, args...)
	require.NoError(r.t, err)
}

const terminateSQL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < $1`

func TestBackendsAreKilledUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	r.underLoad(150, func() {
		workers := []*process{r.spawn(r.dsn, doom{}), r.spawn(r.dsn, doom{})}
		for range 40 {
			<-time.After(100 * time.Millisecond)
			r.exec(terminateSQL, 0.3)
		}
		r.stopAll(workers...)
	})
}

// The server turns into a read-only replica for a while, as after a failover
// to the wrong side. Workers go on by themselves once there is a primary.
func TestAFailoverToAReplicaAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	name := pgx.Identifier{r.database()}.Sanitize()
	r.underLoad(150, func() {
		workers := []*process{r.spawn(r.dsn, doom{}), r.spawn(r.dsn, doom{})}
		<-time.After(time.Second)
		r.exec("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
		r.exec(terminateSQL, 1.0)
		<-time.After(2500 * time.Millisecond)
		stalled := r.finishedSince(time.Second)
		require.Zero(t, stalled, "nobody can write")
		r.exec("ALTER DATABASE " + name + " RESET default_transaction_read_only")
		back := time.Now()
		require.Eventually(t, func() bool { return r.finishedSince(300*time.Millisecond) > 0 }, 20*time.Second, 20*time.Millisecond)
		t.Logf("work goes on %s after there is a primary again", time.Since(back).Round(10*time.Millisecond))
		r.stopAll(workers...)
	})
}

func (r *run) database() (name string) {
	r.t.Helper()
	require.NoError(r.t, r.store.Pool().QueryRow(r.ctx, "SELECT current_database()").Scan(&name))
	return name
}

// A network that is slow, resets, and then swallows everything for longer than
// the lease is safe: the worker stops its own guests in time and goes on under
// a new identity.
func TestTheNetworkFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	p := newProxy(t, r.dsn)
	r.underLoad(100, func() {
		stop := r.inProcess(p.dsn, "")
		<-time.After(500 * time.Millisecond)
		p.delay.Store(int64(30 * time.Millisecond))
		<-time.After(time.Second)
		p.delay.Store(0)
		for range 10 {
			<-time.After(100 * time.Millisecond)
			p.cut()
		}
		<-time.After(time.Second)
		p.blackhole.Store(true)
		<-time.After(lease + 2*time.Second)
		p.blackhole.Store(false)
		p.cut() // what hung is dead
		back := time.Now()
		require.Eventually(t, func() bool { return r.finishedSince(300*time.Millisecond) > 0 }, 30*time.Second, 20*time.Millisecond)
		t.Logf("work goes on %s after the network is back", time.Since(back).Round(10*time.Millisecond))
		stop()
	})
	var told int
	require.NoError(t, r.store.Pool().QueryRow(r.ctx, "SELECT count(*) FROM taskq.attempts WHERE error_class = 'HeartbeatLost'").Scan(&told))
	require.NotZero(t, told, "a worker that lives says that it couldn't reach the database")
}

// The listener's connection leads nowhere: wake-ups are hints, polling is the truth.
func TestJobsRunWithoutWakeUps(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	p := newProxy(t, r.dsn)
	p.blackhole.Store(true)
	stop := r.inProcess(r.dsn, p.dsn)
	<-time.After(500 * time.Millisecond)
	began := time.Now()
	out, err := r.store.Enqueue(r.ctx, r.tenant, []store.NewJob{{Queue: "default", Actor: "noop"}})
	require.NoError(t, err)
	r.enqueued = append(r.enqueued, out[0].ID)
	r.settle(20 * time.Second)
	require.Less(t, time.Since(began), 5*time.Second, "the poll interval is 100 ms")
	p.blackhole.Store(false)
	p.cut()
	stop()
	require.Empty(t, r.check().findings)
}

// Statements time out on locks that somebody holds for too long.
func TestStatementsTimeOut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	r.underLoad(100, func() {
		worker := r.spawn(r.dsn+"&options=-c%20lock_timeout%3D150ms", doom{})
		for i := range 6 {
			table := []string{"leases", "ready", "finished"}[i%3]
			tx, err := r.store.Pool().Begin(r.ctx)
			require.NoError(t, err)
			_, err = tx.Exec(r.ctx, fmt.Sprintf("LOCK TABLE taskq.%s IN SHARE MODE", table))
			require.NoError(t, err)
			<-time.After(500 * time.Millisecond)
			require.NoError(t, tx.Rollback(r.ctx))
			<-time.After(200 * time.Millisecond)
		}
		r.stopAll(worker)
	})
}

// Somebody forgot a transaction that has read everything; a frozen worker
// wakes after its lease. Neither loses or doubles anything.
func TestAForgottenTransactionAndAFrozenWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	tx, err := r.store.Pool().BeginTx(r.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(r.ctx) }()
	_, err = tx.Exec(r.ctx, "SELECT count(*) FROM taskq.job")
	require.NoError(t, err)
	r.underLoad(100, func() {
		frozen, other := r.spawn(r.dsn, doom{}), r.spawn(r.dsn, doom{})
		<-time.After(700 * time.Millisecond)
		frozen.signal(t, syscall.SIGSTOP)
		<-time.After(lease + 2500*time.Millisecond)
		frozen.thawed = monotonic()
		frozen.signal(t, syscall.SIGCONT)
		<-time.After(700 * time.Millisecond)
		r.stopAll(frozen, other)
		require.NoError(t, tx.Rollback(r.ctx))
	})
}
