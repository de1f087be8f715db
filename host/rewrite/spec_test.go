package rewrite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// The suite declares whole address spaces and dozens of tables.
var (
	specLimits  = scan.Limits{MemoryPages: 65_536, TableEntries: 1<<32 - 1, Tables: 1_000}
	specOptions = rewrite.Options{MemoryMaxPages: 65_536, TableMax: 1<<32 - 1}
)

// specDir is where the engine's own copy of WebAssembly 2.0's test suite is,
// or would be.
func specDir() string {
	dir, _ := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "internal/integration_test/spectest/v2/testdata")
}

// specScript is one script of the suite: modules, and calls of their exports.
type specScript struct {
	dir, name string
	Commands  []specCommand
}

type specCommand struct {
	Type, Name, Filename string
	Line                 int
	Action               struct {
		Type, Field, Module string
		Args                []specValue
	}
}

type specValue struct {
	Type  string
	Value json.RawMessage
}

func specScripts(t testing.TB) []specScript {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(specDir(), "*.json"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the engine's module came without its test suite")
	}
	var scripts []specScript
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		script := specScript{dir: filepath.Dir(path), name: filepath.Base(path)}
		require.NoError(t, json.Unmarshal(text, &script))
		scripts = append(scripts, script)
	}
	return scripts
}

func (s specScript) read(t testing.TB, c specCommand) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(s.dir, c.Filename))
	require.NoError(t, err)
	return wasm
}

func TestTheSpecificationsModulesStayValid(t *testing.T) {
	t.Parallel()
	// The interpreter's compilation is quick, and its validation the same.
	engine := newInterpreter(t)
	compiled := 0
	for _, script := range specScripts(t) {
		for _, c := range script.Commands {
			if c.Type != "module" {
				continue
			}
			out, _ := interruptible(t, script.read(t, c), specLimits, specOptions)
			code, err := engine.CompileModule(t.Context(), out)
			require.NoError(t, err, c.Filename)
			require.NoError(t, code.Close(t.Context()))
			compiled++
		}
	}
	require.Greater(t, compiled, 1_000)
}

func newInterpreter(t testing.TB) wazero.Runtime {
	t.Helper()
	engine := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	return engine
}

// twins are the instances of a module as it was and as it became.
type twins [2]api.Module

// TestTheSpecificationsCallsEndAsBefore makes every call that the suite makes
// of a module that stands alone on both twins: results and traps must agree.
func TestTheSpecificationsCallsEndAsBefore(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, script := range specScripts(t) {
		engine := newInterpreter(t)
		var current *twins
		for _, c := range script.Commands {
			switch {
			case c.Type == "module":
				current = instantiateTwins(t, engine, script.read(t, c))
			case current != nil && c.Action.Type == "invoke" && c.Action.Module == "" && c.Type != "assert_exhaustion":
				args, ok := wordsOf(c.Action.Args)
				if !ok {
					continue
				}
				want := call(t, current[0], c.Action.Field, args)
				require.Equal(t, want, call(t, current[1], c.Action.Field, args), "%s:%d", script.name, c.Line)
				calls++
			}
		}
	}
	t.Logf("%d calls", calls)
	require.Greater(t, calls, 20_000)
}

// instantiateTwins gives nil for a module that imports what isn't there.
func instantiateTwins(t *testing.T, engine wazero.Runtime, wasm []byte) *twins {
	t.Helper()
	out, _ := interruptible(t, wasm, specLimits, specOptions)
	var both twins
	for i, code := range [][]byte{wasm, out} {
		instance, err := engine.InstantiateWithConfig(t.Context(), code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			require.Nil(t, both[0], "the rewritten twin must come to life too: %v", err)
			return nil
		}
		both[i] = instance
	}
	return &both
}

// call says how a call ended, in words that can be compared; what follows a
// trap's first line tells of places in the code.
func call(t *testing.T, instance api.Module, export string, args []uint64) string {
	t.Helper()
	f := instance.ExportedFunction(export)
	require.NotNil(t, f)
	results, err := f.Call(t.Context(), args...)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	if hasRef(f.Definition().ResultTypes()) {
		return fmt.Sprintf("%d references", len(results)) // addresses, which differ
	}
	return fmt.Sprint(results)
}

func hasRef(types []api.ValueType) bool {
	for _, t := range types {
		if t == api.ValueTypeExternref || scan.ValType(t) == scan.FuncRef {
			return true
		}
	}
	return false
}

// wordsOf encodes a call's arguments as the engine takes them; false where
// the suite writes what this reader doesn't know.
func wordsOf(values []specValue) ([]uint64, bool) {
	var words []uint64
	for _, v := range values {
		if v.Type == "v128" {
			return nil, false
		}
		var text string
		if json.Unmarshal(v.Value, &text) != nil {
			return nil, false
		}
		if text == "null" {
			text = "0"
		}
		word, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, false
		}
		words = append(words, word)
	}
	return words, true
}
