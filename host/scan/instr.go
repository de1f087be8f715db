package scan

import "iter"

// Instr is one instruction as it stands in a body. Offsets count from the
// module's first byte.
type Instr struct {
	Op     Op
	Offset int // of its first byte
	Args   int // of its first immediate, behind the opcode; End if it has none
	End    int // behind its last byte

	// The immediates, by the kind of instruction:
	//
	//	br, br_if         A label
	//	br_table          A number of labels before the default, B the default
	//	call, ref.func    A function
	//	call_indirect     A type, B table
	//	local.*, global.* A local or global
	//	table.*           A table; table.init A segment, B table; table.copy A to, B from
	//	memory.init       A data segment; data.drop, elem.drop A segment
	//	loads and stores  A logarithm of the alignment, B offset
	A, B uint32

	// Block is the type of a block, loop or if: negative is the byte of its
	// only result or of none (-64), else an index of a type.
	Block int64
	// Const is the value of i32.const and i64.const.
	Const int64
}

// BlockVoid is the Block of a control structure without parameters and results.
const BlockVoid = -64

// instr decodes the next instruction and checks what needs no knowledge of
// the module: its opcode and the encoding of its immediates, alignment, lanes.
func (r *reader) instr(in *Instr) {
	in.Offset = r.pos
	op := r.byte("an instruction")
	in.Op = Op(op)
	as := plainForms[op]
	switch as {
	case formNone:
		in.Args, in.End = r.pos, r.pos
		return
	case formPrefixFC:
		as = r.prefixed(in, &bulkForms)
	case formPrefixFD:
		as = r.prefixed(in, &vectorForms)
	}
	in.Args = r.pos
	r.immediates(in, as)
	in.End = r.pos
}

func (r *reader) prefixed(in *Instr, of *forms) form {
	sub := r.u32("an instruction's number")
	if sub > 0xff {
		if in.Op == 0xfd && sub < 0x120 {
			r.unsupported(in.Offset, RuleRelaxedSIMD)
		}
		r.failAt(in.Offset, RuleInstruction, "%#02x %d is not an instruction of WebAssembly 2.0", byte(in.Op), sub)
		return formNone
	}
	in.Op = in.Op<<8 | Op(sub)
	return of[sub]
}

func (r *reader) immediates(in *Instr, as form) {
	switch as {
	case formNone:
	case formBlock:
		r.blockType(in)
	case formLabel:
		in.A = r.u32("a label")
	case formLocal:
		in.A = r.u32("a local index")
	case formFunc, formGlobal, formGlobalSet, formTable, formData, formElem:
		in.A = r.u32("an index")
	case formCallIndirect, formTableInit, formTableCopy:
		in.A, in.B = r.u32("an index"), r.u32("an index")
	case formI32:
		in.Const = r.signed(32, "an i32.const")
	case formI64:
		in.Const = r.signed(64, "an i64.const")
	case formF32:
		r.skip(4, "an f32.const")
	case formF64:
		r.skip(8, "an f64.const")
	case formLabels:
		r.labels(in)
	case formMemory:
		r.memoryByte()
	case formMemoryInit:
		in.A = r.u32("an index")
		r.memoryByte()
	case formMemoryCopy:
		r.memoryByte()
		r.memoryByte()
	case formRefType:
		r.refType()
	case formSelect:
		if n := r.u32("the number of types of a select"); n != 1 {
			r.fail(RuleEncoding, "a select has %d types, but must have one", n)
		}
		r.valType()
	default:
		r.otherImmediates(in, as)
	}
}

func (r *reader) otherImmediates(in *Instr, as form) {
	switch {
	case as >= formProposal:
		r.unsupported(in.Offset, proposals[as-formProposal])
	case as >= formAccessLane:
		log2 := as - formAccessLane
		r.access(in, uint32(log2))
		r.lane(16 >> log2)
	case as >= formLane:
		r.lane(1 << (as - formLane))
	case as >= formAccess:
		r.access(in, uint32(as-formAccess))
	case as == formV128:
		r.skip(16, "a v128.const")
	case as == formShuffle:
		for range 16 {
			r.lane(32)
		}
	default:
		r.failAt(in.Offset, RuleInstruction, "%#02x is not an instruction of WebAssembly 2.0", uint16(in.Op))
	}
}

// blockType reads a signed number of 33 bits; the types of single values are
// negative ones that take one byte.
func (r *reader) blockType(in *Instr) {
	start := r.pos
	if r.pos < r.end && r.b[r.pos]&0xc0 == 0x40 {
		b := r.b[r.pos]
		r.pos++
		in.Block = int64(b) - 0x80
		if in.Block != BlockVoid {
			r.checkValType(start, b)
		}
		return
	}
	in.Block = r.signed(33, "a block's type")
	if in.Block < 0 {
		r.failAt(start, RuleType, "a block's type is negative")
	}
}

func (r *reader) labels(in *Instr) {
	start := r.pos
	in.A = r.u32("the number of labels of a br_table")
	if int64(in.A) > int64(r.end-r.pos) {
		r.failAt(start, RuleCount, "a br_table claims %d labels, which can't fit into the %d bytes that follow", in.A, r.end-r.pos)
		return
	}
	for range in.A {
		r.u32("a label")
	}
	in.B = r.u32("a label")
}

func (r *reader) memoryByte() {
	if b := r.byte("a memory index"); b != 0 {
		r.unsupported(r.pos-1, RuleMultiMemory)
	}
}

func (r *reader) lane(below byte) {
	if b := r.byte("a lane"); b >= below {
		r.failAt(r.pos-1, RuleLane, "lane %d is out of range: it must be below %d", b, below)
	}
}

func (r *reader) access(in *Instr, log2 uint32) {
	start := r.pos
	in.A = r.u32("an alignment")
	if in.A > log2 {
		if in.A&^0x3f == 0x40 {
			r.unsupported(start, RuleMultiMemory)
			return
		}
		r.failAt(start, RuleAlignment, "an alignment of 2^%d is larger than the access of %d bytes", in.A, 1<<log2)
	}
	in.B = r.u32("an offset into memory")
}

// valType reads the type of a value.
func (r *reader) valType() ValType {
	start := r.pos
	b := r.byte("a type")
	r.checkValType(start, b)
	return ValType(b)
}

func (r *reader) checkValType(at int, b byte) {
	switch ValType(b) {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return
	}
	switch {
	case b == 0x69 || b == 0x74:
		r.unsupported(at, RuleExceptions)
	case b == 0x63 || b == 0x64:
		r.unsupported(at, RuleFunctionReferences)
	case b >= 0x65 && b <= 0x73 || b == 0x77 || b == 0x78:
		r.unsupported(at, RuleGC)
	default:
		r.failAt(at, RuleType, "%#02x is not the type of a value", b)
	}
}

func (r *reader) refType() ValType {
	start := r.pos
	t := r.valType()
	if !t.IsRef() && r.err == nil {
		r.failAt(start, RuleType, "%s is not a reference type", t)
	}
	return t
}

// Instructions walks over the instructions of one body, its final end
// included. The bytes must be those that were scanned.
func (b Body) Instructions(wasm []byte) iter.Seq[*Instr] {
	return func(yield func(*Instr) bool) {
		r := reader{b: wasm, pos: b.Code, end: b.End}
		var in Instr
		for r.pos < r.end {
			r.instr(&in)
			if r.err != nil || !yield(&in) {
				return
			}
		}
	}
}
