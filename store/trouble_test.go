package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// exec runs a statement of the test's own.
func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.Pool().Exec(b.ctx, sql, args...)
	require.NoError(b.t, err)
}

// crashed reschedules whatever it is given.
func crashed(_ time.Time, orphans []store.Orphan) (out []store.Ending) {
	for _, o := range orphans {
		out = append(out, store.Ending{
			Lease: o.Lease, Index: o.Index, Action: store.Reschedule, Reason: store.ReasonReclaim, FailKeep: time.Hour,
			Attempt: &store.AttemptRow{Outcome: store.AttemptCrashed, ErrorClass: "WorkerCrashed"},
		})
	}
	return out
}

// A heartbeat that read the clock just in time must not keep the rest of a
// worker alive of which a part has been given back.
func TestAWorkerIsBuriedWithTheFirstOfItsLeases(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(make1(3)...)
	dying := b.register(time.Minute)
	for range 3 {
		require.Len(t, b.claimAs(dying, 1), 1)
	}
	b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp() WHERE worker_id = $1", dying.String())
	for i := range 3 {
		n, err := b.Reclaim(b.ctx, 0, 1, crashed)
		require.NoError(t, err)
		require.Equal(t, 1, n, "call %d", i)
		workers, err := b.Workers(b.ctx)
		require.NoError(t, err)
		require.Len(t, workers, 1)
		require.Equal(t, b.worker, workers[0].ID)
		// What the race amounts to: the worker's row as it was before.
		_, err = b.Heartbeat(b.ctx, 0, dying, time.Minute, false)
		require.ErrorIs(t, err, store.ErrWorkerLost)
	}
	b.requireOnePlaceEach()
}

// Before any sweep has seen it: its lease is over when its time has come.
func TestAWorkerWhoseLeaseIsOverClaimsNothingAndCantProlongIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(make1(2)...)
	b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp()")
	require.Empty(t, b.claim(2))
	_, err := b.Heartbeat(b.ctx, 0, b.worker, time.Minute, false)
	require.ErrorIs(t, err, store.ErrWorkerLost)
}

// Leases that a completion is writing to are left out of one reclaim, never
// out of all.
func TestAReclaimComesBackForLeasesThatWereLocked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(make1(2)...)
	dying := b.register(time.Minute)
	locked := b.claimAs(dying, 1)[0]
	b.claimAs(dying, 1)
	b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp() WHERE worker_id = $1", dying.String())
	tx, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	_, err = tx.Exec(b.ctx, "SELECT FROM taskq.leases WHERE lease_id = $1 FOR UPDATE", locked.Lease.String())
	require.NoError(t, err)
	for _, want := range []int{1, 0} {
		n, err := b.Reclaim(b.ctx, 0, 10, crashed)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.NoError(t, tx.Rollback(b.ctx))
	n, err := b.Reclaim(b.ctx, 0, 10, crashed)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.requireOnePlaceEach()
}

func TestAMemberThatIsNamedTwiceEndsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(make1(3)...)
	c := b.claim(3)
	done := func(i int) store.Ending {
		return store.Ending{Lease: c[i].Lease, Index: i + 1, Action: store.End, Status: store.Succeeded, Keep: time.Hour}
	}
	failed := done(1)
	failed.Status, failed.ErrorClass = store.Failed, "acme.Oops"
	require.Len(t, b.end(done(0), done(0), failed, failed, done(2), failed), 3)
	b.requireOnePlaceEach()
	require.Equal(t, store.Failed, b.job(c[1].ID).Status)
}

// One job that can't be read must not hold up those that were claimed with it.
func TestAnUnreadableColumnIsTheJobsOwnTrouble(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{})
	b.exec(`UPDATE taskq.jobs SET options = '"nonsense"' WHERE job_id = $1`, ids[1].String())
	dying := b.register(time.Minute)
	c := b.claimAs(dying, 3)
	require.Len(t, c, 3)
	require.Equal(t, []string{"", "options", ""}, []string{c[0].Unreadable, c[1].Unreadable, c[2].Unreadable})
	b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp() WHERE worker_id = $1", dying.String())
	n, err := b.Reclaim(b.ctx, 0, 10, crashed)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	b.requireOnePlaceEach()
}

// A long transaction that has read the jobs must not stop the queue: whoever
// waits for an exclusive lock makes everybody else wait behind it.
func TestPartitionsGiveUpBeforeTheyStopTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("DROP TABLE " + lastPartition(b, "jobs"))
	tx, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "SELECT count(*) FROM taskq.jobs")
	require.NoError(t, err)
	began := time.Now()
	require.Error(t, b.EnsurePartitions(b.ctx))
	require.Less(t, time.Since(began), 5*time.Second)
	b.enqueue(store.NewJob{})
	require.Len(t, b.claim(1), 1)
	require.NoError(t, tx.Rollback(b.ctx))
	require.NoError(t, b.EnsurePartitions(b.ctx))
	require.NoError(t, b.EnsurePartitions(b.ctx), "and twice is once")
}

