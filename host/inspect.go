package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/scan"
)

// Rules of the host's own refusals; those of package scan come beside them, a
// name of the contract's prefix that it doesn't know among them.
const (
	RuleUnknownImport   = "abi.unknown_import"
	RuleImportType      = "abi.import_type"
	RuleImportKind      = "abi.import_kind"
	RuleMissingMemory   = "abi.missing_memory"
	RuleMissingEntry    = "abi.missing_entry"
	RuleEntryType       = "abi.entry_type"
	RuleDescribe        = "abi.describe"
	RuleCompileInvalid  = "compile.invalid"
	RuleCompileTime     = "compile.time"
	RuleCompileResource = "compile.resources"
)

// Refusal is why a module isn't accepted, in a sentence for who uploaded it.
type Refusal struct { //nolint:errname // a refusal is what it is called everywhere
	Rule    string // stable; one of package scan's or of this package
	Message string
}

// Error gives the message.
func (r *Refusal) Error() string { return r.Message }

func refuse(rule, format string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// Import is one function that a module imports.
type Import struct {
	Module string `json:"module"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// Report is what is known of a module before it is compiled.
type Report struct {
	Digest       string   `json:"digest"` // SHA-256 of the upload, hex
	Size         int      `json:"size"`   // bytes of the upload
	Mode         abi.Mode `json:"mode"`
	Entries      []string `json:"entries"` // kinds of execution: run, classify, hook, cron, describe
	Imports      []Import `json:"imports"`
	Capabilities []string `json:"capabilities"` // grants that its imports need, sorted
	MemoryMin    int64    `json:"memory_min"`   // bytes
	MemoryMax    int64    `json:"memory_max"`   // bytes that it declares as its own limit; 0: none
	Functions    int      `json:"functions"`
	Poolable     bool     `json:"poolable"`
	NotPoolable  []string `json:"not_poolable,omitempty"` // why, a sentence each
	Warnings     []string `json:"warnings,omitempty"`
}

// Inspect scans a module and checks it against the contract; nothing is
// compiled. The error is a *Refusal.
func (e *Engine) Inspect(wasm []byte) (*Report, error) {
	_, report, err := e.inspect(wasm)
	return report, err
}

func (e *Engine) inspect(wasm []byte) (*scan.Module, *Report, error) {
	scanned, err := scan.Scan(wasm, e.scan)
	if err != nil {
		if refusal := new(scan.Refusal); errors.As(err, &refusal) {
			return nil, nil, &Refusal{Rule: refusal.Rule, Message: refusal.Error()}
		}
		return nil, nil, err
	}
	sum := sha256.Sum256(wasm)
	r := &Report{
		Digest: hex.EncodeToString(sum[:]), Size: len(wasm), Functions: len(scanned.Funcs),
		Entries: []string{}, Imports: []Import{}, Capabilities: []string{},
		NotPoolable: scanned.NotPoolable(),
	}
	r.Poolable = len(r.NotPoolable) == 0
	for _, check := range []func(*scan.Module) *Refusal{r.checkImports, r.checkMemory, r.checkExports} {
		if refusal := check(scanned); refusal != nil {
			return nil, nil, refusal
		}
	}
	return scanned, r, nil
}

func (r *Report) checkImports(m *scan.Module) *Refusal {
	for _, i := range m.Imports {
		if i.Kind != scan.FuncKind {
			return refuse(RuleImportKind, "import %s.%s is a %s; only functions can be imported: the module must define its own", i.Module, i.Name, i.Kind)
		}
		h, err := lookupImport(i.Module, i.Name)
		if err != nil {
			return refuse(RuleUnknownImport, "%v", err)
		}
		is, want := m.Types[i.TypeIndex].String(), h.funcType().String()
		if is != want {
			return refuse(RuleImportType, "import %s.%s is declared as %s, but the host's is %s", i.Module, i.Name, is, want)
		}
		r.Imports = append(r.Imports, Import{Module: i.Module, Name: i.Name, Type: is})
		if need := abi.Capability(i.Name); i.Module == abi.Module && need != "" && !slices.Contains(r.Capabilities, need) {
			r.Capabilities = append(r.Capabilities, need)
		}
	}
	slices.Sort(r.Capabilities)
	return nil
}

func (r *Report) checkMemory(m *scan.Module) *Refusal {
	export, ok := m.Export(abi.ExportMemory)
	if !ok || export.Kind != scan.MemoryKind {
		return refuse(RuleMissingMemory, "the module doesn't export its memory as %q", abi.ExportMemory)
	}
	memory := m.Memories[export.Index]
	r.MemoryMin = int64(memory.Min) * abi.PageSize
	if memory.HasMax {
		r.MemoryMax = int64(memory.Max) * abi.PageSize
	}
	return nil
}

// exports are the functions of the contract, with their types.
var exports = []struct {
	name    string
	returns bool
	kind    abi.Kind // empty where it's no entry
}{
	{abi.ExportRun, true, abi.KindRun},
	{abi.ExportClassify, true, abi.KindClassify},
	{abi.ExportHook, true, abi.KindHook},
	{abi.ExportCron, true, abi.KindCron},
	{abi.ExportDescribe, true, abi.KindDescribe},
	{abi.ExportInitialize, false, ""},
	{abi.ExportWarm, true, ""},
	{abi.ExportResume, false, ""},
	{abi.ExportStart, false, ""},
}

func (r *Report) checkExports(m *scan.Module) *Refusal {
	for _, x := range exports {
		want := scan.FuncType{}
		if x.returns {
			want.Results = []scan.ValType{scan.I32}
		}
		export, ok := m.Export(x.name)
		if !ok {
			continue
		}
		if export.Kind != scan.FuncKind {
			return refuse(RuleEntryType, "export %s is a %s; it must be a function %s", x.name, export.Kind, want)
		}
		if is := m.FuncTypeOf(export.Index); is.String() != want.String() {
			return refuse(RuleEntryType, "export %s is a function %s; it must be %s", x.name, is, want)
		}
		if x.kind != "" {
			r.Entries = append(r.Entries, string(x.kind))
		}
	}
	return r.chooseMode(m)
}

// chooseMode makes a module a reactor if it has an entry that attempts use,
// else a command if it has _start.
func (r *Report) chooseMode(m *scan.Module) *Refusal {
	describes := slices.Contains(r.Entries, string(abi.KindDescribe))
	if len(r.Entries) > 1 || len(r.Entries) == 1 && !describes {
		r.Mode = abi.Reactor
		return nil
	}
	if _, ok := m.ExportedFunc(abi.ExportStart); !ok {
		return refuse(RuleMissingEntry, "the module exports no entry: it needs one of %s, %s, %s, %s, or _start as a command",
			abi.ExportRun, abi.ExportClassify, abi.ExportHook, abi.ExportCron)
	}
	r.Mode = abi.Command
	r.Entries = []string{string(abi.KindRun)}
	if describes {
		r.Warnings = append(r.Warnings, abi.ExportDescribe+" is ignored, because the module is a command: its runtime only begins in _start")
	}
	return nil
}
