package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// pooled compares each restored instance with its image, byte for byte.
var pooled = host.PoolOptions{Slots: 100, VerifyEvery: 1}

// TestAfterAnyDeathTheNextAttemptIsPristine has every kind of death there is a
// fixture of, each followed by a comparison of the restored instance with its
// image, and by another attempt in it that must end the same.
func TestAfterAnyDeathTheNextAttemptIsPristine(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: pooled})
	for _, d := range deaths {
		for range 3 {
			checkDeath(t, e, fixture(t, d.fixture), d)
		}
	}
	stats := e.PoolStats()
	require.Zero(t, stats.Mismatches)
	require.Greater(t, stats.Hits, int64(len(deaths)), "most deaths leave a slot that is used again")
	require.Positive(t, stats.Dropped, "those of the stack don't")
	require.Positive(t, stats.Verified)
}

// TestAPooledAttemptEndsAsAFreshOne runs every fixture several times in one
// slot, and compares each end with that in an instance of its own.
func TestAPooledAttemptEndsAsAFreshOne(t *testing.T) {
	t.Parallel()
	o := host.Options{
		Clock: func() time.Time { return time.Unix(1_700_000_000, 0) }, Random: zeros{},
		Limits: host.Limits{HostCalls: 1_000, Memory: 2 << 20},
	}
	fresh := newEngine(t, o)
	o.Pool = pooled
	again := newEngine(t, o)
	for _, name := range terminating(t) {
		for _, in := range []string{"", "1", "u", "o", "s", "77", "x", "{}"} {
			a := host.Attempt{Input: []byte(in), Timeout: time.Minute}
			want := load(t, fresh, name).Run(context.Background(), a)
			for i := range 3 {
				got := load(t, again, name).Run(context.Background(), a)
				got.Usage.LogBytes = want.Usage.LogBytes // the prelude logs once
				require.Equal(t, outcomeOf(want), outcomeOf(got), "%s %q, attempt %d", name, in, i)
			}
		}
	}
	require.Zero(t, again.PoolStats().Mismatches)
	require.Greater(t, again.PoolStats().Hits, int64(300))
}

func TestAPooledAttemptCostsTheSameFuelEachTime(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: pooled})
	for _, name := range []string{"echo", "prelude", "pristine"} {
		a := host.Attempt{Input: []byte("1"), Limits: host.Limits{Memory: 2 << 20}}
		first := load(t, e, name).Run(context.Background(), a).Usage.Fuel
		for range 3 {
			require.Equal(t, first, load(t, e, name).Run(context.Background(), a).Usage.Fuel, name)
		}
	}
}

func TestASlotNeverServesAnotherTenantOrOtherSettings(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: pooled})
	m := load(t, e, "echo")
	run := func(tenant, key string, memory int64) host.PoolStats {
		out := m.Run(context.Background(), host.Attempt{Input: []byte("1"), Meta: abi.Meta{Tenant: tenant}, PoolKey: key, Limits: host.Limits{Memory: memory}})
		require.Equal(t, host.Succeeded, out.Kind)
		return e.PoolStats()
	}
	require.EqualValues(t, 1, run("a", "", 0).Images)
	require.EqualValues(t, 2, run("b", "", 0).Images)
	require.EqualValues(t, 3, run("a", "x", 0).Images)
	require.EqualValues(t, 4, run("a", "", 1<<20).Images)
	require.Zero(t, e.PoolStats().Hits)
	require.EqualValues(t, 1, run("a", "", 0).Hits)
	require.EqualValues(t, 2, run("b", "", 0).Hits)
	require.EqualValues(t, 4, e.PoolStats().Images)
}

func TestThePoolStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]host.PoolOptions{
		"in number": {Slots: 3, VerifyEvery: 1},
		"in bytes":  {Slots: 100, Bytes: 3 * abi.PageSize, VerifyEvery: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, host.Options{Pool: o})
			m := load(t, e, "echo")
			for i := range 8 {
				m.Run(context.Background(), host.Attempt{Meta: abi.Meta{Tenant: fmt.Sprint(i % 5)}})
			}
			stats := e.PoolStats()
			require.Equal(t, 3, stats.Idle)
			require.EqualValues(t, 3*abi.PageSize, stats.IdleBytes)
			require.EqualValues(t, 5, stats.Evicted)
			require.Zero(t, stats.Hits, "the one that waits longest goes, and comes next")
		})
	}
}

func TestSlotsOfAnEvictedModuleAreClosed(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: pooled, Modules: 1})
	m := load(t, e, "echo")
	m.Run(context.Background(), host.Attempt{})
	require.Equal(t, 1, e.PoolStats().Idle)
	load(t, e, "noop")
	require.Zero(t, e.PoolStats().Idle)
	require.Equal(t, host.Succeeded, m.Run(context.Background(), input("1")).Kind, "it still runs")
	require.Zero(t, e.PoolStats().Idle)
}

func TestManyPooledAttemptsAtOnceKeepApart(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: host.PoolOptions{Slots: 4, VerifyEvery: 3}})
	names := []string{"echo", "pristine", "memory-bomb", "traps", "loop"}
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			for j := range 20 {
				in := fmt.Sprintf("[%d,%d]", i, j)
				a := host.Attempt{
					Input: []byte(in), Timeout: time.Minute, Meta: abi.Meta{Tenant: fmt.Sprint(i % 2)}, Limits: host.Limits{Memory: 2 << 20},
				}
				name := names[(i+j)%len(names)]
				if name == "loop" {
					a.Timeout = time.Millisecond
				}
				out := load(t, e, name).Run(context.Background(), a)
				if name == "echo" && string(out.Result) != in || name == "pristine" && out.Kind != host.Succeeded {
					t.Errorf("%s %s gave %q (%+v)", name, in, out.Result, out.Failure)
				}
			}
		})
	}
	group.Wait()
	stats := e.PoolStats()
	require.Zero(t, stats.Mismatches)
	require.Positive(t, stats.Hits)
	require.LessOrEqual(t, stats.Idle, 4)
}

func TestAPooledAttemptThatIsCancelledLeavesAGoodSlot(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Pool: pooled})
	m := load(t, e, "loop")
	for i := 0; i < 50 && e.PoolStats().Hits < 2; i++ { // some are cancelled before there is an image
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(5*time.Millisecond, func() { cancel(host.ErrCancelled) })
		out := m.Run(ctx, host.Attempt{})
		timer.Stop()
		require.True(t, errors.Is(out.Cause, host.ErrCancelled))
	}
	require.EqualValues(t, 2, e.PoolStats().Hits)
}
