package rewrite_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

func TestAModuleWithoutAnythingIsStillMetered(t *testing.T) {
	t.Parallel()
	out, m := metered(t, []byte(header), scan.Limits{}, withStack(options))
	require.False(t, out.Start)
	require.Empty(t, out.Globals)
	x := newTrial(t, out.Code, m, &meter{slice: 1})
	require.NotNil(t, x.instance.ExportedGlobal(rewrite.GaugeExport))
}

func TestFunctionsKeepTheirNamesAndNumbers(t *testing.T) {
	t.Parallel()
	wasm := generate(1) // without names, behind an import
	out, m := metered(t, wasm, scan.Limits{}, withStack(options))
	x := newTrial(t, out.Code, m, &meter{slice: 1 << 20})
	for name, definition := range x.instance.ExportedFunctionDefinitions() {
		require.Equal(t, "$"+string(rune('1'+name[0]-'a')), definition.Name())
	}
	out, m = metered(t, named("first", "second"), scan.Limits{}, withStack(options))
	require.Contains(t, string(out.Code), "\x05first")
	require.Contains(t, string(out.Code), "\x06second")
	require.NotContains(t, string(out.Code), "mod")
	require.NotNil(t, newTrial(t, out.Code, m, &meter{slice: 1}))
}

func TestTheStartFunctionWaitsForTheHost(t *testing.T) {
	t.Parallel()
	wasm := []byte(header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x06\x06\x01\x7f\x01\x41\x07\x0b" +
		"\x08\x01\x00" + "\x0a\x08\x01\x06\x00\x41\x09\x24\x00\x0b")
	out, m := metered(t, wasm, scan.Limits{}, withStack(options))
	require.True(t, out.Start)
	require.Equal(t, []string{"taskq_rt_global_0"}, out.Globals)
	x := newTrial(t, out.Code, m, &meter{slice: 100})
	global := x.instance.ExportedGlobal(out.Globals[0]).(api.MutableGlobal)
	require.EqualValues(t, 7, global.Get())
	_, err := x.call(t, rewrite.StartExport, nil)
	require.NoError(t, err)
	require.EqualValues(t, 9, global.Get())
	global.Set(7)
	require.EqualValues(t, 7, global.Get())
}

func TestOwnNamesAreRefusedInUploads(t *testing.T) {
	t.Parallel()
	for name, wasm := range map[string]string{
		"the gauge as an export": header + "\x06\x06\x01\x7e\x01\x42\x00\x0b" + "\x07\x12\x01\x0etaskq_rt_gauge\x03\x00",
		"the tick as an import":  header + "\x01\x06\x01\x60\x01\x7e\x01\x7e" + "\x02\x11\x01\x08taskq_rt\x04tick\x00\x00",
	} {
		_, err := scan.Scan([]byte(wasm), scan.Limits{})
		var refusal *scan.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, scan.RuleReserved, refusal.Rule, name)
	}
}

func TestWrongStacksAreNamed(t *testing.T) {
	t.Parallel()
	wasm := []byte(header)
	m, err := scan.Scan(wasm, scan.Limits{})
	require.NoError(t, err)
	for _, stack := range []int64{0, -1, rewrite.MaxStack + 1} {
		o := options
		o.Stack = stack
		_, err := rewrite.Fuel(wasm, m, o)
		require.ErrorContains(t, err, "Stack")
	}
	_, err = rewrite.Fuel(wasm, m, rewrite.Options{Stack: 1 << 20})
	require.ErrorContains(t, err, "MemoryMaxPages")
}

// TestNoCodeRunsFarBetweenTwoTicks holds each shape of code that has no end
// against what it may run up between two looks of the host: its slice and a
// little more, however its structures are nested.
func TestNoCodeRunsFarBetweenTwoTicks(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a loop":                   "\x03\x40\x0c\x00\x0b",
		"a loop of loops":          "\x03\x40\x03\x40\x41\x00\x0d\x00\x0b\x0c\x00\x0b",
		"a br_table storm":         "\x03\x40\x02\x40\x02\x40\x41\x01\x0e\x01\x00\x01\x0b\x0b\x0c\x00\x0b",
		"a loop behind a branch":   "\x02\x40\x41\x01\x0d\x00\x0b\x03\x40\x41\x01\x0d\x00\x0b",
		"recursion":                "\x10\x00",
		"recursion without an end": "\x10\x00\x10\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := "\x00" + body + "\x0b"
			code = "\x01" + u32(len(code)) + code
			wasm := []byte(header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x07\x05\x01\x01f\x00\x00" +
				"\x0a" + u32(len(code)) + code)
			out, m := metered(t, wasm, scan.Limits{}, withStack(options))
			const limit = 1_000_000
			ticks := &meter{slice: 1_000, limit: limit}
			x := newTrial(t, out.Code, m, ticks)
			_, err := x.call(t, "f", nil)
			require.True(t, unmetered(err), "%v", err)
			require.LessOrEqual(t, ticks.used(x.instance), int64(limit+1_000))
		})
	}
}

// TestAChainOfCallsIsStopped is a chain of functions without a loop, each of
// which calls the next one twice, and a body that is nothing but such calls.
func TestAChainOfCallsIsStopped(t *testing.T) {
	t.Parallel()
	const depth = 64
	code := "\x02\x00\x0b"
	types := "\x00"
	for i := range depth {
		call := "\x10" + u32(i)
		code += "\x06\x00" + call + call + "\x0b"
		types += "\x00"
	}
	code = u32(depth+1) + code
	types = u32(depth+1) + types
	wasm := []byte(header + "\x01\x04\x01\x60\x00\x00" + "\x03" + u32(len(types)) + types +
		"\x07\x05\x01\x01f\x00" + u32(depth) + "\x0a" + u32(len(code)) + code)
	out, m := metered(t, wasm, scan.Limits{}, withStack(options))
	x := newTrial(t, out.Code, m, &meter{slice: 1_000, limit: 1_000_000})
	_, err := x.call(t, "f", nil)
	require.ErrorIs(t, err, errSpent)
}

func TestMaximaAreClampedWhenMetered(t *testing.T) {
	t.Parallel()
	wasm := []byte(header + "\x04\x04\x01\x70\x00\x02" + "\x05\x03\x01\x00\x01" + "\x07\x05\x01\x01m\x02\x00")
	out, _ := metered(t, wasm, scan.Limits{}, withStack(options))
	engine := wazero.NewRuntime(t.Context())
	defer func() { require.NoError(t, engine.Close(t.Context())) }()
	(&meter{}).provide(t, engine)
	instance, err := engine.InstantiateWithConfig(t.Context(), out.Code, wazero.NewModuleConfig())
	require.NoError(t, err)
	require.Equal(t, options.MemoryMaxPages, mustMax(t, instance.Memory()))
}
