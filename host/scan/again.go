package scan

import "iter"

// FuncIndex is the index of a function as it stands outside of code: in an
// element segment, or in a ref.func that a global begins with. Offsets count
// from the module's first byte.
type FuncIndex struct {
	Offset, End int // of the index alone
	Index       uint32
}

// FuncIndices walks over the function indices of a global or element section, in
// order; other sections have none that are found here. The bytes must be those
// that were scanned.
func (m *Module) FuncIndices(wasm []byte, s Section) iter.Seq[FuncIndex] {
	return func(yield func(FuncIndex) bool) {
		r := refReader{reader: reader{b: wasm, pos: s.Offset, end: s.Offset + s.Len}, yield: yield}
		switch s.ID {
		case SectionGlobal:
			for range r.u32("") {
				r.skip(2, "") // type, mutability
				if !r.constant() {
					return
				}
			}
		case SectionElement:
			for range r.u32("") {
				if !r.segment() {
					return
				}
			}
		}
	}
}

// refReader reads again what a scan has accepted; its methods are false when
// nobody wants more.
type refReader struct {
	reader
	yield func(FuncIndex) bool
}

func (r *refReader) constant() bool {
	var in Instr
	r.instr(&in)
	r.skip(1, "") // end
	if r.err != nil {
		return false
	}
	return in.Op != OpRefFunc || r.yield(FuncIndex{Offset: in.Args, End: in.End, Index: in.A})
}

func (r *refReader) segment() bool {
	flags := r.u32("")
	if flags&elemPassiveOrDeclared == 0 {
		if flags&elemExplicit != 0 {
			r.u32("") // table
		}
		if !r.constant() {
			return false
		}
	}
	if flags&(elemPassiveOrDeclared|elemExplicit) != 0 {
		r.skip(1, "") // type of the elements
	}
	for range r.u32("") {
		if flags&elemExpressions != 0 {
			if !r.constant() {
				return false
			}
			continue
		}
		at := r.pos
		i := r.u32("")
		if r.err != nil || !r.yield(FuncIndex{Offset: at, End: r.pos, Index: i}) {
			return false
		}
	}
	return r.err == nil
}

// Labels walks over the labels of a br_table, its default last. The bytes
// must be those that were scanned.
func (in *Instr) Labels(wasm []byte) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		r := reader{b: wasm, pos: in.Args, end: in.End}
		for range r.u32("") {
			if !yield(r.u32("")) {
				return
			}
		}
		yield(r.u32(""))
	}
}
