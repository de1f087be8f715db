package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// Module is a compiled module, ready to run. It stays usable for as long as
// somebody holds it, also when the engine has dropped it from its cache, and
// until the engine is closed.
type Module struct {
	engine   *Engine
	report   Report
	compiled wazero.CompiledModule
	config   wazero.ModuleConfig
	entries  map[abi.Kind]string // the export of each kind of execution
	prelude  []string            // exports called before the entry, in order
	metered  bool                // its code counts its work
	resumes  bool                // it exports taskq_v1_resume
	globals  []string            // exports that set its globals back

	retired     atomic.Bool // the engine has dropped it
	quarantined atomic.Bool // an instance wasn't restored to what it was
	pushes      bool        // it imports output_write
	maxPages    int64       // the smaller of its own maximum and what 32 bits address
}

func newModule(e *Engine, scanned *scan.Module, report *Report, compiled wazero.CompiledModule) *Module {
	metered := e.interruption == InterruptByFuel
	var globals []string
	if metered {
		globals = rewrite.GlobalExports(scanned)
	}
	m := &Module{
		engine: e, report: *report, compiled: compiled,
		// No name, else the module's own name section would name the
		// instance and a second one would collide; and nothing is called
		// that an attempt doesn't call itself.
		// The engine would seed a random source of its own for each instance,
		// which is half the cost of one; guests use the host's shim.
		config:  wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(e.random),
		entries: make(map[abi.Kind]string),
		metered: metered, globals: globals,
		pushes: slices.ContainsFunc(report.Imports, func(i Import) bool {
			return i.Module == abi.Module && i.Name == "output_write"
		}),
	}
	m.maxPages = maxPages
	if memory := scanned.Memories[0]; memory.HasMax { // Inspect saw that there is one
		m.maxPages = int64(memory.Max)
	}
	if metered && scanned.HasStart {
		m.prelude = append(m.prelude, rewrite.StartExport)
	}
	if report.Mode == abi.Command {
		m.entries[abi.KindRun] = abi.ExportStart
		return m
	}
	for _, x := range exports {
		if _, ok := scanned.ExportedFunc(x.name); ok && x.kind != "" {
			m.entries[x.kind] = x.name
		}
	}
	_, m.resumes = scanned.ExportedFunc(abi.ExportResume)
	for _, name := range []string{abi.ExportInitialize, abi.ExportWarm} {
		if _, ok := scanned.ExportedFunc(name); ok {
			m.prelude = append(m.prelude, name)
		}
	}
	return m
}

// reusable reports whether an instance may serve more than one attempt.
func (m *Module) reusable() bool {
	return m.metered && m.report.Poolable && !m.retired.Load() && !m.quarantined.Load()
}

// Report gives what is known of the module. It is shared: don't change it.
func (m *Module) Report() *Report { return &m.report }

// memoryLimit is the smaller of an attempt's limit and the module's own, in
// whole pages, as bytes.
func (m *Module) memoryLimit(limit int64) int64 {
	return min((limit+abi.PageSize-1)/abi.PageSize, m.maxPages) * abi.PageSize
}

// describeTimeout is long for what describe does: it pushes a constant.
const describeTimeout = 5 * time.Second

// ErrNoManifest means that a module exports no taskq_v1_describe.
var ErrNoManifest = errors.New("the module doesn't describe itself")

// Describe runs taskq_v1_describe and reads the manifest that it pushes. The
// error is ErrNoManifest, a *Refusal when the module fails at it or pushes
// nonsense, or the context's cause.
func (m *Module) Describe(ctx context.Context) (*abi.Manifest, error) {
	if _, ok := m.entries[abi.KindDescribe]; !ok {
		return nil, ErrNoManifest
	}
	out := m.Run(ctx, Attempt{Kind: abi.KindDescribe, Timeout: describeTimeout, Limits: Limits{Result: abi.MaxFailure}})
	switch out.Kind {
	case Succeeded:
	case Stopped:
		return nil, out.Cause
	case Failed:
		if out.Failure.Class == abi.ClassHostFault {
			return nil, fmt.Errorf("describe: %s", out.Failure.Message)
		}
		return nil, refuse(RuleDescribe, "%s failed: %s: %s", abi.ExportDescribe, out.Failure.Class, out.Failure.Message)
	}
	manifest := &abi.Manifest{}
	if out.Result == nil {
		return manifest, nil
	}
	raw, err := abi.RepairJSON(out.Result)
	if err != nil {
		return nil, refuse(RuleDescribe, "the manifest: %v", err)
	}
	if err := json.Unmarshal(raw, manifest); err != nil {
		return nil, refuse(RuleDescribe, "the manifest: %v", err)
	}
	return manifest, nil
}
