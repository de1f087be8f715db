package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

func TestABulkCancelNeedsAFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{})
	_, err := b.CancelMatching(b.ctx, b.tenant, store.CancelFilter{}, 100, time.Hour)
	require.ErrorIs(t, err, store.ErrEmptyFilter)
	require.Equal(t, store.Pending, b.job(ids[0]).Status)
}

func TestABulkCancelEndsWhatItsFilterNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.enqueue(store.NewJob{Actor: "a"}, store.NewJob{Actor: "a"})
	b.claim(2)
	ids := append(first, b.enqueue(
		store.NewJob{Actor: "a", Tags: []string{"x"}}, store.NewJob{Actor: "a", Delay: time.Hour}, store.NewJob{Actor: "b", Tags: []string{"x"}}, store.NewJob{Actor: "a", Queue: "other"},
	)...)
	stranger := b.tenants(1, func(int) int { return 0 })[0]
	theirs, err := b.Enqueue(b.ctx, stranger, []store.NewJob{{Queue: "default", Actor: "a"}})
	require.NoError(t, err)

	got, err := b.CancelMatching(b.ctx, b.tenant, store.CancelFilter{Queue: "default", Actor: "a"}, 100, time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.CancelCount{Done: 2, Requested: 2}, got)
	for i, want := range []store.Status{store.Running, store.Running, store.Cancelled, store.Cancelled, store.Pending, store.Pending} {
		require.Equal(t, want, b.job(ids[i]).Status, "job %d", i)
	}
	j, err := b.Job(b.ctx, stranger, theirs[0].ID)
	require.NoError(t, err)
	require.Equal(t, store.Pending, j.Status)

	got, err = b.CancelMatching(b.ctx, b.tenant, store.CancelFilter{Tag: "x"}, 100, time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.CancelCount{Done: 1}, got)
	got, err = b.CancelMatching(b.ctx, b.tenant, store.CancelFilter{All: true}, 1, time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.CancelCount{Done: 1, More: true}, got)
	got, err = b.CancelMatching(b.ctx, b.tenant, store.CancelFilter{All: true}, 1, time.Hour)
	require.NoError(t, err)
	require.Equal(t, store.CancelCount{}, got, "what was asked to end isn't asked again")
	b.requireOnePlaceEach()
}

// A job that goes from queue to worker and back all the time is cancelled all
// the same, and never said to have ended before it has.
func TestACancelFindsAJobThatMoves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 15 {
		ids := b.enqueue(store.NewJob{})
		stop := make(chan struct{})
		var mover sync.WaitGroup
		mover.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := b.Claim(b.ctx, store.ClaimRequest{Queue: "default", Worker: b.worker, Lease: store.NewID(), Limit: 1})
				if err != nil || len(c.Jobs) == 0 {
					continue
				}
				if _, err := b.End(b.ctx, 0, b.worker, []store.Ending{{Lease: c.Jobs[0].Lease, Index: 1, Action: store.Release, Keep: time.Hour, FailKeep: time.Hour}}); err != nil {
					t.Error(err)
				}
			}
		})
		got, err := b.Cancel(b.ctx, b.tenant, ids, time.Hour)
		require.NoError(t, err)
		require.NotEqual(t, store.CancelTooLate, got[ids[0]])
		require.Eventually(t, func() bool { return b.job(ids[0]).Status == store.Cancelled }, 5*time.Second, time.Millisecond)
		close(stop)
		mover.Wait()
	}
	b.requireOnePlaceEach()
}

// Two bulk cancels of the same jobs wait for each other, never in a circle.
func TestBulkCancelsOfTheSameJobsDontDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		ids := b.enqueue(make1(200)...)
		backwards := make([]store.ID, len(ids))
		for i, id := range ids {
			backwards[len(ids)-1-i] = id
		}
		done := [2]int{}
		cancel := func(i int, ids []store.ID) func() {
			return func() {
				got, err := b.Cancel(b.ctx, b.tenant, ids, time.Hour)
				if err != nil {
					t.Error(err)
				}
				for _, r := range got {
					if r == store.CancelDone {
						done[i]++
					}
				}
			}
		}
		race(cancel(0, ids), cancel(1, backwards))
		require.Equal(t, len(ids), done[0]+done[1])
	}
	b.requireOnePlaceEach()
}
