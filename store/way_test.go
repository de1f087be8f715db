package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

func TestAJobGoesFromReadyThroughALeaseToFinished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{Payload: []byte(`{"n":1}`), Tags: []string{"a", "b"}, Headers: map[string]string{"k": "v"}, Version: 3})
	require.Equal(t, store.Pending, b.job(ids[0]).Status)

	claimed := b.claim(10)
	require.Len(t, claimed, 1)
	c := claimed[0]
	require.Equal(t, ids[0], c.ID)
	require.Equal(t, 1, c.Attempt)
	require.EqualValues(t, 1, c.Epoch)
	require.Equal(t, []byte(`{"n":1}`), c.Payload)
	require.Equal(t, []string{"a", "b"}, c.Tags)
	require.Equal(t, map[string]string{"k": "v"}, c.Headers)
	require.Equal(t, 3, c.Version)
	require.Equal(t, store.Running, b.job(ids[0]).Status)

	verdicts := b.end(store.Ending{Lease: c.Lease, Index: c.Index, Action: store.End, Status: store.Succeeded, Result: []byte(`{"ok":true}`), Version: 3, Keep: time.Hour})
	require.Equal(t, []store.Verdict{{Lease: c.Lease, Index: 1, Status: store.Succeeded}}, verdicts)
	j := b.job(ids[0])
	require.Equal(t, store.Succeeded, j.Status)
	require.JSONEq(t, `{"ok":true}`, string(j.Result))
	require.Equal(t, 1, j.Attempt)
	b.requireOnePlaceEach()

	attempts, err := b.Attempts(b.ctx, b.tenant, ids[0])
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Equal(t, store.AttemptSucceeded, attempts[0].Outcome)
}

func TestAFailureKeepsItsRecordAndComesBackWhenDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{})
	c := b.claim(1)[0]
	delay := int64(20)
	b.end(store.Ending{
		Lease: c.Lease, Index: c.Index, Action: store.Reschedule, Delay: 20 * time.Millisecond, Reason: store.ReasonRetry,
		Extra: &store.Extra{Previous: &store.PreviousFailure{Class: "acme.Oops", Message: "no"}},
		Attempt: &store.AttemptRow{
			Outcome: store.AttemptFailed, ErrorClass: "acme.Oops", Ancestors: []string{"acme.Base", "error"}, Message: "no", Stack: "at x",
			Record: `{"details":"\u0000"}`, DecidedBy: "policy", RetryKind: "transient", DelayMS: &delay, Policy: []byte(`{"kind":"transient"}`), Digest: []byte{1, 2}, Origin: "guest",
		},
	})
	j := b.job(ids[0])
	require.Contains(t, []store.Status{store.Scheduled, store.Pending}, j.Status)
	require.Equal(t, "acme.Oops", j.ErrorClass)
	b.requireOnePlaceEach()
	require.Eventually(t, func() bool {
		moved, _, err := b.Promote(b.ctx, 0, 10)
		require.NoError(t, err)
		return moved == 1
	}, 5*time.Second, 5*time.Millisecond)
	b.requireOnePlaceEach()
	again := b.claim(1)
	require.Len(t, again, 1)
	require.Equal(t, 2, again[0].Attempt)
	require.EqualValues(t, 2, again[0].Epoch)
	require.Equal(t, "acme.Oops", again[0].Extra.Previous.Class)

	attempts, err := b.Attempts(b.ctx, b.tenant, ids[0])
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Equal(t, []string{"acme.Base", "error"}, attempts[0].Ancestors)
	require.JSONEq(t, `{"details":"\u0000"}`, string(attempts[0].Record))
	require.Equal(t, "0102", attempts[0].Digest)
}

func TestARefundedAttemptIsGivenBackButItsEpochIsNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(store.NewJob{})
	c := b.claim(1)[0]
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.Release})
	c = b.claim(1)[0]
	require.Equal(t, 1, c.Attempt)
	require.EqualValues(t, 2, c.Epoch)
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.Reschedule, GiveBack: true, Reason: store.ReasonSnooze, Attempt: &store.AttemptRow{Outcome: store.AttemptSnoozed}})
	_, _, err := b.Promote(b.ctx, 0, 10)
	require.NoError(t, err)
	c = b.claim(1)[0]
	require.Equal(t, 1, c.Attempt)
	require.EqualValues(t, 3, c.Epoch)
	b.end(store.Ending{Lease: c.Lease, Index: 1, Action: store.Interrupt})
	c = b.claim(1)[0]
	require.Equal(t, 2, c.Attempt, "an interrupted attempt is spent")
	events, err := b.Events(b.ctx, b.tenant, c.ID)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "interrupted", events[0].Event)
}

func TestALateWriteChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(store.NewJob{}, store.NewJob{})
	c := b.claim(2)
	done := store.Ending{Lease: c[0].Lease, Index: 1, Action: store.End, Status: store.Succeeded, Keep: time.Hour}
	require.Len(t, b.end(done), 1)
	require.Empty(t, b.end(done), "the member's bit is set")
	failed := store.Ending{Lease: c[0].Lease, Index: 1, Action: store.End, Status: store.Failed, ErrorClass: "X", Keep: time.Hour}
	require.Empty(t, b.end(failed))
	other := b.register(time.Minute)
	out, err := b.End(b.ctx, 0, other, []store.Ending{{Lease: c[1].Lease, Index: 2, Action: store.End, Status: store.Succeeded}})
	require.NoError(t, err)
	require.Empty(t, out, "another worker's lease")
	require.Len(t, b.end(store.Ending{Lease: c[1].Lease, Index: 2, Action: store.End, Status: store.Succeeded, Keep: time.Hour}), 1)
	require.Empty(t, b.end(done), "the lease is gone")
	b.requireOnePlaceEach()
	var leases int
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.leases").Scan(&leases))
	require.Zero(t, leases)
}

func TestTheDeadlineIsArbitratedWhereTheRetryIsWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{ScheduleToClose: time.Minute}, store.NewJob{ScheduleToClose: time.Minute})
	c := b.claim(2)
	verdicts := b.end(
		store.Ending{Lease: c[0].Lease, Index: 1, Action: store.Reschedule, Delay: 2 * time.Minute, FailKeep: time.Hour, Attempt: &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "acme.Oops"}},
		store.Ending{Lease: c[1].Lease, Index: 2, Action: store.Reschedule, Delay: 30 * time.Second, FailKeep: time.Hour, Attempt: &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "acme.Oops"}},
	)
	require.Len(t, verdicts, 2)
	late := b.job(ids[0])
	require.Equal(t, store.Failed, late.Status)
	require.Equal(t, "DeadlineExceeded", late.ErrorClass)
	require.Equal(t, "schedule_to_close reached before next dispatch", late.Message)
	require.EqualValues(t, 3, late.DeadReason)
	require.Equal(t, store.Scheduled, b.job(ids[1]).Status)
	require.NotNil(t, b.job(ids[1]).Deadline)
	b.requireOnePlaceEach()
}

func TestAQueuedJobPastItsDeadlineIsNotClaimedAndIsSwept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{ScheduleToClose: time.Millisecond}, store.NewJob{})
	require.Eventually(t, func() bool {
		n, err := b.ExpireDeadlines(b.ctx, 0, 10, time.Hour)
		require.NoError(t, err)
		return n == 1
	}, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, "DeadlineExceeded", b.job(ids[0]).ErrorClass)
	c := b.claim(10)
	require.Len(t, c, 1)
	require.Equal(t, ids[1], c[0].ID)
}

func TestAnEnqueuePastItsOwnDeadlineIsRefusedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Enqueue(b.ctx, b.tenant, []store.NewJob{{Queue: "default", Actor: "a"}, {Queue: "default", Actor: "a", Delay: time.Hour, ScheduleToClose: time.Minute}})
	var late *store.LateError
	require.ErrorAs(t, err, &late)
	require.Equal(t, 1, late.Index)
	require.Empty(t, b.places())
}

