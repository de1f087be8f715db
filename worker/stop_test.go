package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// A live change of the policy took the budget away: the next claim ends the
// job without running it.
func TestTheGuardEndsAJobWhoseBudgetWasTakenAway(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("fail")
	_, stop := b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: []byte(`{"class":"acme.Oops","message":"no"}1`), Options: retryOptions(`{"base":"1h","cap":"2h"}`)})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Scheduled })
	stop()
	_, err := b.store.Pool().Exec(b.ctx, "UPDATE taskq.scheduled SET due_at = clock_timestamp()")
	require.NoError(t, err)
	b.config = b.reconfigure(quick + "tenants: {default: {defaults: {retry: {max_attempts: 1}}}}\n")
	b.start()
	j := b.settled(id)
	require.Equal(t, store.Failed, j.Status)
	require.Equal(t, "MaxAttemptsExceeded", j.ErrorClass)
	require.EqualValues(t, 1, j.DeadReason)
	a := b.attempts(id)
	require.Len(t, a, 2)
	require.True(t, a[1].PreActor, "it didn't run")
}

func (b *bundle) reconfigure(yaml string) *config.Live {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "other.yaml")
	require.NoError(b.t, os.WriteFile(file, []byte(yaml), 0o600))
	live, err := config.Open(config.Sources{Files: []string{file}}, nil)
	require.NoError(b.t, err)
	return live
}

func TestAJobWhoseRowCantBeReadFailsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("noop")
	ids := b.enqueue(store.NewJob{Actor: "noop"}, store.NewJob{Actor: "noop", Options: retryOptions(`{"max_attempts":1}`)}, store.NewJob{Actor: "noop"})
	_, err := b.store.Pool().Exec(b.ctx, `UPDATE taskq.jobs SET headers = '"nonsense"' WHERE job_id = $1`, ids[1].String())
	require.NoError(t, err)
	w, err := worker.New(worker.Options{Store: b.store, Catalog: b.catalog, Config: b.config, Name: podName, Log: hclog.NewNullLogger()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	require.Equal(t, store.Succeeded, b.settled(ids[0]).Status)
	require.Equal(t, store.Succeeded, b.settled(ids[2]).Status)
	require.Eventually(t, func() bool { return len(b.attempts(ids[1])) > 0 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, "HostFault", b.attempts(ids[1])[0].ErrorClass)
	cancel()
	require.NoError(t, <-done)
}

// A second signal ends the wait for guests that don't finish; nothing else
// has to be waited for.
func TestHurryEndsThePhaseOfAStop(t *testing.T) {
	t.Parallel()
	b := setup(t, `
worker: {concurrency: 4, poll_interval: 50ms}
stop: {drain: 1h, cancellation_grace: 300ms, cleanup_grace: 10s}
`)
	b.push("loop")
	w, stop := b.start()
	id := b.enqueue(store.NewJob{Actor: "loop", Options: &store.JobOptions{StartToCloseMS: 3_600_000}})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Running })
	began := time.Now()
	go func() {
		<-time.After(300 * time.Millisecond)
		w.Hurry()
	}()
	stop()
	require.Greater(t, time.Since(began), 250*time.Millisecond, "it waited until then")
	require.Less(t, time.Since(began), 8*time.Second)
	require.Equal(t, store.Pending, b.job(id).Status)
}

// Claims that no guest saw are given back with their attempt.
func TestAStopRefundsWhatNeverStarted(t *testing.T) {
	t.Parallel()
	b := setup(t, `
worker: {concurrency: 1, poll_interval: 20ms, batch_size: 20, prefetch: 10s}
stop: {drain: 100ms, cancellation_grace: 300ms, cleanup_grace: 10s}
`)
	b.push("noop", "loop")
	w, stop := b.start()
	for range 20 { // so that it knows how short attempts are, and claims ahead
		b.settled(b.enqueue(store.NewJob{Actor: "noop"})[0])
	}
	jobs := make([]store.NewJob, 10)
	for i := range jobs {
		jobs[i] = store.NewJob{Actor: "loop", Options: &store.JobOptions{StartToCloseMS: 60_000}}
	}
	ids := b.enqueue(jobs...)
	require.Eventually(t, func() bool { return w.Stats().Claimed.Load() >= 25 }, 20*time.Second, 5*time.Millisecond)
	stop()
	spent := 0
	for _, id := range ids {
		j := b.job(id)
		require.Equal(t, store.Pending, j.Status)
		spent += j.Attempt
	}
	require.Equal(t, 1, spent, "only the one that ran")
}
