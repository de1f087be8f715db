package rewrite_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/scan"
)

// newEngine is the engine as the host configures it.
func newEngine(t testing.TB) wazero.Runtime {
	t.Helper()
	engine := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(options.MemoryMaxPages).
		WithCloseOnContextDone(true))
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	return engine
}

// stops runs an export that would run for hours, and holds the time from
// deadline to return against what is bearable.
func stops(t *testing.T, wasm []byte, export string, args ...uint64) {
	t.Helper()
	const deadline, bearable = 100 * time.Millisecond, 5 * time.Second
	engine := newEngine(t)
	instance, err := engine.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName(""))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	start := time.Now()
	_, err = instance.ExportedFunction(export).Call(ctx, args...)
	took := time.Since(start)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, took, deadline+bearable)
	t.Logf("stopped after %s", took)
}

func TestRecursionWithoutALoopIsStopped(t *testing.T) {
	for depth := uint64(40); depth <= 64; depth += 8 {
		out, _ := interruptible(t, stored(t, "accepted-exponential-recursion"), scan.Limits{}, options)
		stops(t, out, "down", depth)
	}
}

func TestAChainOfFunctionsWithoutALoopIsStopped(t *testing.T) {
	const depth = 64
	code := "" // f0 does nothing; f(n) calls f(n-1) twice
	for i := range depth {
		call := "\x10" + u32(i)
		code += "\x06\x00" + call + call + "\x0b"
	}
	code = u32(depth+1) + "\x02\x00\x0b" + code
	types := u32(depth+1) + strings.Repeat("\x00", depth+1)
	wasm := header + "\x01\x04\x01\x60\x00\x00" +
		"\x03" + u32(len(types)) + types +
		"\x07\x05\x01\x01f\x00" + u32(depth) +
		"\x0a" + u32(len(code)) + code
	out, _ := interruptible(t, []byte(wasm), scan.Limits{}, options)
	stops(t, out, "f")
}

func TestFillsWithoutALoopAreStopped(t *testing.T) {
	// Two thousand times 64 MiB, one after the other: many seconds.
	fill := "\x41\x00" + "\x41\x00" + "\x41\x80\x80\x80\x20" + "\xfc\x0b\x00"
	code := "\x00" + strings.Repeat(fill, 2_000) + "\x0b"
	code = "\x01" + u32(len(code)) + code
	wasm := header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x04\x01\x00\x80\x08" +
		"\x07\x05\x01\x01f\x00\x00" + "\x0a" + u32(len(code)) + code
	out, _ := interruptible(t, []byte(wasm), scan.Limits{}, options)
	stops(t, out, "f")
}

func TestGrowthEndsAtTheLimits(t *testing.T) {
	t.Parallel()
	out, _ := interruptible(t, stored(t, "accepted-unbounded-growth"), scan.Limits{}, options)
	instance, err := newEngine(t).InstantiateWithConfig(t.Context(), out, wazero.NewModuleConfig().WithName(""))
	require.NoError(t, err)
	results, err := instance.ExportedFunction("grow").Call(t.Context())
	require.NoError(t, err)
	const denied = 0xffffffff
	require.Equal(t, []uint64{denied, denied}, results)
	require.Equal(t, options.MemoryMaxPages, mustMax(t, instance.Memory()))
}

func mustMax(t testing.TB, memory api.Memory) uint32 {
	t.Helper()
	pages, has := memory.Definition().Max()
	require.True(t, has)
	return pages
}
