package chaos

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// paths are the statements that move jobs or keep them, by a text that only
// they have.
var paths = map[string]string{
	"enqueue":   "INSERT INTO taskq.jobs",
	"claim":     "INSERT INTO taskq.leases",
	"succeed":   "12 ELSE 10 END, queue_id",
	"end":       "INSERT INTO taskq.attempts",
	"heartbeat": "UPDATE taskq.workers",
	"promote":   "DELETE FROM taskq.scheduled s USING d",
	"expire":    "ORDER BY r.deadline LIMIT",
	"reclaim":   "DELETE FROM taskq.workers w USING p",
	"members":   "unnest(l.jobs, l.tenants, l.attempts, l.epochs) WITH ORDINALITY AS u(job_id, tenant_id, attempt, epoch, ix)\nJOIN",
	"commit":    "commit", // of a reclaim, above all
	"cancel":    "DELETE FROM taskq.ready r USING j",
	"register":  "INSERT INTO taskq.workers",
	"forget":    "NOT EXISTS (SELECT FROM taskq.leases l WHERE l.shard = $2",
}

// ownLedger is the number of the ledger of this process.
const ownLedger = 1_000_000

// inProcess starts a worker in this process, over that connection; its
// listener over another, if one is given.
func (r *run) inProcess(dsn, listen string) (stop func()) {
	r.t.Helper()
	l, err := openLedger(r.dir, ownLedger)
	require.NoError(r.t, err)
	s, err := store.Open(r.ctx, store.Options{URL: dsn, MaxConns: 8})
	require.NoError(r.t, err)
	e, err := host.New(host.Options{CacheDir: filepath.Join(r.dir, "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(r.t, err)
	c, err := catalog.New(s, e, hclog.NewNullLogger())
	require.NoError(r.t, err)
	live, err := config.Open(config.Sources{Files: []string{filepath.Join(r.dir, "taskq.yaml")}}, nil)
	require.NoError(r.t, err)
	w, err := worker.New(worker.Options{Store: s, Catalog: c, Config: live, Name: "pod-0", ListenURL: listen, Log: hclog.NewNullLogger(), Checkpoint: l.note})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(r.t, <-done)
		s.Close()
		require.NoError(r.t, e.Close(context.Background()))
		require.NoError(r.t, l.file.Close())
	}
}

// settle waits until nothing is unfinished and no lease is left.
func (r *run) settle(within time.Duration) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		n, err := r.unfinished()
		return err == nil && n == 0
	}, within, 20*time.Millisecond)
}

// The nth statement of each path fails, before the server saw it or after it
// ran and before its answer came. The same checker as for deaths.
func TestNothingIsLostOrDoubledWhenAStatementFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, after := range []bool{false, true} {
			name := path + "/before"
			if after {
				name = path + "/after"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				failStatements(t, &fault{statement: paths[path], nth: map[int]bool{1: true, 2: true, 4: true}, after: after})
			})
		}
	}
}

func failStatements(t *testing.T, f *fault) {
	r := newRun(t)
	p := newProxy(t, r.dsn)
	through, err := store.Open(r.ctx, store.Options{URL: p.dsn})
	require.NoError(t, err)
	defer through.Close()
	// A worker that dies at once, so that there is something to give back.
	r.enqueue(t, r.store, 12)
	doomed := r.spawn(r.dsn, doom{at: worker.Running, nth: 4})
	_ = doomed.wait() // it was killed, and says so

	p.fail(f)
	stop := r.inProcess(p.dsn, "")
	for range 6 {
		r.enqueue(t, through, 15)
	}
	if ids := r.enqueue(t, r.store, 15); len(ids) > 0 {
		for range 3 {
			_, _ = through.Cancel(r.ctx, r.tenant, ids[:3], time.Hour) // may fail: then it is asked again
		}
	}
	r.settle(time.Minute)
	stop()
	p.fail(nil)
	out := r.check()
	require.Empty(t, out.findings)
	require.NotZero(t, f.struck, "the fault was never met")
}

// enqueue stores jobs of the mix; a call that fails has promised nothing.
func (r *run) enqueue(t *testing.T, s *store.Store, n int) (ids []store.ID) {
	t.Helper()
	rng := r.rng(uint64(len(r.enqueued)))
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = draw(rng)
	}
	out, err := s.Enqueue(r.ctx, r.tenant, jobs)
	if err != nil {
		return nil
	}
	for _, e := range out {
		ids = append(ids, e.ID)
	}
	r.enqueued = append(r.enqueued, ids...)
	_ = r.store.Notify(r.ctx, "default")
	return ids
}
