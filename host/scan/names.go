package scan

import "iter"

// NameSection is where the names of functions stand that a stack trace shows.
// Its zero value means that there are none, or none that can be trusted: a
// broken or oversized name section is no reason to refuse a module.
type NameSection struct {
	Offset int // of the function names: their number and then index, length, bytes of each
	Len    int // bytes
}

// subsectionFunctions is the part of a name section that holds function names.
const subsectionFunctions = 1

func (s *scanner) customSection() {
	name := s.name("the name of a custom section", noLimit)
	if string(name) == "name" && s.m.Names.Len == 0 && s.err == nil && s.end-s.pos <= s.limits.NameSection {
		s.m.Names = findNames(s.b, s.pos, s.end, len(s.m.funcTypes))
	}
	s.pos = s.end
}

// findNames reads a name section with a reader of its own, whose refusals
// only mean that there are no names.
func findNames(b []byte, pos, end, funcs int) NameSection {
	r := reader{b: b, pos: pos, end: end}
	var found NameSection
	for r.pos < r.end {
		id := r.byte("")
		size := int(r.u32(""))
		start := r.pos
		r.skip(size, "")
		if r.err != nil {
			return NameSection{}
		}
		if id != subsectionFunctions {
			continue
		}
		if found.Len > 0 || !wellFormedNames(b[start:r.pos], funcs) {
			return NameSection{}
		}
		found = NameSection{Offset: start, Len: size}
	}
	return found
}

// wellFormedNames reports whether a name map is whole, in ascending order,
// and about functions that exist.
func wellFormedNames(b []byte, funcs int) bool {
	r := reader{b: b, end: len(b)}
	n := r.count("", 2, funcs, "")
	next := 0
	for range n {
		i := int(r.u32(""))
		r.name("", noLimit)
		if r.err != nil || i < next || i >= funcs {
			return false
		}
		next = i + 1
	}
	return r.err == nil && r.pos == r.end
}

// FuncNames gives the function indices that have a name, ascending, with the
// name. The bytes must be those that were scanned, and the names are parts of
// them.
func (n NameSection) FuncNames(wasm []byte) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		r := reader{b: wasm, pos: n.Offset, end: n.Offset + n.Len}
		if n.Len == 0 {
			return
		}
		for range r.u32("") {
			i := r.u32("")
			size := int(r.u32(""))
			start := r.pos
			r.skip(size, "")
			if r.err != nil || !yield(i, wasm[start:r.pos]) {
				return
			}
		}
	}
}
