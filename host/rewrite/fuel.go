package rewrite

import (
	"fmt"
	"slices"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/scan"
)

// What metered code and its host share. Uploads can't use these names: scan
// refuses every import and export with the contract's prefix that isn't part
// of the contract.
const (
	TickModule  = abi.ReservedPrefix + "rt" // the import's module
	TickName    = "tick"                    // of type i64 -> i64: a gauge to its successor
	GaugeExport = abi.ReservedPrefix + "rt_gauge"
	StartExport = abi.ReservedPrefix + "rt_start"

	globalExport = abi.ReservedPrefix + "rt_global_"
)

// Metered is a module whose code accounts for its work.
type Metered struct {
	Code []byte
	// Start reports that the module has a start function. It isn't called when
	// the module is instantiated: it's exported as StartExport, for the host
	// to call first of all, under limits.
	Start bool
	// Globals are the exports by which the host can set back the module's own
	// mutable globals; those of a vector or reference type are left out.
	Globals []string
}

// Fuel rewrites a module so that it can be stopped at any time, whatever its
// code does, and so that its work is counted in units that are the same each
// time it does the same work:
//
//   - Where a function begins and at each loop's head the gauge is charged, a
//     global of its own behind all others ([Gauge]); where it's overdrawn, the
//     host's tick is called, which refuels it or unwinds the guest. No path
//     through a body runs far without a charge. Charges are made before the
//     work for all that may be long, and else within 128 units of it.
//   - A function that calls others is also charged for its frame, and gives
//     that back when it returns; so the depth of calls is bounded by o.Stack.
//   - Instructions whose time depends on an operand become calls of functions
//     behind all others, which charge by length first, and do long ones in
//     pieces; see bulk.go.
//   - The start function becomes an export. The module's mutable globals are
//     exported too.
//   - The memory and the tables get maxima within o.
//   - Custom sections are dropped. The names of functions are kept, and those
//     without one are named as an engine would have numbered them before the
//     tick moved all numbers.
//
// Results, traps and memory are those of the original, unless it's stopped.
// The error is about the options, or a [*scan.Refusal] where the module begins
// with more memory or table entries than o allows it.
func Fuel(wasm []byte, m *scan.Module, o Options) (*Metered, error) {
	if err := o.check(wasm, m); err != nil {
		return nil, err
	}
	if o.Stack < stackUnit || o.Stack > MaxStack {
		return nil, fmt.Errorf("rewrite: Stack must be %d to %d bytes, not %d", stackUnit, MaxStack, o.Stack)
	}
	f := &fueling{
		wasm: wasm, m: m, o: o,
		imported: uint32(m.ImportedFuncs),
		gauge:    uint32(len(m.Globals)),
		types:    slices.Clone(m.Types),
		bulk:     make(map[bulkKey]uint32),
	}
	return f.module(), nil
}

// fueling is one module being metered.
type fueling struct {
	wasm     []byte
	m        *scan.Module
	o        Options
	imported uint32 // functions; the tick comes right behind them
	gauge    uint32 // index of the global

	types []scan.FuncType // of the module and, behind them, our own
	bulk  map[bulkKey]uint32
	added []helper // functions behind all others
}

// fn is the new index of a function.
func (f *fueling) fn(i uint32) uint32 {
	if i >= f.imported {
		i++
	}
	return i
}

// typeOf gives the index of a type, which it adds if need be. Types of the
// module itself aren't searched: there may be many.
func (f *fueling) typeOf(t scan.FuncType) uint32 {
	own := f.types[len(f.m.Types):]
	for i, have := range own {
		if slices.Equal(have.Params, t.Params) && slices.Equal(have.Results, t.Results) {
			return uint32(len(f.m.Types) + i)
		}
	}
	f.types = append(f.types, t)
	return uint32(len(f.types) - 1)
}

// sectionOrder is the order in which sections stand.
var sectionOrder = []scan.SectionID{
	scan.SectionType, scan.SectionImport, scan.SectionFunction, scan.SectionTable, scan.SectionMemory,
	scan.SectionGlobal, scan.SectionExport, scan.SectionElement, scan.SectionDataCount, scan.SectionCode, scan.SectionData,
}

func (f *fueling) module() *Metered {
	tick := f.typeOf(scan.FuncType{Params: []scan.ValType{scan.I64}, Results: []scan.ValType{scan.I64}})
	code := f.code() // first: it decides which types and functions are added
	metered := &Metered{Start: f.m.HasStart, Globals: GlobalExports(f.m)}
	at := make(map[scan.SectionID]scan.Section, len(f.m.Sections))
	for _, s := range f.m.Sections {
		at[s.ID] = s
	}
	out := make(output, 0, len(f.wasm)+len(code)/2+4096)
	out = append(out, f.wasm[:8]...)
	for _, id := range sectionOrder {
		s, has := at[id]
		switch id {
		case scan.SectionType:
			out.section(id, f.typeSection(s, has))
		case scan.SectionImport:
			out.section(id, f.importSection(s, has, tick))
		case scan.SectionFunction:
			if has || len(f.added) > 0 {
				out.section(id, f.functionSection())
			}
		case scan.SectionTable:
			if has {
				out.section(id, tables(f.m, f.o.TableMax))
			}
		case scan.SectionMemory:
			if has {
				out.section(id, memories(f.m, f.o.MemoryMaxPages))
			}
		case scan.SectionGlobal:
			out.section(id, f.globalSection(s, has))
		case scan.SectionExport:
			out.section(id, f.exportSection(metered))
		case scan.SectionElement:
			if has {
				out.section(id, f.renumbered(s, s.Offset))
			}
		case scan.SectionCode:
			if has {
				out.section(id, code)
			}
		default:
			if has {
				out = append(out, f.wasm[s.Start:s.Offset+s.Len]...)
			}
		}
	}
	out.section(scan.SectionCustom, f.names())
	metered.Code = out
	return metered
}
