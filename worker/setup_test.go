package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// childEnv makes this test binary a worker process of its own: see process.
const childEnv = "TASKQ_TEST_WORKER"

// podName is every worker's name: what a process may do hangs on an identity
// that is random per boot, never on a name that its successor has too.
const podName = "pod-0"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childEnv); dsn != "" {
		runChild(dsn)
		return
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func migrate(ctx context.Context, dsn string) error {
	s, err := store.Open(ctx, store.Options{URL: dsn})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Migrate(ctx)
	return err
}

// bundle is a database with an engine and a catalog over it.
type bundle struct {
	t       *testing.T
	ctx     context.Context
	dsn     string
	store   *store.Store
	catalog *catalog.Catalog
	config  *config.Live
	tenant  store.Tenant
}

const quick = `
worker: {concurrency: 8, poll_interval: 50ms, batch_size: 20}
lease: {heartbeat_interval: 200ms, heartbeat_command_timeout: 200ms, max_heartbeat_failures: 1, lock_lease: 3s}
stop: {drain: 5s, cancellation_grace: 300ms, cleanup_grace: 1s}
defaults: {retry: {base: 20ms, cap: 1s}}
`

func setup(t *testing.T, yaml string) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	dsn := pgtest.New(t, "worker", migrate)
	return open(ctx, t, dsn, yaml)
}

func open(ctx context.Context, t *testing.T, dsn, yaml string) *bundle {
	t.Helper()
	s, err := store.Open(ctx, store.Options{URL: dsn})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	e, err := host.New(host.Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	c, err := catalog.New(s, e, hclog.NewNullLogger())
	require.NoError(t, err)
	tenant, err := s.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "taskq.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	live, err := config.Open(config.Sources{Files: []string{file}}, nil)
	require.NoError(t, err)
	return &bundle{t: t, ctx: ctx, dsn: dsn, store: s, catalog: c, config: live, tenant: tenant}
}

// push uploads fixtures under their own names.
func (b *bundle) push(names ...string) {
	b.t.Helper()
	for _, name := range names {
		wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
		require.NoError(b.t, err)
		_, err = b.catalog.Push(b.ctx, b.tenant, name, wasm)
		require.NoError(b.t, err)
	}
}

// start runs a worker until the test ends or stop is called.
func (b *bundle) start() (w *worker.Worker, stop func()) {
	b.t.Helper()
	w, err := worker.New(worker.Options{Store: b.store, Catalog: b.catalog, Config: b.config, Name: podName, Version: "test", Log: hclog.NewNullLogger()})
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(b.t, <-done)
	}
	b.t.Cleanup(stop)
	return w, stop
}

func (b *bundle) enqueue(jobs ...store.NewJob) []store.ID {
	b.t.Helper()
	for i := range jobs {
		if jobs[i].Queue == "" {
			jobs[i].Queue = "default"
		}
	}
	out, err := b.store.Enqueue(b.ctx, b.tenant, jobs)
	require.NoError(b.t, err)
	ids := make([]store.ID, len(out))
	for i := range out {
		ids[i] = out[i].ID
	}
	require.NoError(b.t, b.store.Notify(b.ctx, jobs[0].Queue))
	return ids
}

func (b *bundle) job(id store.ID) *store.Job {
	b.t.Helper()
	j, err := b.store.Job(b.ctx, b.tenant, id)
	require.NoError(b.t, err)
	return j
}

func (b *bundle) attempts(id store.ID) []store.Attempt {
	b.t.Helper()
	a, err := b.store.Attempts(b.ctx, b.tenant, id)
	require.NoError(b.t, err)
	return a
}

// settled waits until the job has ended.
func (b *bundle) settled(id store.ID) *store.Job {
	b.t.Helper()
	return b.when(id, func(j *store.Job) bool { return j.Status.Terminal() })
}

func (b *bundle) when(id store.ID, is func(*store.Job) bool) *store.Job {
	b.t.Helper()
	var j *store.Job
	require.Eventually(b.t, func() bool {
		j = b.job(id)
		return is(j)
	}, 30*time.Second, 10*time.Millisecond, "job %s", id)
	return j
}

func retryOptions(json string) *store.JobOptions { return &store.JobOptions{Retry: []byte(json)} }
