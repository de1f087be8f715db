package scan

import "github.com/taskq-host/taskq-host/abi"

// Limits bounds what a module may declare. A zero field takes its value from
// [DefaultLimits].
type Limits struct {
	Size            int    // bytes of the whole module
	Types           int    // function types
	Params          int    // parameters of one type
	Results         int    // results of one type
	Imports         int    // imports of any kind
	Functions       int    // functions that the module defines
	Tables          int    // tables, imported ones included
	TableEntries    uint32 // minimum of one table; its maximum is rewritten, not refused
	MemoryPages     uint32 // minimum of the memory, in pages of 64 KiB; its maximum is rewritten
	Globals         int    // globals, imported ones included
	Exports         int    // exports of any kind
	NameBytes       int    // bytes of one import's or export's name
	ElementSegments int    // element segments
	Elements        int    // entries of all element segments together
	DataSegments    int    // data segments
	Body            int    // bytes of one function body, locals included
	Locals          int    // locals of one function, parameters included
	LocalsTotal     int    // locals of all functions together
	Depth           int    // nested control structures in one body
	Operands        int    // values that the calls, blocks and branches of one body pass
	NameSection     int    // bytes of a name section; a bigger one is dropped, not refused
}

// DefaultLimits are the host's own; a tenant's lie within them.
func DefaultLimits() Limits {
	return Limits{
		Size:            abi.MaxModule,
		Types:           10_000,
		Params:          1_000,
		Results:         1_000,
		Imports:         256,
		Functions:       50_000,
		Tables:          8,
		TableEntries:    100_000,
		MemoryPages:     64 << 20 / abi.PageSize,
		Globals:         10_000,
		Exports:         1_024,
		NameBytes:       4 << 10,
		ElementSegments: 10_000,
		Elements:        1_000_000,
		DataSegments:    100_000,
		Body:            512 << 10,
		Locals:          50_000,
		LocalsTotal:     1_000_000,
		Depth:           20_000,
		Operands:        2_000_000,
		NameSection:     4 << 20,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ field, value *int }{
		{&l.Size, &d.Size},
		{&l.Types, &d.Types},
		{&l.Params, &d.Params},
		{&l.Results, &d.Results},
		{&l.Imports, &d.Imports},
		{&l.Functions, &d.Functions},
		{&l.Tables, &d.Tables},
		{&l.Globals, &d.Globals},
		{&l.Exports, &d.Exports},
		{&l.NameBytes, &d.NameBytes},
		{&l.ElementSegments, &d.ElementSegments},
		{&l.Elements, &d.Elements},
		{&l.DataSegments, &d.DataSegments},
		{&l.Body, &d.Body},
		{&l.Locals, &d.Locals},
		{&l.LocalsTotal, &d.LocalsTotal},
		{&l.Depth, &d.Depth},
		{&l.Operands, &d.Operands},
		{&l.NameSection, &d.NameSection},
	} {
		if *f.field == 0 {
			*f.field = *f.value
		}
	}
	if l.TableEntries == 0 {
		l.TableEntries = d.TableEntries
	}
	if l.MemoryPages == 0 {
		l.MemoryPages = d.MemoryPages
	}
	return l
}
