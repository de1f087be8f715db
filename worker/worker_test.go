package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

func TestAResultIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("echo")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "echo", Payload: []byte(`{"hello":"world"}`)})[0]
	j := b.settled(id)
	require.Equal(t, store.Succeeded, j.Status)
	require.JSONEq(t, `{"hello":"world"}`, string(j.Result))
	require.Equal(t, 1, j.Attempt)
	require.Equal(t, 1, j.Version)
}

func TestEachDeathBecomesARecordedFailureAndTheWorkerLivesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("loop", "recursion-without-loop", "memory-bomb", "exit", "result-flood", "bad-pointers", "noop")
	b.start()
	once := retryOptions(`{"max_attempts":1}`)
	for _, c := range []struct {
		actor, class, by, reason string
		payload                  string
	}{
		{actor: "loop", class: "TimeoutError", by: "policy", reason: "exhausted"},
		{actor: "recursion-without-loop", class: "TimeoutError", by: "policy", reason: "exhausted"},
		{actor: "memory-bomb", class: "GuestOutOfMemory", by: "policy", reason: "exhausted"},
		{actor: "result-flood", class: "ResultTooLarge", by: "always_terminal", reason: "result_too_large"},
		{actor: "bad-pointers", payload: "a", class: "AbiViolation", by: "always_terminal", reason: "non_retryable"},
	} {
		o := *once
		o.StartToCloseMS = 300
		id := b.enqueue(store.NewJob{Actor: c.actor, Payload: []byte(c.payload), Options: &o})[0]
		j := b.settled(id)
		require.Equal(t, store.Failed, j.Status, c.actor)
		require.Equal(t, c.class, j.ErrorClass, "%s: %s", c.actor, j.Message)
		require.Equal(t, c.by, j.DecidedBy, c.actor)
		require.NotZero(t, j.DeadReason, c.actor)
		a := b.attempts(id)
		require.Len(t, a, 1, c.actor)
		require.Contains(t, string(a[0].Policy), `"max_attempts": 1`)
		require.NotEmpty(t, a[0].Digest)
	}
	require.Equal(t, store.Succeeded, b.settled(b.enqueue(store.NewJob{Actor: "noop"})[0]).Status)
}

func TestAFailureIsRetriedOnTheCurveUntilItsBudgetIsSpent(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("fail")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: []byte(`{"class":"acme.Oops","ancestors":["acme.Base"],"message":"no"}1`)})[0]
	j := b.settled(id)
	require.Equal(t, store.Failed, j.Status)
	require.Equal(t, 3, j.Attempt)
	a := b.attempts(id)
	require.Len(t, a, 3)
	for i, delay := range []float64{20, 40} {
		require.InDelta(t, delay, float64(*a[i].DelayMS), 0.2*delay+1)
		require.False(t, a[i+1].StartedAt.Before(a[i].FinishedAt), "two attempts never overlap")
	}
	require.Nil(t, a[2].DelayMS)
	require.Equal(t, []string{"acme.Base"}, a[0].Ancestors)
}

func TestAMarkOfTheGuestDecides(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("fail")
	b.start()
	permanent := b.enqueue(store.NewJob{Actor: "fail", Payload: []byte(`{"class":"x","message":"m","permanent":true}1`)})[0]
	retryable := b.enqueue(store.NewJob{Actor: "fail", Payload: []byte(`{"class":"x","message":"m","retryable":true}1`), Options: retryOptions(`{"kind":"non_retryable","max_attempts":2}`)})[0]
	j := b.settled(permanent)
	require.Equal(t, 1, j.Attempt)
	require.Equal(t, "guest", j.DecidedBy)
	j = b.settled(retryable)
	require.Equal(t, 2, j.Attempt, "a guest's mark lifts non_retryable to transient, within the budget")
}

func TestASnoozeCostsNoAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("defer")
	b.start()
	snoozed := b.enqueue(store.NewJob{Actor: "defer", Payload: []byte("s"), ContentType: "text/plain", Options: retryOptions(`{"max_attempts":1}`)})[0]
	spent := b.enqueue(store.NewJob{Actor: "defer", Payload: []byte("r"), ContentType: "text/plain", Options: retryOptions(`{"max_attempts":1}`)})[0]
	kept := b.enqueue(store.NewJob{Actor: "defer", Payload: []byte("k"), ContentType: "text/plain", Options: retryOptions(`{"max_attempts":1}`)})[0]
	for id, reason := range map[store.ID]store.ScheduleReason{snoozed: store.ReasonSnooze, kept: store.ReasonRetryAfter} {
		j := b.when(id, func(j *store.Job) bool { return j.Status == store.Scheduled })
		require.Zero(t, j.Attempt)
		require.Equal(t, reason, j.Reason)
	}
	require.Equal(t, 1, b.job(snoozed).Extra.Snoozes)
	j := b.settled(spent)
	require.Equal(t, "MaxAttemptsExceeded", j.ErrorClass)
}

func TestAnUnknownActorIsADeadLetterAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.start()
	j := b.settled(b.enqueue(store.NewJob{Actor: "nobody"})[0])
	require.Equal(t, "Unroutable", j.ErrorClass)
	require.EqualValues(t, 6, j.DeadReason)
}

func TestManyJobsEndExactlyOnceUnderSeveralWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("noop")
	const n = 3_000
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = store.NewJob{Actor: "noop"}
	}
	b.enqueue(jobs...)
	for range 3 {
		b.start()
	}
	count := func() (finished int) {
		require.NoError(t, b.store.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.finished WHERE status = 10").Scan(&finished))
		return finished
	}
	require.Eventually(t, func() bool { return count() == n }, 40*time.Second, 20*time.Millisecond)
	var distinct, left int
	require.NoError(t, b.store.Pool().QueryRow(b.ctx, "SELECT count(DISTINCT job_id), (SELECT count(*) FROM taskq.ready) + (SELECT count(*) FROM taskq.scheduled) FROM taskq.finished").Scan(&distinct, &left))
	require.Equal(t, n, distinct)
	require.Zero(t, left)
	require.Eventually(t, func() bool {
		require.NoError(t, b.store.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.leases").Scan(&left))
		return left == 0
	}, 5*time.Second, 10*time.Millisecond)
}

func TestARunningJobIsCancelledAfterItsGrace(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("loop", "heartbeat")
	b.start()
	for _, actor := range []string{"loop", "heartbeat"} { // one doesn't listen, one does
		id := b.enqueue(store.NewJob{Actor: actor})[0]
		b.when(id, func(j *store.Job) bool { return j.Status == store.Running })
		got, err := b.store.Cancel(b.ctx, b.tenant, []store.ID{id}, time.Hour)
		require.NoError(t, err)
		require.Equal(t, store.CancelRequested, got[id])
		require.NoError(t, b.store.NotifyCancel(b.ctx))
		require.Equal(t, store.Cancelled, b.settled(id).Status)
	}
}

func TestAGracefulStopGivesBackWhatItInterrupts(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("loop", "noop")
	begun := make(chan struct{}, 2)
	w, stop := b.startWith(worker.Options{Checkpoint: func(at worker.Point, _ *store.Claimed) {
		if at == worker.Running { // a claim whose guest never began is given back with its attempt
			begun <- struct{}{}
		}
	}})
	id := b.enqueue(store.NewJob{Actor: "loop"})[0]
	last := b.enqueue(store.NewJob{Actor: "loop", Options: retryOptions(`{"max_attempts":1}`)})[0]
	<-begun
	<-begun
	go w.Hurry()
	stop()
	j := b.job(id)
	require.Equal(t, store.Pending, j.Status)
	require.Equal(t, 1, j.Attempt, "the attempt is spent")
	require.Empty(t, b.attempts(id))
	events, err := b.store.Events(b.ctx, b.tenant, id)
	require.NoError(t, err)
	require.Len(t, events, 1)
	j = b.job(last)
	require.Equal(t, store.Crashed, j.Status)
	require.Equal(t, "WorkerStopped", j.ErrorClass)
	workers, err := b.store.Workers(b.ctx)
	require.NoError(t, err)
	require.Empty(t, workers, "a worker that has stopped is off the list")
}
