package scan

import (
	"fmt"
	"strings"
)

// ValType is the type of a value, as the binary format writes it.
type ValType byte

// Types of values.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// String gives the name that the text format uses.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("%#02x", byte(t))
}

// IsRef reports whether t is a reference.
func (t ValType) IsRef() bool { return t == FuncRef || t == ExternRef }

// FuncType is the signature of a function.
type FuncType struct{ Params, Results []ValType }

// String writes the signature as "(i32, i64) -> i32".
func (t FuncType) String() string {
	list := func(types []ValType) string {
		names := make([]string, len(types))
		for i, v := range types {
			names[i] = v.String()
		}
		return strings.Join(names, ", ")
	}
	if len(t.Results) == 1 {
		return "(" + list(t.Params) + ") -> " + list(t.Results)
	}
	return "(" + list(t.Params) + ") -> (" + list(t.Results) + ")"
}

// Kind says what an import or export is.
type Kind byte

// Kinds of imports and exports.
const (
	FuncKind   Kind = 0
	TableKind  Kind = 1
	MemoryKind Kind = 2
	GlobalKind Kind = 3
)

// String gives the kind's name: function, table, memory or global.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return fmt.Sprintf("kind %#02x", byte(k))
	}
	return kinds[k]
}

var kinds = [...]string{"function", "table", "memory", "global"}

// Import is one thing that the module wants from its host.
type Import struct {
	Module, Name string
	Kind         Kind
	Index        uint32 // in the index space of its kind
	TypeIndex    uint32 // functions only
}

// Export is one thing that the module shows to its host.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32 // in the index space of its kind, imports first
}

// TableType is the declaration of a table; sizes are in entries.
type TableType struct {
	Elem     ValType
	Min, Max uint32
	HasMax   bool
}

// MemoryType is the declaration of a linear memory; sizes are in pages of
// 64 KiB.
type MemoryType struct {
	Min, Max uint32
	HasMax   bool
}

// GlobalType is the declaration of a global.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// Section is one section other than a custom one.
type Section struct {
	ID     SectionID
	Start  int // of its id
	Offset int // of its content
	Len    int // of its content, bytes
}

// Body is where one function's code is. Offsets count from the module's first
// byte.
type Body struct {
	Offset int // of the local declarations, right behind the size
	Code   int // of the first instruction, right behind the locals
	End    int // behind the final end instruction
	Locals uint32
	Bulk   uint32 // instructions whose time depends on an operand: memory.fill, table.copy, memory.grow …
}

// Module is what a scan found. It keeps nothing of the scanned bytes.
type Module struct {
	Size    int // bytes
	Types   []FuncType
	Imports []Import

	ImportedFuncs, ImportedTables, ImportedMemories, ImportedGlobals int

	Funcs    []uint32     // type index of each function that the module defines
	Tables   []TableType  // imported ones first, as are those below
	Memories []MemoryType // at most one
	Globals  []GlobalType
	Exports  []Export

	Start    uint32 // index of the start function
	HasStart bool

	ElementSegments, Elements, DataSegments int

	Bodies   []Body    // of Funcs, in order
	Sections []Section // in order, without custom ones
	Names    NameSection
	Facts    Facts

	funcTypes []uint32 // type index of every function, imported ones first
}

// NumFuncs is how many functions there are, imported ones included.
func (m *Module) NumFuncs() int { return len(m.funcTypes) }

// FuncTypeOf gives the signature of the function with that index, imported
// ones counted first. The index must be one of the module's own, as all that
// a scanned module holds are.
func (m *Module) FuncTypeOf(index uint32) FuncType { return m.Types[m.funcTypes[index]] }

// Export finds an export by its name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// ExportedFunc finds an exported function by its name.
func (m *Module) ExportedFunc(name string) (FuncType, bool) {
	e, ok := m.Export(name)
	if !ok || e.Kind != FuncKind {
		return FuncType{}, false
	}
	return m.FuncTypeOf(e.Index), true
}
