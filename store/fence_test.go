package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// race runs both at the same instant and waits for them.
func race(fs ...func()) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for _, f := range fs {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			f()
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

func TestTwoCompletionsOfOneBlockBothCountTheirOwnMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		b.enqueue(make1(6)...)
		c := b.claim(6)
		halves := [2][]store.Ending{}
		for i, j := range c {
			halves[i%2] = append(halves[i%2], store.Ending{Lease: j.Lease, Index: j.Index, Action: store.End, Status: store.Succeeded, Keep: time.Hour})
		}
		verdicts := [2]int{}
		write := func(i int) func() {
			return func() {
				v, err := b.End(b.ctx, 0, b.worker, halves[i])
				if err != nil {
					t.Error(err)
				}
				verdicts[i] = len(v)
			}
		}
		race(write(0), write(1))
		require.Equal(t, [2]int{3, 3}, verdicts)
	}
	var leases int
	require.NoError(t, b.Pool().QueryRow(b.ctx, "SELECT count(*) FROM taskq.leases").Scan(&leases))
	require.Zero(t, leases)
	b.requireOnePlaceEach()
}

// A completion and a reclaim of the same members: exactly one of them counts.
func TestACompletionThatRacesAReclaimNeverPutsAJobIntoTwoPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		worker := b.register(time.Minute)
		b.enqueue(make1(4)...)
		c := b.claimAs(worker, 4)
		require.NotEmpty(t, c)
		_, err := b.Pool().Exec(b.ctx, "UPDATE taskq.workers SET expires_at = clock_timestamp() WHERE worker_id = $1", worker.String())
		require.NoError(t, err)
		var completed, reclaimed int
		race(func() {
			var e []store.Ending
			for _, j := range c {
				e = append(e, store.Ending{Lease: j.Lease, Index: j.Index, Action: store.End, Status: store.Succeeded, Keep: time.Hour})
			}
			v, err := b.End(b.ctx, 0, worker, e)
			if err != nil {
				t.Error(err)
			}
			completed = len(v)
		}, func() {
			n, err := b.Reclaim(b.ctx, 0, 10, func(_ time.Time, orphans []store.Orphan) (out []store.Ending) {
				for _, o := range orphans {
					out = append(out, store.Ending{Lease: o.Lease, Index: o.Index, Action: store.Reschedule, Delay: time.Hour, Reason: store.ReasonReclaim, FailKeep: time.Hour})
				}
				return out
			})
			if err != nil {
				t.Error(err)
			}
			reclaimed = n
		})
		require.Equal(t, len(c), completed+reclaimed, "completed %d, reclaimed %d", completed, reclaimed)
		b.requireOnePlaceEach()
	}
}

// A cancel that commits while the completion waits for the lease row counts.
func TestACancelThatRacesACompletionIsEitherCountedOrTooLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 30 {
		ids := b.enqueue(store.NewJob{})
		c := b.claim(1)[0]
		var got store.CancelResult
		race(func() {
			if _, err := b.End(b.ctx, 0, b.worker, []store.Ending{{Lease: c.Lease, Index: 1, Action: store.End, Status: store.Succeeded, Keep: time.Hour}}); err != nil {
				t.Error(err)
			}
		}, func() {
			out, err := b.Cancel(b.ctx, b.tenant, ids, time.Hour)
			if err != nil {
				t.Error(err)
			}
			got = out[ids[0]]
		})
		want := map[store.CancelResult]store.Status{store.CancelRequested: store.Cancelled, store.CancelTooLate: store.Succeeded}
		require.Contains(t, want, got)
		require.Equal(t, want[got], b.job(ids[0]).Status)
	}
	b.requireOnePlaceEach()
}

func TestTheViewAgreesWithTheTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(store.NewJob{Payload: []byte(`{"a":1}`)}, store.NewJob{Delay: time.Hour}, store.NewJob{Payload: []byte("\x00not json"), ContentType: "application/octet-stream"}, store.NewJob{Payload: []byte(`{"z":"\u0000"}`)})
	c := b.claim(1)[0]
	require.Equal(t, ids[0], c.ID)
	rows, err := b.Pool().Query(b.ctx, "SELECT id::text, status, attempt, payload::text FROM taskq.job ORDER BY id")
	require.NoError(t, err)
	type row struct {
		id, status string
		attempt    int
		payload    *string
	}
	var got []row
	for rows.Next() {
		var r row
		require.NoError(t, rows.Scan(&r.id, &r.status, &r.attempt, &r.payload))
		got = append(got, r)
	}
	require.NoError(t, rows.Err())
	payload := `{"a": 1}`
	require.Equal(t, []row{
		{ids[0].String(), "running", 1, &payload}, {ids[1].String(), "scheduled", 0, nil}, {ids[2].String(), "pending", 0, nil}, {ids[3].String(), "pending", 0, nil},
	}, got)
}
