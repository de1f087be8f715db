package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

// Compiling an actor may take seconds; a stop that comes meanwhile counts.
func TestAStopBeforeTheGuestBeginsKeepsItFromBeginning(t *testing.T) {
	t.Parallel()
	j := &job{}
	require.False(t, j.stop(host.ErrInterrupted), "nothing ran")
	j.stop(host.ErrCancelled)
	_, _, refused := j.begin(t.Context())
	require.Equal(t, host.ErrInterrupted, refused, "the first cause counts")
}

func TestACancelBeforeTheGuestBeginsKeepsItFromBeginning(t *testing.T) {
	t.Parallel()
	j := &job{}
	j.askToCancel(time.Hour)
	_, _, refused := j.begin(t.Context())
	require.Equal(t, host.ErrCancelled, refused)
	j.grace.Stop()
}

func TestAStopEndsTheRunningAttempt(t *testing.T) {
	t.Parallel()
	j := &job{}
	ctx, done, refused := j.begin(t.Context())
	require.NoError(t, refused)
	defer done()
	require.True(t, j.stop(host.ErrLeaseLost))
	require.Equal(t, host.ErrLeaseLost, context.Cause(ctx))
}

// Operator, stop and loss look different to the guest.
func TestTheGuestSeesWhoWantsItToEnd(t *testing.T) {
	t.Parallel()
	j := &job{}
	j.bits.Or(abi.HeartbeatDraining)
	require.Equal(t, abi.HeartbeatDraining, j.bits.Load())
	j.askToCancel(time.Hour)
	require.Equal(t, abi.HeartbeatDraining|abi.HeartbeatCancel, j.bits.Load())
	j.grace.Stop()
}

func TestAJobThatTheHeartbeatDoesntAnswerIsNoLongerOurs(t *testing.T) {
	t.Parallel()
	lease, other := store.NewID(), store.NewID()
	jobs := []*job{
		{Claimed: store.Claimed{Lease: lease, Index: 1}}, {Claimed: store.Claimed{Lease: lease, Index: 2}}, {Claimed: store.Claimed{Lease: other, Index: 1}},
	}
	held := []store.HeldLease{{ID: lease, Members: []store.HeldMember{{Index: 2}}}}
	require.Equal(t, []*job{jobs[0], jobs[2]}, gone(jobs, held))
}

func TestALeaseThatNoClaimBroughtIsGivenBackOnceItsCallIsOver(t *testing.T) {
	t.Parallel()
	tn := newTenure(time.Now(), time.Minute)
	defer tn.end()
	lease := store.NewID()
	held := []store.HeldLease{{ID: lease, Members: []store.HeldMember{{Index: 1}, {Index: 2}}}}
	tn.claimBegins(lease)
	_, strays := tn.reconcile(held)
	require.Empty(t, strays, "its reply may still come")
	tn.claimEnds(lease, nil)
	_, strays = tn.reconcile(held)
	require.Len(t, strays, 2)
	require.Equal(t, store.Release, strays[0].Action)
}

func TestATenureIsLostBeforeItsLeaseIsOverAndNotWhileItIsProlonged(t *testing.T) {
	t.Parallel()
	const lease = leaseMargin + 300*time.Millisecond
	tn := newTenure(time.Now(), lease)
	defer tn.end()
	began := time.Now()
	for time.Since(began) < time.Second {
		tn.prolong(time.Now(), lease)
		require.False(t, tn.lost())
		<-time.After(20 * time.Millisecond)
	}
	sent := time.Now()
	tn.prolong(sent, lease)
	<-tn.ctx.Done()
	require.Less(t, time.Since(sent), lease, "before the lease is over")
	require.Equal(t, host.ErrLeaseLost, context.Cause(tn.ctx))
}
