package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

func (b *bundle) events(id store.ID) []string {
	b.t.Helper()
	events, err := b.Events(b.ctx, b.tenant, id)
	require.NoError(b.t, err)
	names := []string{}
	for _, e := range events {
		names = append(names, e.Event+" "+string(e.Facts))
	}
	slices.Sort(names)
	return names
}

func TestAJobPastItsStartByIsNeitherClaimedNorKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ready := b.enqueue(store.NewJob{StartBy: time.Hour})[0]
	waiting := b.enqueue(store.NewJob{StartByAt: time.Now().Add(2 * time.Hour), Delay: time.Hour})[0]
	other := b.enqueue(store.NewJob{})[0]
	b.exec("UPDATE taskq.ready SET start_by = clock_timestamp() - interval '1 second' WHERE start_by IS NOT NULL")
	b.exec("UPDATE taskq.scheduled SET start_by = clock_timestamp() - interval '1 second' WHERE start_by IS NOT NULL")
	claimed := b.claim(10)
	require.Len(t, claimed, 1)
	require.Equal(t, other, claimed[0].ID)
	n, err := b.ExpireDeadlines(b.ctx, 0, 100, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, id := range []store.ID{ready, waiting} {
		j := b.job(id)
		require.Equal(t, store.Failed, j.Status)
		require.Equal(t, "DeadlineExceeded", j.ErrorClass)
		require.Equal(t, "start_by reached before the first start", j.Message)
		require.EqualValues(t, 3, j.DeadReason)
		require.Equal(t, []string{`job.dead {"attempt": 0, "dead_reason": "deadline", "error_class": "DeadlineExceeded"}`}, b.events(id))
	}
	b.requireOnePlaceEach()
}

func TestStartByEndsWithTheFirstClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enqueue(store.NewJob{StartBy: time.Hour, ScheduleToClose: 2 * time.Hour})[0]
	c := b.claim(1)[0]
	require.WithinDuration(t, time.Now().Add(2*time.Hour), c.Deadline, time.Minute, "start_by isn't the job's deadline")
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.Reschedule, Reason: store.ReasonRetry})
	var left int
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.scheduled WHERE start_by IS NOT NULL").Scan(&left))
	require.Zero(t, left)
	require.Equal(t, store.Pending, b.job(id).Status)
}

func TestAStartByThatADelayPassesIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Enqueue(b.ctx, b.tenant, []store.NewJob{{Queue: "q", Actor: "a"}, {Queue: "q", Actor: "a", Delay: 2 * time.Hour, StartBy: time.Hour, ScheduleToClose: 3 * time.Hour}})
	late := new(store.LateError)
	require.True(t, errors.As(err, &late))
	require.Equal(t, 1, late.Index)
	require.WithinDuration(t, time.Now().Add(time.Hour), late.Deadline, time.Minute)
}

func TestTheAgeOfWhatIsIndefiniteIsADeadlineFromItsCreation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{ScheduleToClose: time.Minute}, store.NewJob{})
	claimed := b.claim(4)
	lease := claimed[0].Lease
	again := func(ix int, delay, age time.Duration) store.Ending {
		return store.Ending{Lease: lease, Index: ix, Action: store.Reschedule, Reason: store.ReasonRetry, Delay: delay, MaxAge: age, FailKeep: time.Hour}
	}
	index := func(id store.ID) int {
		return claimed[slices.IndexFunc(claimed, func(c store.Claimed) bool { return c.ID == id })].Index
	}
	b.end(again(index(ids[0]), time.Second, time.Hour), again(index(ids[1]), 2*time.Hour, time.Hour), again(index(ids[2]), time.Second, time.Hour), again(index(ids[3]), time.Second, 0))

	j := b.job(ids[0])
	require.Equal(t, store.Scheduled, j.Status)
	require.WithinDuration(t, j.CreatedAt.Add(time.Hour), *j.Deadline, time.Millisecond, "it stays with the job")
	j = b.job(ids[1])
	require.Equal(t, store.Failed, j.Status)
	require.Equal(t, "max_indefinite_age reached before next dispatch", j.Message)
	require.Equal(t, []string{`job.dead {"attempt": 1, "dead_reason": "deadline", "error_class": "DeadlineExceeded"}`}, b.events(ids[1]))
	require.WithinDuration(t, j.CreatedAt.Add(time.Minute), *b.job(ids[2]).Deadline, time.Second, "the job's own comes first")
	require.Nil(t, b.job(ids[3]).Deadline)
	b.requireOnePlaceEach()
}

