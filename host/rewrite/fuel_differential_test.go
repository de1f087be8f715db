package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// trial is an instance of a module that imports nothing but functions; those
// take note of what they are given, and answer nothing.
type trial struct {
	meter    *meter
	instance api.Module
	heard    []uint64

	remembers bool // it has a memory
}

// newTrial gives nil for a module that can't come to life.
func newTrial(t *testing.T, wasm []byte, m *scan.Module, meter *meter) *trial {
	engine := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(options.MemoryMaxPages))
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	x := &trial{meter: meter, remembers: len(m.Memories) > 0}
	if meter != nil {
		meter.provide(t, engine)
	}
	builders := make(map[string]wazero.HostModuleBuilder)
	for _, im := range m.Imports {
		if im.Kind != scan.FuncKind {
			return nil
		}
		b := builders[im.Module]
		if b == nil {
			b = engine.NewHostModuleBuilder(im.Module)
			builders[im.Module] = b
		}
		of := m.Types[im.TypeIndex]
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
			for i, p := range of.Params {
				if p == scan.I32 || p == scan.F32 {
					stack[i] = uint64(uint32(stack[i])) // what is above is nobody's
				}
				if !p.IsRef() {
					x.heard = append(x.heard, stack[i])
				}
			}
			clear(stack)
		}), apiTypes(of.Params), apiTypes(of.Results)).Export(im.Name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(t.Context()); err != nil {
			return nil
		}
	}
	instance, err := engine.InstantiateWithConfig(t.Context(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil
	}
	x.instance = instance
	return x
}

func apiTypes(types []scan.ValType) []api.ValueType {
	out := make([]api.ValueType, len(types))
	for i, t := range types {
		out[i] = api.ValueType(t)
	}
	return out
}

func (x *trial) memory() []byte {
	if !x.remembers {
		return nil
	}
	b, _ := x.instance.Memory().Read(0, x.instance.Memory().Size())
	return b
}

// unmetered reports that an error is of the limits, which the original hasn't.
func unmetered(err error) bool { return errors.Is(err, errSpent) || errors.Is(err, errOverflow) }

// differs calls each exported function of a module in turn: first metered,
// under a limit; where that came to an end, again with other slices, and as it
// was, which is then known to end too. Results, traps, what imports were told,
// memory and globals must agree, and so must the fuel that both slices cost.
func differs(t *testing.T, wasm []byte) (calls int) {
	const limit, plenty = 3_000_000, 1 << 40
	m, err := scan.Scan(wasm, scan.Limits{})
	if err != nil || m.HasStart {
		return 0
	}
	bounds := options
	bounds.Stack = 256 << 10
	out, err := rewrite.Fuel(wasm, m, bounds)
	if err != nil {
		return 0
	}
	fine := newTrial(t, out.Code, m, &meter{slice: 11, limit: limit})
	if fine == nil {
		return 0
	}
	coarse := newTrial(t, out.Code, m, &meter{slice: plenty})
	plain := newTrial(t, bare(wasm, m), m, nil)
	require.NotNil(t, coarse)
	require.NotNil(t, plain, "what became valid was valid")
	for _, e := range m.Exports {
		if e.Kind != scan.FuncKind {
			continue
		}
		args := make([]uint64, 0, 8)
		for i, p := range m.FuncTypeOf(e.Index).Params {
			args = append(args, uint64(i)*77+5)
			if p.IsRef() {
				args[i] = 0
			}
			if p == scan.V128 {
				return calls
			}
		}
		want, err := fine.call(t, e.Name, args)
		if unmetered(err) {
			return calls
		}
		for _, other := range []*trial{coarse, plain} {
			got, _ := other.call(t, e.Name, args)
			require.Equal(t, want, got, e.Name)
			require.Equal(t, fine.heard, other.heard)
			require.True(t, bytes.Equal(fine.memory(), other.memory()), "memory after %s", e.Name)
		}
		require.Equal(t, fine.meter.used(fine.instance), coarse.meter.used(coarse.instance), "fuel after %s", e.Name)
		for _, name := range out.Globals {
			require.Equal(t, fine.instance.ExportedGlobal(name).Get(), coarse.instance.ExportedGlobal(name).Get())
		}
		if calls++; err != nil {
			return calls // its frames weren't given back
		}
	}
	return calls
}

func (x *trial) call(t *testing.T, export string, args []uint64) (string, error) {
	s := side{last: x.instance}
	f := s.last.ExportedFunction(export)
	results, err := f.Call(t.Context(), args...)
	if err != nil {
		return reason(err), err
	}
	return printed(f, results), nil
}

// bare is a module without its custom sections, which no scan has looked at.
func bare(wasm []byte, m *scan.Module) []byte {
	out := append([]byte{}, wasm[:8]...)
	for _, s := range m.Sections {
		out = append(out, wasm[s.Start:s.Offset+s.Len]...)
	}
	return out
}

func TestGeneratedModulesDoTheSameMetered(t *testing.T) {
	t.Parallel()
	calls := 0
	for seed := range uint64(150) {
		wasm := generate(seed)
		_, err := scan.Scan(wasm, scan.Limits{})
		require.NoError(t, err, "seed %d", seed)
		calls += differs(t, wasm)
	}
	t.Logf("%d calls", calls)
	require.Greater(t, calls, 120)
}

func FuzzFuelGenerated(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { differs(t, generate(seed)) })
}

// FuzzFuel mutates real modules.
func FuzzFuel(f *testing.F) {
	files, err := filepath.Glob("../../testdata/wasm/*.wasm")
	require.NoError(f, err)
	bombs, err := filepath.Glob(filepath.Join(bombDir, "accepted-*.wasm"))
	require.NoError(f, err)
	for _, path := range append(append(files, bombs...), someSpecModules(f)...) {
		wasm, err := os.ReadFile(path)
		require.NoError(f, err)
		if len(wasm) < 8<<10 {
			f.Add(wasm)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) <= 16<<10 {
			differs(t, wasm)
		}
	})
}
