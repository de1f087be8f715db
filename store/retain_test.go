package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// idOf is a job id made at that time.
func idOf(at time.Time) store.ID {
	id := uuid.New()
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = 0x70 | id[6]&0x0f
	return id
}

// oldDay makes the partitions of a day that is long over.
func (b *bundle) oldDay(day time.Time) {
	b.t.Helper()
	low, high := idFloor(day), idFloor(day.AddDate(0, 0, 1))
	for _, table := range []string{"jobs", "attempts", "events"} {
		b.exec("CREATE TABLE taskq." + table + "_" + day.Format("20060102") + " PARTITION OF taskq." + table + " FOR VALUES FROM ('" + low.String() + "') TO ('" + high.String() + "')")
	}
}

func idFloor(day time.Time) (id store.ID) {
	ms := day.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	return id
}

func (b *bundle) exists(table string) (there bool) {
	b.t.Helper()
	require.NoError(b.t, b.Pool().QueryRow(b.ctx, "SELECT to_regclass('taskq.' || $1) IS NOT NULL", table).Scan(&there))
	return there
}

func (b *bundle) finish(status store.Status, keep time.Duration, n int) {
	b.t.Helper()
	for _, c := range b.claim(n) {
		e := store.Ending{Lease: c.Lease, Index: c.Index, Action: store.End, Status: status, Keep: keep, Result: []byte("1")}
		if status == store.Failed {
			e.ErrorClass, e.DeadReason, e.Attempt = "acme.Oops", 1, &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "acme.Oops"}
		}
		b.end(e)
	}
}

// The life of a day's jobs: their ends go with the partitions of the day until
// which they were kept, their rows with the day that they were made; what
// outlives that day is moved.
func TestADaysJobsGoWithTheirPartitionsAndStragglersAreMoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -40)
	b.oldDay(day)
	made := func() store.ID { return idOf(day.Add(time.Hour)) }
	gone := b.enqueue(store.NewJob{ID: made()}, store.NewJob{ID: made()})
	b.finish(store.Succeeded, 0, 2)
	dead := b.enqueue(store.NewJob{ID: made()})
	b.finish(store.Failed, 30*24*time.Hour, 1)
	lives := b.enqueue(store.NewJob{ID: made(), Delay: time.Hour}, store.NewJob{ID: made()}, store.NewJob{ID: made()})
	b.finish(store.Failed, 90*24*time.Hour, 1) // longer than there are partitions
	require.Equal(t, store.Failed, b.job(lives[1]).Status)
	require.Len(t, b.claim(1), 1) // and the last one runs

	// Tomorrow, as far as the successes go.
	b.exec("ALTER TABLE taskq.finished DETACH PARTITION taskq." + dayOf("finished", 1))
	b.exec("CREATE TABLE taskq.finished_20200101 PARTITION OF taskq.finished FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')")
	b.exec("INSERT INTO taskq.finished SELECT shard, status, dead_reason, queue_id, tenant_id, attempt, version, '2020-01-01', job_id, claim_epoch, worker_id, started_at, finished_at, error_class, message, decided_by, extra FROM taskq." + dayOf("finished", 1))
	b.exec("DROP TABLE taskq." + dayOf("finished", 1))

	out, err := b.Retain(b.ctx)
	require.NoError(t, err)
	require.Contains(t, out.Dropped, "finished_20200101")
	require.Contains(t, out.Dropped, "jobs_"+day.Format("20060102"))
	require.Equal(t, 4, out.Archived, "a dead letter, and three that live or are kept")
	require.False(t, b.exists("jobs_"+day.Format("20060102")))
	require.False(t, b.exists("attempts_"+day.Format("20060102")))
	for _, id := range gone {
		_, err := b.Job(b.ctx, b.tenant, id)
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	require.Equal(t, store.Failed, b.job(dead[0]).Status)
	a, err := b.Attempts(b.ctx, b.tenant, dead[0])
	require.NoError(t, err)
	require.Len(t, a, 1, "its attempts were moved with it")
	require.Equal(t, store.Scheduled, b.job(lives[0]).Status)
	require.Equal(t, store.Running, b.job(lives[2]).Status)
	b.requireOnePlaceEach()
	again, err := b.Retain(b.ctx)
	require.NoError(t, err)
	require.Equal(t, store.Retained{}, again, "twice is once")
}

func dayOf(table string, ahead int) string {
	return table + "_" + time.Now().UTC().AddDate(0, 0, ahead).Format("20060102")
}

// A job whose end isn't kept any longer is gone, whether or not its row is:
// it must not look as if it were waiting.
func TestAJobOfWhichNothingRemainsIsntPending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{}, store.NewJob{})
	b.finish(store.Succeeded, time.Hour, 1)
	b.exec("TRUNCATE taskq.finished")
	_, err := b.Job(b.ctx, b.tenant, ids[0])
	require.ErrorIs(t, err, store.ErrNotFound)
	page, _, err := b.ListJobs(b.ctx, b.tenant, store.JobFilter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, ids[1], page[0].ID)
	var inView int
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.job").Scan(&inView))
	require.Equal(t, 1, inView)
}

// What was kept for longer than there were partitions doesn't stand in the way
// when its day's partition is made, and goes with it.
func TestAPartitionTakesWhatTheDefaultHeldForIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{})
	last := lastPartition(b, "finished")
	b.exec("DROP TABLE " + last)
	b.finish(store.Succeeded, 31*24*time.Hour, 1)
	var other int
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.finished_other").Scan(&other))
	require.Equal(t, 1, other)
	require.NoError(t, b.EnsurePartitions(b.ctx))
	require.Equal(t, last, lastPartition(b, "finished"))
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM "+last).Scan(&other))
	require.Equal(t, 1, other)
	require.Equal(t, store.Succeeded, b.job(ids[0]).Status)
}

// An id from a clock that is days off lies outside of the partitions; the job
// is like any other.
func TestAJobFromAClockThatIsOffRunsLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, off := range []time.Duration{-time.Hour, time.Hour, -20 * 24 * time.Hour, 20 * 24 * time.Hour} {
		ids := b.enqueue(store.NewJob{ID: idOf(time.Now().Add(off))})
		require.Equal(t, store.Pending, b.job(ids[0]).Status)
		c := b.claim(1)
		require.Len(t, c, 1, "%s", off)
		b.end(store.Ending{Lease: c[0].Lease, Index: 1, Action: store.Release, Keep: time.Hour, FailKeep: time.Hour})
		b.finish(store.Succeeded, time.Hour, 1)
		require.Equal(t, store.Succeeded, b.job(ids[0]).Status)
	}
	b.requireOnePlaceEach()
}

func TestBloatNamesTheTablesThatMoveJobsAndWhoHoldsThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM taskq.ready")
	require.NoError(t, err)
	tables, err := b.Bloat(b.ctx)
	require.NoError(t, err)
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		require.Greater(t, table.OldestXact, 0.0)
	}
	require.Equal(t, []string{"leases", "ready", "scheduled", "workers"}, names)
}