func TestEachEndIsToldByAnEventOfItsOwnStatement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{}, store.NewJob{}, store.NewJob{Delay: time.Hour})
	claimed := b.claim(4)
	byID := map[store.ID]store.Claimed{}
	for _, c := range claimed {
		byID[c.ID] = c
	}
	done := func(id store.ID, e store.Ending) store.Ending {
		e.Lease, e.Index, e.Action, e.Keep = byID[id].Lease, byID[id].Index, store.End, time.Hour
		return e
	}
	_, err := b.Cancel(b.ctx, b.tenant, []store.ID{ids[3], ids[4]}, time.Hour)
	require.NoError(t, err)
	adjusted := store.NewEvent{Event: "policy_adjusted", Facts: map[string]string{"what": "x"}}
	b.end(
		done(ids[0], store.Ending{Status: store.Succeeded}),
		done(ids[1], store.Ending{Status: store.Failed, DeadReason: 2, ErrorClass: "acme.No", Events: []store.NewEvent{adjusted}}),
		done(ids[2], store.Ending{Status: store.Crashed, DeadReason: 4, ErrorClass: "WorkerStopped"}),
		done(ids[3], store.Ending{Status: store.Succeeded}),
	)
	require.Empty(t, b.events(ids[0]))
	require.Equal(t, []string{`job.dead {"attempt": 1, "dead_reason": "non_retryable", "error_class": "acme.No"}`, `policy_adjusted {"what": "x"}`}, b.events(ids[1]))
	require.Equal(t, []string{`job.dead {"attempt": 1, "dead_reason": "crash_exhausted", "error_class": "WorkerStopped"}`}, b.events(ids[2]))
	require.Equal(t, store.Cancelled, b.job(ids[3]).Status, "requested counts, not seen")
	require.Equal(t, []string{`job.cancelled {"attempt": 1}`}, b.events(ids[3]))
	require.Equal(t, []string{`job.cancelled {"attempt": 0}`}, b.events(ids[4]))
}

func TestInlineRepetitionsAreKeptWithTheAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enqueue(store.NewJob{})[0]
	c := b.claim(1)[0]
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.Reschedule, Reason: store.ReasonRetry, Attempt: &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "x", Inline: 3}})
	_, _, err := b.Promote(b.ctx, 0, 10)
	require.NoError(t, err)
	c = b.claim(1)[0]
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.End, Status: store.Succeeded, Keep: time.Hour, Extra: &store.Extra{Inline: 1}})
	attempts, err := b.Attempts(b.ctx, b.tenant, id)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.Equal(t, []int{3, 1}, []int{attempts[0].Inline, attempts[1].Inline})
}

func TestClassifiersHaveNamesAndVersionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(shelf store.Shelf, tenant store.Tenant, digest byte) *store.Actor {
		a, err := b.PutModule(b.ctx, shelf, tenant, "charge", []byte{digest}, []byte{0}, []byte(`{}`), nil)
		require.NoError(t, err)
		return a
	}
	put(store.Actors, b.tenant, 1)
	put(store.Classifiers, b.tenant, 2)
	require.Equal(t, 2, put(store.Classifiers, b.tenant, 3).Version)
	require.Equal(t, 2, put(store.Classifiers, b.tenant, 3).Version, "the same bytes are no new version")
	require.Equal(t, 1, put(store.Classifiers, store.Platform, 1).Version)
	a, err := b.Actor(b.ctx, b.tenant, "charge")
	require.NoError(t, err)
	require.Equal(t, 1, a.Version)

	require.NoError(t, b.DeleteActor(b.ctx, b.tenant, "charge"))
	_, err = b.ModuleBytes(b.ctx, []byte{1})
	require.NoError(t, err, "the platform's classifier has the same bytes")
	require.NoError(t, b.DeleteModule(b.ctx, store.Classifiers, store.Platform, "charge"))
	_, err = b.ModuleBytes(b.ctx, []byte{1})
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, b.DeleteModule(b.ctx, store.Classifiers, store.Platform, "charge"), store.ErrNotFound)
	list, err := b.Modules(b.ctx, store.Classifiers, b.tenant)
	require.NoError(t, err)
	require.Len(t, list, 1)
}
