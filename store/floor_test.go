package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// useFloors makes the next claims of the queue "default" begin where they stopped.
func (b *bundle) useFloors() {
	b.t.Helper()
	id, err := b.QueueID(b.ctx, "default")
	require.NoError(b.t, err)
	b.UseFloors(0, id, time.Hour)
}

func TestFromItsFloorsAClaimGoesOnInOrderAndSharesEqually(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenants := b.tenants(2, func(int) int { return 0 })
	for _, tenant := range tenants {
		jobs := make1(30)
		for i := range jobs {
			jobs[i].Priority = i % 3
		}
		_, err := b.Enqueue(b.ctx, tenant, jobs)
		require.NoError(t, err)
	}
	require.Len(t, b.claim(10), 10)
	last := map[int32]int{}
	for range 5 {
		b.useFloors()
		got := map[int32]int{}
		for _, c := range b.claim(10) {
			got[c.Tenant]++
			require.GreaterOrEqual(t, c.Priority, last[c.Tenant], "priorities go down only when the higher ones are empty")
			last[c.Tenant] = c.Priority
		}
		require.Equal(t, map[int32]int{100: 5, 101: 5}, got)
	}
	require.Empty(t, b.claim(10))
	b.requireOnePlaceEach()
}

// A row may commit late with a lower number than those that were claimed, a
// released one comes back, a new tenant begins: none waits for longer than
// until a claim isn't full, or the floors are looked at again.
func TestWhatLiesBelowTheFloorsIsFoundOnceABatchIsntFull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	low, err := b.EnqueueTx(b.ctx, late, b.tenant, make1(1))
	require.NoError(t, err)
	b.enqueue(make1(20)...)
	require.Len(t, b.claim(10), 10)
	require.NoError(t, late.Commit(b.ctx))
	stranger := b.tenants(1, func(int) int { return 1 })[0]
	b.useFloors()
	require.Len(t, b.claim(10), 10, "from the floor on")
	b.useFloors()
	require.Empty(t, b.claim(10), "nothing is above it")
	c := b.claim(10)
	require.Len(t, c, 2, "so everything is looked at")
	require.Equal(t, low[0].ID, c[0].ID)
	require.Equal(t, stranger.ID, c[1].Tenant)
	b.requireOnePlaceEach()
}

func TestAWorkerWhoseLeaseIsOverClaimsNothingFromTheFloorsEither(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(make1(20)...)
	require.Len(t, b.claim(5), 5)
	b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp()")
	b.useFloors()
	require.Empty(t, b.claim(5))
}

// Somebody holds a transaction open: what was claimed stays in the index. From
// its floors a claim touches what it takes, whatever lies before.
func TestAClaimFromItsFloorsDoesntWalkOverWhatWasClaimed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held, err := b.Pool().BeginTx(b.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = held.Rollback(b.ctx) }()
	_, err = held.Exec(b.ctx, "SELECT count(*) FROM taskq.jobs")
	require.NoError(t, err)
	for range 3 {
		b.enqueue(make1(2_000)...)
	}
	whole, floor := [2]int{}, [2]int{}
	measure := func(i int) {
		var seq int64
		require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT min(seq) FROM taskq.ready").Scan(&seq))
		whole[i] = b.claimBuffers(50)
		floor[i] = b.buffersOf("claim_from_floors (smallint, integer, uuid, uuid, integer[], bigint[], bigint, smallint[], bigint[], bigint)", store.ClaimFromFloorsSQL,
			fmt.Sprintf("0::smallint, 1, '%s', '%s', '{1,1}', '{0,0}', 50, '{0,5}', '{0,%d}', 50", b.worker, store.NewID(), seq))
	}
	measure(0)
	for range 9 {
		require.Len(t, b.claim(500), 500)
	}
	measure(1)
	t.Logf("pages touched before and after 4,500 claims: whole %v, from the floors %v", whole, floor)
	require.Greater(t, whole[1], whole[0]+100, "without a floor the dead rows are walked over: else this test shows nothing")
	require.Less(t, float64(floor[1]), 1.3*float64(floor[0])+50)
}