func lastPartition(b *bundle, table string) (name string) {
	b.t.Helper()
	require.NoError(b.t, b.Pool().QueryRow(b.ctx, `SELECT max(inhrelid::regclass::text) FROM pg_inherits
		WHERE inhparent = ('taskq.' || $1)::regclass AND inhrelid::regclass::text ~ '\d{8}$'`, table).Scan(&name))
	return name
}

// However busy the hot connections are, the leases are prolonged.
func TestNoLoadStarvesTheHeartbeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	small, err := store.Open(b.ctx, store.Options{URL: b.dsn, MaxConns: 4})
	require.NoError(t, err)
	defer small.Close()
	b.enqueue(store.NewJob{})
	lock, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	_, err = lock.Exec(b.ctx, "LOCK TABLE taskq.ready")
	require.NoError(t, err)
	var claims sync.WaitGroup
	for range 6 { // more than there are connections
		claims.Go(func() {
			if _, err := small.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: b.worker, Lease: store.NewID(), Limit: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	for range 3 {
		_, err = small.Heartbeat(ctx, 0, b.worker, time.Minute, false)
		require.NoError(t, err)
	}
	require.NoError(t, lock.Rollback(b.ctx))
	claims.Wait()
}

// After a failover the connections that are open lead to a replica. They are
// given up, and new ones are made.
func TestAReadOnlyServerRenewsTheConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(store.NewJob{})
	var name string
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT current_database()").Scan(&name))
	alter := func(sql string) {
		conn, err := pgx.Connect(b.ctx, b.dsn)
		require.NoError(t, err)
		defer func() { _ = conn.Close(b.ctx) }()
		_, err = conn.Exec(b.ctx, "SET default_transaction_read_only = off")
		require.NoError(t, err)
		_, err = conn.Exec(b.ctx, sql)
		require.NoError(t, err)
	}
	claim := func() (store.Claim, error) {
		return b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: b.worker, Lease: store.NewID(), Limit: 1})
	}
	alter("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
	s, err := store.Open(b.ctx, store.Options{URL: b.dsn}) // its connections are all read-only
	require.NoError(t, err)
	defer s.Close()
	h, err := s.Check(b.ctx)
	require.NoError(t, err)
	require.True(t, h.ReadOnly)
	_, err = s.Heartbeat(b.ctx, 0, b.worker, time.Minute, false)
	require.True(t, store.Unreachable(err), "%v", err)
	alter("ALTER DATABASE " + name + " RESET default_transaction_read_only")
	require.Eventually(t, func() bool {
		_, err := s.Heartbeat(b.ctx, 0, b.worker, time.Minute, false)
		return err == nil
	}, 5*time.Second, 20*time.Millisecond, "connections that were made while it was read-only must not stay")
	require.Eventually(t, func() bool {
		h, err := s.Check(b.ctx)
		return err == nil && !h.ReadOnly
	}, 5*time.Second, 20*time.Millisecond, "nor those of the other pools")
	c, err := claim()
	require.NoError(t, err)
	require.Len(t, c.Jobs, 1)
}

func TestWhatAnErrorSaysAboutTheDatabase(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return &pgconn.PgError{Code: code} }
	for _, c := range []struct {
		err                             error
		unreachable, ambiguous, tooSlow bool
	}{
		{err: nil},
		{err: pg("57P01"), unreachable: true, ambiguous: true}, // admin_shutdown
		{err: pg("57014"), unreachable: true, tooSlow: true},   // statement_timeout
		{err: pg("25006"), unreachable: true},
		{err: pg("53100"), unreachable: true}, // disk_full
		{err: pg("40P01"), unreachable: true}, // deadlock
		{err: pg("22P05")},                    // the row's own
		{err: pg("XX000")},
		{err: errors.New("failed to encode args[3]"), ambiguous: true},
		{err: context.DeadlineExceeded, unreachable: true, ambiguous: true},
		{err: io.ErrUnexpectedEOF, unreachable: true, ambiguous: true},
		{err: &net.OpError{Op: "read", Err: errors.New("reset")}, unreachable: true, ambiguous: true},
		{err: context.Canceled, ambiguous: true},
	} {
		require.Equal(t, c.unreachable, store.Unreachable(c.err), "%v", c.err)
		require.Equal(t, c.ambiguous, store.Ambiguous(c.err), "%v", c.err)
		require.Equal(t, c.tooSlow, store.TooSlow(c.err), "%v", c.err)
	}
}
