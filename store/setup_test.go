package store_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/store"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue { // each is dozens of statements
		_ = f.Value.Set("8") // a number
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

// bundle is a migrated database of the test's own, with one worker that may claim.
type bundle struct {
	*store.Store
	t      testing.TB
	ctx    context.Context
	dsn    string
	tenant store.Tenant
	worker store.ID
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

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	dsn := pgtest.New(t, "store", migrate)
	s, err := store.Open(ctx, store.Options{URL: dsn})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	tenant, err := s.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	b := &bundle{Store: s, t: t, ctx: ctx, dsn: dsn, tenant: tenant}
	b.worker = b.register(time.Minute)
	return b
}

func (b *bundle) register(lease time.Duration) store.ID {
	b.t.Helper()
	id := store.NewID()
	require.NoError(b.t, b.Register(b.ctx, store.Worker{ID: id, Name: "test", Version: "test", Concurrency: 1, Queues: []string{"*"}}, lease))
	return id
}

func (b *bundle) enqueue(jobs ...store.NewJob) []store.ID {
	b.t.Helper()
	for i := range jobs {
		if jobs[i].Queue == "" {
			jobs[i].Queue = "default"
		}
		if jobs[i].Actor == "" {
			jobs[i].Actor = "noop"
		}
	}
	out, err := b.Enqueue(b.ctx, b.tenant, jobs)
	require.NoError(b.t, err)
	ids := make([]store.ID, len(out))
	for i := range out {
		ids[i] = out[i].ID
	}
	return ids
}

func (b *bundle) claim(limit int) []store.Claimed {
	b.t.Helper()
	return b.claimAs(b.worker, limit)
}

func (b *bundle) claimAs(worker store.ID, limit int) []store.Claimed {
	b.t.Helper()
	c, err := b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: worker, Lease: store.NewID(), Limit: limit})
	require.NoError(b.t, err)
	return c.Jobs
}

func (b *bundle) end(endings ...store.Ending) []store.Verdict {
	b.t.Helper()
	out, err := b.End(b.ctx, 0, b.worker, endings)
	require.NoError(b.t, err)
	return out
}

func (b *bundle) job(id store.ID) *store.Job {
	b.t.Helper()
	j, err := b.Job(b.ctx, b.tenant, id)
	require.NoError(b.t, err)
	return j
}

// places counts in how many places each job is; the first invariant wants one.
func (b *bundle) places() map[string]int {
	b.t.Helper()
	rows, err := b.Pool().Query(b.ctx, `
		WITH p AS (
			SELECT job_id FROM taskq.ready UNION ALL SELECT job_id FROM taskq.scheduled UNION ALL SELECT job_id FROM taskq.finished
			UNION ALL SELECT u.j FROM taskq.leases l, unnest(l.jobs) WITH ORDINALITY u(j, ix) WHERE get_bit(l.ended, (ix - 1)::int) = 0)
		SELECT j.job_id::text, count(p.job_id) FROM taskq.jobs j LEFT JOIN p USING (job_id) GROUP BY 1`)
	require.NoError(b.t, err)
	out := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		require.NoError(b.t, rows.Scan(&id, &n))
		out[id] = n
	}
	require.NoError(b.t, rows.Err())
	return out
}

func (b *bundle) requireOnePlaceEach() {
	b.t.Helper()
	for id, n := range b.places() {
		require.Equal(b.t, 1, n, "job %s is in %d places", id, n)
	}
}