func TestCancelOfAQueuedJobEndsItAndOfARunningOneIsCountedAtItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{Delay: time.Hour}, store.NewJob{})
	running := b.claim(2)
	b.end(store.Ending{Lease: running[1].Lease, Index: 2, Action: store.Release}) // moved back to ready
	unknown := store.NewID()
	got, err := b.Cancel(b.ctx, b.tenant, append(ids, unknown), time.Hour)
	require.NoError(t, err)
	require.Equal(t, map[store.ID]store.CancelResult{
		ids[0]: store.CancelRequested, ids[1]: store.CancelDone, ids[2]: store.CancelDone, ids[3]: store.CancelDone, unknown: store.CancelUnknown,
	}, got)
	require.True(t, b.job(ids[0]).Cancelling)
	require.Len(t, b.end(store.Ending{Lease: running[0].Lease, Index: 1, Action: store.End, Status: store.Succeeded, Result: []byte("1"), Keep: time.Hour}), 1)
	for _, id := range ids {
		require.Equal(t, store.Cancelled, b.job(id).Status)
	}
	require.Nil(t, b.job(ids[0]).Result, "its result is dropped")
	b.requireOnePlaceEach()
	got, err = b.Cancel(b.ctx, b.tenant, ids[:1], time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.CancelTooLate, got[ids[0]])
}

func TestADeadWorkersMembersAreHandedBackOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{})
	dying := b.register(time.Millisecond * 200)
	c := b.claimAs(dying, 3)
	require.Len(t, c, 3)
	_, err := b.End(b.ctx, 0, dying, []store.Ending{{Lease: c[1].Lease, Index: 2, Action: store.End, Status: store.Succeeded, Keep: time.Hour}})
	require.NoError(t, err)
	decide := func(_ time.Time, orphans []store.Orphan) (out []store.Ending) {
		for _, o := range orphans {
			out = append(out, store.Ending{Lease: o.Lease, Index: o.Index, Action: store.Reschedule, Reason: store.ReasonReclaim, FailKeep: time.Hour,
				Attempt: &store.AttemptRow{Outcome: store.AttemptCrashed, ErrorClass: "WorkerCrashed"}})
		}
		return out
	}
	require.Eventually(t, func() bool {
		n, err := b.Reclaim(b.ctx, 0, 10, decide)
		require.NoError(t, err)
		return n == 2
	}, 5*time.Second, 20*time.Millisecond)
	n, err := b.Reclaim(b.ctx, 0, 10, decide)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = b.Heartbeat(b.ctx, 0, dying, time.Minute, false)
	require.ErrorIs(t, err, store.ErrWorkerLost)
	require.Empty(t, b.claimAs(dying, 3), "a worker whose lease is over claims nothing")
	out, err := b.End(b.ctx, 0, dying, []store.Ending{{Lease: c[0].Lease, Index: 1, Action: store.End, Status: store.Succeeded}})
	require.NoError(t, err)
	require.Empty(t, out)
	b.requireOnePlaceEach()
	_, _, err = b.Promote(b.ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, b.claim(10), 2)
}

func TestAHeartbeatAnswersWhatTheWorkerHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(store.NewJob{}, store.NewJob{}, store.NewJob{})
	c := b.claim(3)
	b.end(store.Ending{Lease: c[0].Lease, Index: 1, Action: store.End, Status: store.Succeeded, Keep: time.Hour})
	_, err := b.Cancel(b.ctx, b.tenant, []store.ID{c[2].ID}, time.Hour)
	require.NoError(t, err)
	held, err := b.Heartbeat(b.ctx, 0, b.worker, time.Minute, false)
	require.NoError(t, err)
	require.Equal(t, []store.HeldLease{{ID: c[0].Lease, Members: []store.HeldMember{
		{Index: 2, Job: c[1].ID, Epoch: 1}, {Index: 3, Job: c[2].ID, Epoch: 1, Cancelled: true},
	}}}, held)
}

func TestListsAreByTenantNewestFirstAndPageOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{Actor: "a"}, store.NewJob{Actor: "b", Delay: time.Hour}, store.NewJob{Actor: "a", Tags: []string{"x"}})
	page, next, err := b.ListJobs(b.ctx, b.tenant, store.JobFilter{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, ids[2], page[0].ID)
	page, _, err = b.ListJobs(b.ctx, b.tenant, store.JobFilter{Limit: 2, Before: next})
	require.NoError(t, err)
	require.Len(t, page, 1)
	page, _, err = b.ListJobs(b.ctx, b.tenant, store.JobFilter{Limit: 5, Status: []store.Status{store.Scheduled}})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, ids[1], page[0].ID)
	page, _, err = b.ListJobs(b.ctx, b.tenant, store.JobFilter{Limit: 5, Actor: "a", Tag: "x"})
	require.NoError(t, err)
	require.Len(t, page, 1)
}
