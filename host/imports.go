package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/scan"
)

// hostImport is one function that a guest may import. It is what the engine
// calls, without reflection.
type hostImport struct {
	module, name string
	params       string // one letter a value: i i32, I i64, F f64
	results      string
	stages       stage  // where it works; elsewhere it answers elsewhere
	elsewhere    uint64 // code(abi.CodeDenied) unless the result isn't a code
	run          func(x *execution, mem api.Memory, stack []uint64)
}

// Call implements api.GoModuleFunction.
func (h *hostImport) Call(ctx context.Context, mod api.Module, stack []uint64) {
	x := executionOf(ctx)
	x.enter(h.name)
	if x.stage&h.stages == 0 {
		if h.results != "" {
			stack[0] = h.elsewhere
		}
		return
	}
	h.run(x, mod.Memory(), stack)
}

var valueTypes = map[rune]api.ValueType{
	'i': api.ValueTypeI32, 'I': api.ValueTypeI64, 'f': api.ValueTypeF32, 'F': api.ValueTypeF64,
}

func typesOf(letters string) []api.ValueType {
	types := make([]api.ValueType, 0, len(letters))
	for _, letter := range letters {
		types = append(types, valueTypes[letter])
	}
	return types
}

var scanTypes = map[rune]scan.ValType{'i': scan.I32, 'I': scan.I64, 'f': scan.F32, 'F': scan.F64}

// funcType is the import's type as a scanned module declares it.
func (h *hostImport) funcType() scan.FuncType {
	var t scan.FuncType
	for _, letter := range h.params {
		t.Params = append(t.Params, scanTypes[letter])
	}
	for _, letter := range h.results {
		t.Results = append(t.Results, scanTypes[letter])
	}
	return t
}

// notOffered are the imports of the contract that this host lacks.
var notOffered = []string{
	"step_get", "step_put", "sleep", "signal", "enqueue", "call",
	"http", "http_head", "http_body", "http_close",
	"kv_get", "kv_put", "kv_cas", "kv_delete", "secret",
}

// offered is every import by module and name.
var offered = func() map[string]map[string]*hostImport {
	all := make(map[string]map[string]*hostImport)
	for _, list := range [][]hostImport{taskqImports, wasiImports, wasiAbsent(), scriptImports} {
		for i := range list {
			h := &list[i]
			if all[h.module] == nil {
				all[h.module] = make(map[string]*hostImport)
			}
			all[h.module][h.name] = h
		}
	}
	return all
}()

// instantiateImports makes the host modules that all guests share.
func instantiateImports(ctx context.Context, runtime wazero.Runtime) error {
	for module, functions := range offered {
		builder := runtime.NewHostModuleBuilder(module)
		for name, h := range functions {
			builder.NewFunctionBuilder().
				WithGoModuleFunction(h, typesOf(h.params), typesOf(h.results)).
				WithName(name).
				Export(name)
		}
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("instantiate the imports of %s: %w", module, err)
		}
	}
	return nil
}

// lookupImport finds an import, or says why there is none.
func lookupImport(module, name string) (*hostImport, error) {
	functions, ok := offered[module]
	if !ok {
		return nil, fmt.Errorf("import %s.%s: this host has no module %q; it knows %s",
			module, name, module, strings.Join(sortedKeys(offered), ", "))
	}
	if h, ok := functions[name]; ok {
		return h, nil
	}
	if module == abi.Module && slices.Contains(notOffered, name) {
		return nil, fmt.Errorf("import %s.%s belongs to the contract, but this host doesn't offer it yet", module, name)
	}
	return nil, fmt.Errorf("import %s.%s is unknown; %s has %s", module, name, module, strings.Join(sortedKeys(functions), ", "))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
