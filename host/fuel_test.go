package host_test

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

var interruptions = map[string]host.Interruption{"fuel": host.InterruptByFuel, "engine": host.InterruptByEngine}

// outcomeOf is an outcome without what may differ between two runs.
func outcomeOf(out host.Outcome) host.Outcome {
	out.Usage = host.Usage{PeakMemory: out.Usage.PeakMemory, LogBytes: out.Usage.LogBytes}
	return out
}

// TestEveryFixtureEndsTheSameHoweverItIsInterrupted runs each module that
// ends by itself, on several inputs, traces included.
func TestEveryFixtureEndsTheSameHoweverItIsInterrupted(t *testing.T) {
	t.Parallel()
	clock := func() time.Time { return time.Unix(1_700_000_000, 0) }
	o := host.Options{Clock: clock, Random: zeros{}, Limits: host.Limits{HostCalls: 1_000, Memory: 2 << 20}}
	metered := newEngine(t, o)
	o.Interruption = host.InterruptByEngine
	plain := newEngine(t, o)
	ran := 0
	for _, name := range terminating(t) {
		for _, in := range []string{"", "1", "u", "o", "d", "n", "s", "77", "x", "{}"} {
			a := host.Attempt{Input: []byte(in), Timeout: time.Minute}
			want := load(t, plain, name).Run(context.Background(), a)
			got := load(t, metered, name).Run(context.Background(), a)
			require.Zero(t, want.Usage.Fuel)
			if want.Kind == host.Succeeded {
				require.NotZero(t, got.Usage.Fuel, "%s %q", name, in)
			}
			require.Equal(t, outcomeOf(want), outcomeOf(got), "%s %q", name, in)
			ran++
		}
	}
	require.Greater(t, ran, 300)
}

// terminating are the fixtures that end by themselves.
func terminating(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "wasm", "*.wasm"))
	require.NoError(t, err)
	endless := []string{"loop", "recursion-without-loop", "sleep", "init-loop", "start-loop", "line-flood"}
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".wasm"); !slices.Contains(endless, name) {
			names = append(names, name)
		}
	}
	return names
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestTheSameWorkCostsTheSameFuel(t *testing.T) {
	t.Parallel()
	first, second := newEngine(t, host.Options{}), newEngine(t, host.Options{Limits: host.Limits{Fuel: 1 << 50}})
	for _, name := range []string{"echo", "prelude", "pristine", "memory-bomb", "traps", "shadow-stack"} {
		a := host.Attempt{Input: []byte("o"), Limits: host.Limits{Memory: 2 << 20}}
		used := load(t, first, name).Run(context.Background(), a).Usage.Fuel
		require.Positive(t, used, name)
		for range 3 {
			require.Equal(t, used, load(t, first, name).Run(context.Background(), a).Usage.Fuel, name)
			require.Equal(t, used, load(t, second, name).Run(context.Background(), a).Usage.Fuel, name)
		}
		a.Limits.Fuel = used
		require.NotEqual(t, abi.ClassGuestOutOfFuel, class(load(t, first, name).Run(context.Background(), a)), "%s with just enough", name)
		if a.Limits.Fuel = used - 1; used > 1 {
			out := load(t, first, name).Run(context.Background(), a)
			// What a guest uses behind its last look at the gauge is only accounted.
			require.Contains(t, []string{abi.ClassGuestOutOfFuel, class(load(t, second, name).Run(context.Background(), a))}, class(out), name)
		}
	}
}

func class(out host.Outcome) string {
	if out.Failure == nil {
		return ""
	}
	return out.Failure.Class
}

func TestAGuestThatUsesUpItsFuelIsStopped(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{})
	for _, c := range []struct {
		name, fixture string
		early         bool
	}{
		{"a loop", "loop", false},
		{"calls", "recursion-without-loop", false},
		{"host calls", "call-flood", false},
		{"a start function", "start-loop", true},
		{"an _initialize", "init-loop", true},
	} {
		out := load(t, e, c.fixture).Run(context.Background(), host.Attempt{Timeout: time.Minute, Limits: host.Limits{Fuel: 1_000_000}})
		require.Equal(t, host.Failed, out.Kind, c.name)
		require.Equal(t, abi.ClassGuestOutOfFuel, out.Failure.Class, c.name)
		require.Equal(t, abi.OriginLimit, out.Failure.Origin)
		require.Equal(t, c.early, out.Failure.PreActor, c.name)
		require.Contains(t, out.Failure.Ancestors, abi.ClassLimitExceeded)
		require.InDelta(t, 1_000_000, out.Usage.Fuel, 1_000, c.name)
	}
}

// TestRunawayRecursionTakesLittle looks at what the process allocates for it:
// the engine's own limit is only noticed some 150 MB later.
func TestRunawayRecursionTakesLittle(t *testing.T) {
	m := load(t, newEngine(t, host.Options{}), "traps")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := m.Run(context.Background(), input("r"))
	runtime.ReadMemStats(&after)
	require.Equal(t, abi.ClassGuestStackOverflow, class(out))
	require.Equal(t, "stack overflow", out.Failure.Trap)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	t.Logf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
}

func TestAnUnknownInterruptionIsRefused(t *testing.T) {
	t.Parallel()
	_, err := host.New(host.Options{Interruption: 7})
	require.ErrorContains(t, err, "Interruption")
	_, err = host.New(host.Options{Limits: host.Limits{Fuel: -1}})
	require.ErrorContains(t, err, "Fuel")
}
