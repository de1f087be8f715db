package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// tenants makes n more tenants and gives each the wanted number of ready jobs.
func (b *bundle) tenants(n int, jobs func(i int) int) []store.Tenant {
	b.t.Helper()
	out := make([]store.Tenant, n)
	for i := range n {
		name := fmt.Sprintf("t%05d", i)
		_, err := b.Pool().Exec(b.ctx, "INSERT INTO taskq.tenants (tenant_id, name) VALUES ($1, $2)", 100+i, name)
		require.NoError(b.t, err)
		out[i], err = b.Tenant(b.ctx, name)
		require.NoError(b.t, err)
		if count := jobs(i); count > 0 {
			_, err := b.Enqueue(b.ctx, out[i], make1(count))
			require.NoError(b.t, err)
		}
	}
	return out
}

func make1(n int) []store.NewJob {
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = store.NewJob{Queue: "default", Actor: "noop"}
	}
	return jobs
}

func TestAClaimSharesItsBatchEquallyAmongTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tenants(4, func(i int) int { return []int{500, 3, 500, 500}[i] })
	got := map[int32]int{}
	for _, c := range b.claim(40) {
		got[c.Tenant]++
	}
	require.Equal(t, map[int32]int{100: 10, 101: 3, 102: 10, 103: 10}, got)
}

func TestClaimsRotateSoThatNoTenantWaitsForTheOthersBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tenants(30, func(i int) int { return 100 })
	seen := map[int32]int{}
	var after store.Cursor
	for range 3 { // 30 tenants, 10 a claim
		c, err := b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: b.worker, Lease: store.NewID(), Limit: 10, After: after})
		require.NoError(t, err)
		require.Len(t, c.Jobs, 10)
		for _, j := range c.Jobs {
			seen[j.Tenant]++
		}
		after = c.Next
	}
	require.Len(t, seen, 30, "three claims of ten must have served each of thirty tenants once")
	c, err := b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: b.worker, Lease: store.NewID(), Limit: 10, After: after})
	require.NoError(t, err)
	require.EqualValues(t, 100, c.Jobs[0].Tenant, "and then it begins anew")
}

func TestPriorityThenAgeOrderATenantsJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{Priority: 5}, store.NewJob{Priority: 0}, store.NewJob{Priority: 5}, store.NewJob{Priority: 9}, store.NewJob{Priority: 0})
	var order []store.ID
	for range 5 {
		order = append(order, b.claim(1)[0].ID)
	}
	require.Equal(t, []store.ID{ids[1], ids[4], ids[0], ids[2], ids[3]}, order)
}

func TestManyClaimersNeverGetTheSameJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const jobs = 600
	b.tenants(7, func(int) int { return jobs / 7 })
	var mu sync.Mutex
	seen := map[store.ID]int{}
	var wg sync.WaitGroup
	for range 8 {
		worker := b.register(time.Minute)
		wg.Go(func() {
			var after store.Cursor
			for empty := 0; empty < 3; {
				c, err := b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: worker, Lease: store.NewID(), Limit: 20, After: after})
				if !mustClaim(t, err) {
					return
				}
				after = c.Next
				if len(c.Jobs) == 0 {
					empty++
				}
				mu.Lock()
				for _, j := range c.Jobs {
					seen[j.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 7*(jobs/7))
	for id, n := range seen {
		require.Equal(t, 1, n, "job %s was claimed %d times", id, n)
	}
	b.requireOnePlaceEach()
}

func mustClaim(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// claimBuffers answers how many pages a claim touches.
func (b *bundle) claimBuffers(limit int) int {
	b.t.Helper()
	return b.buffersOf("claim_under_test (smallint, integer, uuid, uuid, integer, bigint, bigint)", store.ClaimSQL,
		fmt.Sprintf("0::smallint, 1, '%s', '%s', 0, 0, %d", b.worker, store.NewID(), limit))
}

// buffersOf runs a claim under EXPLAIN, as the host would, and takes it back.
func (b *bundle) buffersOf(signature, sql, args string) int {
	b.t.Helper()
	name, _, _ := strings.Cut(signature, " ")
	tx, err := b.Pool().Begin(b.ctx)
	require.NoError(b.t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
	require.NoError(b.t, err)
	_, err = tx.Exec(b.ctx, "PREPARE "+signature+" AS "+sql)
	require.NoError(b.t, err)
	rows, err := tx.Query(b.ctx, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE "+name+" ("+args+")")
	require.NoError(b.t, err)
	var plan []string
	for rows.Next() {
		var line string
		require.NoError(b.t, rows.Scan(&line))
		plan = append(plan, line)
	}
	require.NoError(b.t, rows.Err())
	_, err = tx.Exec(b.ctx, "DEALLOCATE "+name)
	require.NoError(b.t, err)
	text := strings.Join(plan, "\n")
	require.NotContains(b.t, text, "Seq Scan on ready", text)
	hit := regexp.MustCompile(`Buffers: shared ([^\n]*)`).FindStringSubmatch(text)
	require.NotNil(b.t, hit, text)
	total := 0
	for _, n := range regexp.MustCompile(`(?:hit|read)=(\d+)`).FindAllStringSubmatch(hit[1], -1) {
		v, err := strconv.Atoi(n[1])
		require.NoError(b.t, err)
		total += v
	}
	return total
}

// The ninth invariant: cost is in the work done. Under a forced generic plan,
// which is what the host runs.
func TestAClaimTouchesOnlyItsBatchWhateverTheBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.tenants(50, func(int) int { return 10 })
	shallow := b.claimBuffers(100)
	for i := range 50 {
		tenant := store.Tenant{ID: int32(100 + i), Name: "x"}
		_, err := b.Enqueue(b.ctx, tenant, make1(400))
		require.NoError(t, err)
	}
	deep := b.claimBuffers(100)
	require.Less(t, float64(deep), 1.5*float64(shallow)+50, "pages touched at 500 and at 20,500 jobs of backlog")
}
