package chaos

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A deploy under load: workers are replaced one by one. What they hadn't
// started is given back with its attempt, what runs ends by itself, and the
// others go on meanwhile.
func TestARollingRestartCostsNoAttemptAndNoPause(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	r := newRun(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.load(stop, 150)
	}()
	workers := []*process{r.spawn(r.dsn, doom{}), r.spawn(r.dsn, doom{})}
	for i := range 6 {
		<-time.After(500 * time.Millisecond)
		old := workers[i%2]
		old.signal(t, syscall.SIGTERM)
		require.NoError(t, old.wait(), "it exits 0")
		workers[i%2] = r.spawn(r.dsn, doom{})
	}
	close(stop)
	<-stopped
	for _, p := range workers {
		p.signal(t, syscall.SIGTERM)
		require.NoError(t, p.wait())
	}
	r.finish(r.dsn, time.Minute)
	out := r.check()
	require.Empty(t, out.findings)
	var crashed, interrupted int
	require.NoError(t, r.store.Pool().QueryRow(r.ctx, `SELECT (SELECT count(*) FROM taskq.attempts WHERE outcome = 4) + (SELECT count(*) FROM taskq.finished WHERE status = 13),
		(SELECT count(*) FROM taskq.events WHERE event = 'interrupted')`).Scan(&crashed, &interrupted))
	require.Zero(t, crashed, "no attempt was spent on a restart")
	require.Zero(t, interrupted, "every guest ended within stop.drain")
	var gap float64
	require.NoError(t, r.store.Pool().QueryRow(r.ctx, `SELECT max(extract(epoch FROM finished_at - before)) FROM (
		SELECT finished_at, lag(finished_at) OVER (ORDER BY finished_at) AS before FROM taskq.finished
		WHERE finished_at < (SELECT max(created_at) FROM taskq.jobs)) x`).Scan(&gap))
	t.Logf("%d jobs, longest pause %.0f ms", out.Jobs, gap*1000)
	require.Less(t, gap, 2.0, "seconds without a job that ended")
}
