package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

const lease = 3 * time.Second

const settings = `
worker: {concurrency: 4, poll_interval: 100ms, batch_size: 20}
lease: {heartbeat_interval: 200ms, heartbeat_command_timeout: 200ms, max_heartbeat_failures: 1, lock_lease: 3s}
stop: {drain: 2s, cancellation_grace: 300ms, cleanup_grace: 5s}
defaults: {retry: {base: 20ms, cap: 1s}}
`

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		runChild()
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait more than they work
		panic(err)
	}
	os.Exit(m.Run())
}

// run is a database under load, with worker processes that come and go.
type run struct {
	t      *testing.T
	ctx    context.Context
	dsn    string
	dir    string
	store  *store.Store
	tenant store.Tenant
	seed   uint64

	mu        sync.Mutex
	processes []*process
	kills     map[string]int
	enqueued  []store.ID // that the store said it had
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

// actors are the guests of the load: quick ones, failing ones, one that asks
// for a later time, one that runs until it is stopped.
var actors = []string{"noop", "fail", "defer", "loop"}

func newRun(t *testing.T) *run {
	t.Helper()
	return runOn(t, pgtest.New(t, "chaos", migrate))
}

// runOn makes a run over a migrated database.
func runOn(t *testing.T, dsn string) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r := &run{t: t, ctx: ctx, dsn: dsn, dir: t.TempDir(), kills: map[string]int{}, seed: uint64(time.Now().UnixNano())}
	t.Logf("seed %d", r.seed)
	t.Cleanup(r.killAll)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "taskq.yaml"), []byte(settings), 0o600))
	var err error
	r.store, err = store.Open(ctx, store.Options{URL: dsn})
	require.NoError(t, err)
	t.Cleanup(r.store.Close)
	r.tenant, err = r.store.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	e, err := host.New(host.Options{CacheDir: filepath.Join(r.dir, "cache"), Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(ctx)) }()
	c, err := catalog.New(r.store, e, hclog.NewNullLogger())
	require.NoError(t, err)
	for _, name := range actors {
		wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
		require.NoError(t, err)
		_, err = c.Push(ctx, r.tenant, name, wasm)
		require.NoError(t, err)
	}
	return r
}

func (r *run) killAll() {
	for _, p := range r.processes {
		if p.cmd.Process != nil {
			_ = p.cmd.Process.Kill() // gone already, most often
		}
	}
}

func (r *run) rng(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, stream)) }

// draw makes one job of the mix.
func draw(rng *rand.Rand) store.NewJob {
	j := store.NewJob{Queue: "default", Actor: "noop", Priority: rng.IntN(10)}
	options := func(retry string) *store.JobOptions { return &store.JobOptions{Retry: []byte(retry)} }
	switch n := rng.IntN(100); {
	case n < 50:
	case n < 60:
		j.Options = options(`{"max_attempts":2}`)
	case n < 65:
		j.Options = options(`{"kind":"non_retryable"}`)
	case n < 70:
		j.Options = options(`{"kind":"indefinite"}`)
	case n < 80:
		j.Actor, j.Payload = "fail", []byte(`{"class":"acme.Oops","message":"no"}1`)
	case n < 81:
		j.Actor, j.Payload, j.ContentType, j.Options = "defer", []byte("r"), "text/plain", options(`{"max_attempts":2}`)
	case n < 90:
		j.Delay = time.Duration(rng.Int64N(int64(2 * time.Second)))
	case n < 93:
		j.ScheduleToClose = time.Second + time.Duration(rng.Int64N(int64(5*time.Second)))
	default:
		j.Actor, j.Options = "loop", options(`{"max_attempts":2}`)
		j.Options.StartToCloseMS = 5 + rng.Int64N(40)
	}
	return j
}

// load keeps so many jobs unfinished until stop is closed, and cancels one now
// and then.
func (r *run) load(stop <-chan struct{}, backlog int) {
	rng := r.rng(1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if n, err := r.unfinished(); err != nil || n >= backlog {
			continue
		}
		jobs := make([]store.NewJob, 40)
		for i := range jobs {
			jobs[i] = draw(rng)
		}
		out, err := r.store.Enqueue(r.ctx, r.tenant, jobs)
		if err != nil { // only what was acknowledged must not be lost
			continue
		}
		r.mu.Lock()
		for _, e := range out {
			r.enqueued = append(r.enqueued, e.ID)
		}
		victim := r.enqueued[max(0, len(r.enqueued)-1-rng.IntN(200))]
		r.mu.Unlock()
		if rng.IntN(3) == 0 {
			_, _ = r.store.Cancel(r.ctx, r.tenant, []store.ID{victim}, time.Hour) // may be too late, or fail with the database
		}
		_ = r.store.Notify(r.ctx, "default") // a hint
	}
}

const unfinishedSQL = `
SELECT (SELECT count(*) FROM taskq.ready) + (SELECT count(*) FROM taskq.scheduled)
     + (SELECT coalesce(sum(length(replace((~ended)::text, '0', ''))), 0)::bigint FROM taskq.leases)`

// unfinished counts the jobs that have not ended.
func (r *run) unfinished() (n int, err error) {
	err = r.store.Pool().QueryRow(r.ctx, unfinishedSQL).Scan(&n)
	return n, err
}

// slaughter keeps some worker processes alive and lets so many die. One more
// lives all the time: where everybody dies within moments, nobody has the time
// to give back what the dead held, and how long that takes says nothing.
func (r *run) slaughter(workers, kills int) {
	survivor := r.spawn(r.dsn, doom{})
	defer r.stopAll(survivor)
	var next, dead atomic.Int64
	var keepers sync.WaitGroup
	for range workers {
		keepers.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(kills) || r.t.Failed() {
					return
				}
				name, d := drawDoom(r.rng(100+uint64(i)), int(i))
				r.one(name, d)
				if n := dead.Add(1); n%100 == 0 {
					r.t.Logf("%d kills", n)
				}
			}
		})
	}
	keepers.Wait()
}

// one lets a process live until its doom, or for a while if that doesn't come.
func (r *run) one(name string, d doom) {
	p := r.spawn(r.dsn, d)
	most := 4 * time.Second
	if d.at == atRandom {
		most = d.delay
	}
	timer := time.AfterFunc(most, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	err := p.wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		r.t.Errorf("a worker that was to die at %s ended otherwise: %v", name, err)
		return
	}
	r.mu.Lock()
	r.kills[name]++
	r.mu.Unlock()
}

// finish lets healthy workers end what is left, and stops them as a deploy does.
func (r *run) finish(dsn string, within time.Duration) {
	r.t.Helper()
	var healthy []*process
	for range 2 {
		healthy = append(healthy, r.spawn(dsn, doom{}))
	}
	var left int
	require.Eventually(r.t, func() bool {
		n, err := r.unfinished()
		left = n
		return err == nil && n == 0
	}, within, 50*time.Millisecond, "%s", lazy(func() string { return fmt.Sprintf("%d jobs are still unfinished", left) }))
	for _, p := range healthy {
		p.signal(r.t, syscall.SIGTERM)
	}
	for _, p := range healthy {
		require.NoError(r.t, p.wait(), "a graceful stop exits 0")
	}
}

// lazy is a message that is made when it is printed.
type lazy func() string

func (l lazy) String() string { return l() }
