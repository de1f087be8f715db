package rewrite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/scan"
)

// FuzzInterruptible holds the rewriter against the engine's own validation:
// what a scan accepts is accepted again once it's rewritten, and the engine
// compiles it if and only if it compiles the original. No byte that wasn't
// scanned reaches the engine, so custom sections are left out.
func FuzzInterruptible(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(bombDir, "*.wasm"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range append(files, someSpecModules(f)...) {
		wasm, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(wasm)
	}
	f.Add(named("first", "second"))
	engine := wazero.NewRuntimeWithConfig(f.Context(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	f.Cleanup(func() { require.NoError(f, engine.Close(context.Background())) })

	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := scan.Scan(wasm, scan.Limits{})
		if err != nil || len(wasm) > 32<<10 {
			return
		}
		out, after := interruptible(t, wasm, scan.Limits{}, options)
		require.Equal(t, m.Types, after.Types)
		require.Equal(t, m.Funcs, after.Funcs)
		require.Equal(t, m.Exports, after.Exports)
		require.Equal(t, m.Facts.Loops+checks(m), after.Facts.Loops)

		bare := append([]byte{}, wasm[:8]...)
		for _, s := range m.Sections {
			bare = append(bare, wasm[s.Start:s.Offset+s.Len]...)
		}
		require.Equal(t, compiles(t, engine, bare), compiles(t, engine, out))
	})
}

// checks is how many loops a rewrite adds.
func checks(m *scan.Module) int {
	n := 0
	for _, b := range m.Bodies {
		n += max(1, int(b.Bulk))
	}
	return n
}

func compiles(t *testing.T, engine wazero.Runtime, wasm []byte) bool {
	t.Helper()
	code, err := engine.CompileModule(t.Context(), wasm)
	if err != nil {
		return false
	}
	require.NoError(t, code.Close(t.Context()))
	return true
}

// someSpecModules are seeds with real code; none where the suite is missing.
func someSpecModules(f *testing.F) []string {
	f.Helper()
	var some []string
	for _, script := range []string{"br_table", "call_indirect", "if", "bulk", "simd_lane", "table_copy"} {
		found, err := filepath.Glob(filepath.Join(specDir(), script+".0.wasm"))
		require.NoError(f, err)
		some = append(some, found...)
	}
	return some
}
