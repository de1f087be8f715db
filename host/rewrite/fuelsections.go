package rewrite

import (
	"strconv"

	"github.com/taskq-host/taskq-host/host/scan"
)

// items is what a section holds behind the count that it begins with.
func (f *fueling) items(s scan.Section, has bool) []byte {
	if !has {
		return nil
	}
	content := f.wasm[s.Offset : s.Offset+s.Len]
	return content[lengthU32(content):]
}

// lengthU32 is how many bytes the number at the beginning of b takes there.
func lengthU32(b []byte) int {
	n := 1
	for b[n-1] >= 0x80 {
		n++
	}
	return n
}

func (f *fueling) typeSection(s scan.Section, has bool) []byte {
	var out output
	out.u32(uint32(len(f.types)))
	out = append(out, f.items(s, has)...)
	for _, t := range f.types[len(f.m.Types):] {
		out = append(out, 0x60)
		out.valTypes(t.Params)
		out.valTypes(t.Results)
	}
	return out
}

func (f *fueling) importSection(s scan.Section, has bool, tick uint32) []byte {
	var out output
	out.u32(uint32(len(f.m.Imports) + 1))
	out = append(out, f.items(s, has)...)
	out.name(TickModule)
	out.name(TickName)
	out = append(out, byte(scan.FuncKind))
	out.u32(tick)
	return out
}

func (f *fueling) functionSection() []byte {
	var out output
	out.u32(uint32(len(f.m.Funcs) + len(f.added)))
	for _, t := range f.m.Funcs {
		out.u32(t)
	}
	for _, h := range f.added {
		out.u32(h.typeIndex)
	}
	return out
}

func (f *fueling) globalSection(s scan.Section, has bool) []byte {
	own := len(f.m.Globals) - f.m.ImportedGlobals
	var out output
	out.u32(uint32(own + 1))
	if has {
		out = append(out, f.renumbered(s, s.Offset+s.Len-len(f.items(s, has)))...)
	}
	const mutable = 1
	out = append(out, byte(scan.I64), mutable, byte(scan.OpI64Const))
	out.s64(int64(newGauge(f.o.Stack)))
	return append(out, byte(scan.OpEnd))
}

// renumbered copies a section from some place on, its functions' indices moved.
func (f *fueling) renumbered(s scan.Section, from int) []byte {
	var out output
	for ref := range f.m.FuncIndices(f.wasm, s) {
		out = append(out, f.wasm[from:ref.Offset]...)
		out.u32(f.fn(ref.Index))
		from = ref.End
	}
	return append(out, f.wasm[from:s.Offset+s.Len]...)
}

// GlobalExports names the exports by which a host can set back the mutable
// globals of a metered module; those of a vector or reference type have none.
func GlobalExports(m *scan.Module) []string {
	var names []string
	for i, g := range m.Globals {
		if i >= m.ImportedGlobals && g.Mutable && g.Type != scan.V128 && !g.Type.IsRef() {
			names = append(names, globalExport+strconv.Itoa(i))
		}
	}
	return names
}

func (f *fueling) exportSection(m *Metered) []byte {
	n := len(f.m.Exports) + len(m.Globals) + 1
	if m.Start {
		n++
	}
	var out output
	out.u32(uint32(n))
	export := func(name string, kind scan.Kind, index uint32) {
		out.name(name)
		out = append(out, byte(kind))
		out.u32(index)
	}
	for _, e := range f.m.Exports {
		if e.Kind == scan.FuncKind {
			e.Index = f.fn(e.Index)
		}
		export(e.Name, e.Kind, e.Index)
	}
	for _, name := range m.Globals {
		i, _ := strconv.Atoi(name[len(globalExport):])
		export(name, scan.GlobalKind, uint32(i))
	}
	export(GaugeExport, scan.GlobalKind, f.gauge)
	if m.Start {
		export(StartExport, scan.FuncKind, f.fn(f.m.Start))
	}
	return out
}

// names is the content of a name section for every function but the host's.
func (f *fueling) names() []byte {
	given := make(map[uint32][]byte)
	for i, name := range f.m.Names.FuncNames(f.wasm) {
		given[i] = cut(name)
	}
	var entries output
	count := uint32(0)
	entry := func(index uint32, name []byte) {
		entries.u32(index)
		entries.u32(uint32(len(name)))
		entries = append(entries, name...)
		count++
	}
	for i := f.imported; int(i) < f.m.NumFuncs(); i++ {
		name, ok := given[i]
		if !ok {
			name = strconv.AppendUint([]byte{'$'}, uint64(i), 10)
		}
		entry(f.fn(i), name)
	}
	for i, h := range f.added {
		entry(f.fn(uint32(f.m.NumFuncs()+i)), []byte(h.name))
	}
	return nameSection(count, entries)
}
