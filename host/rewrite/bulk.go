package rewrite

import "github.com/taskq-host/taskq-host/host/scan"

// A bulk instruction is one native loop: nothing can interrupt it, neither the
// host nor the collector that waits for the guest to stop. So each one becomes
// a call of a helper of the same type, of which a module has one for every
// such instruction with the same immediates.
const (
	memoryPiece = 256 << 10 // bytes that one instruction moves at most
	tablePiece  = 4096      // entries

	bytesPerUnit = 3 // logarithm
	pageUnits    = 8 // logarithm of the units that a page to be added costs
	mostPages    = 1 << 16
)

type bulkKey struct {
	op   scan.Op
	a, b uint32
}

// helper is a function that is added behind all others.
type helper struct {
	name      string // begins with $, as do functions without one
	typeIndex uint32
	body      []byte
}

// helper gives the function that does what the instruction does.
func (f *fueling) helper(in *scan.Instr) uint32 {
	key := bulkKey{op: in.Op}
	switch in.Op {
	case scan.OpMemoryInit, scan.OpTableFill, scan.OpTableGrow:
		key.a = in.A
	case scan.OpTableInit, scan.OpTableCopy:
		key.a, key.b = in.A, in.B
	}
	if i, ok := f.bulk[key]; ok {
		return i
	}
	h := f.newHelper(key)
	i := f.fn(uint32(f.m.NumFuncs() + len(f.added)))
	f.added = append(f.added, h)
	f.bulk[key] = i
	return i
}

func (f *fueling) newHelper(key bulkKey) helper {
	i32, three := scan.I32, []scan.ValType{scan.I32, scan.I32, scan.I32}
	w := bulkWriter{bodyWriter: bodyWriter{f: f, scratch: 3}, key: key, piece: tablePiece, length: 2}
	switch key.op {
	case scan.OpMemoryGrow:
		w.scratch, w.length = 1, 0
		return w.grow("$memory.grow", scan.FuncType{Params: []scan.ValType{i32}, Results: []scan.ValType{i32}}, mostPages, pageUnits)
	case scan.OpTableGrow:
		w.scratch, w.length = 2, 1
		elem := f.m.Tables[key.a].Elem
		return w.grow("$table.grow", scan.FuncType{Params: []scan.ValType{elem, i32}, Results: []scan.ValType{i32}}, f.o.TableMax, 0)
	case scan.OpTableFill:
		return w.move("$table.fill", []scan.ValType{i32, f.m.Tables[key.a].Elem, i32})
	case scan.OpTableInit:
		w.reads = true
		return w.move("$table.init", three)
	case scan.OpTableCopy:
		w.reads, w.overlaps = true, key.a == key.b
		return w.move("$table.copy", three)
	}
	w.piece, w.perUnit = memoryPiece, bytesPerUnit
	switch key.op {
	case scan.OpMemoryInit:
		w.reads = true
		return w.move("$memory.init", three)
	case scan.OpMemoryCopy:
		w.reads, w.overlaps = true, true
		return w.move("$memory.copy", three)
	}
	return w.move("$memory.fill", three)
}

// bulkWriter writes a helper's body. What moves something has the parameters
// to, value or from, and length.
type bulkWriter struct {
	bodyWriter
	key      bulkKey
	reads    bool // its second operand is a place, not a value
	overlaps bool // it reads where it writes
	piece    int32
	perUnit  int64  // logarithm of what one unit moves
	length   uint32 // the parameter
}

const (
	paramTo     = 0
	paramSource = 1
)

func (w *bulkWriter) done(name string, t scan.FuncType) helper {
	w.out = append(w.out, byte(scan.OpEnd))
	return helper{name: name, typeIndex: w.f.typeOf(t), body: append([]byte{1, 1, byte(scan.I64)}, w.out...)}
}

// grow charges for what is to be added, unless it's more than there can be:
// that fails at once, and takes nothing.
func (w *bulkWriter) grow(name string, t scan.FuncType, most uint32, units int64) helper {
	w.out.op(scan.OpGlobalGet, w.f.gauge)
	w.get(w.length)
	w.out.i32(0)
	w.get(w.length)
	w.out.i32(int32(most))
	w.out.op(opI32LeU)
	w.out.op(opSelect)
	w.out.op(opI64ExtendI32U)
	w.out.i64(depthBits + units)
	w.out.op(opI64Shl)
	w.out.op(opI64Sub)
	w.settle()
	w.test(false)
	for i := range t.Params {
		w.get(uint32(i))
	}
	w.do()
	return w.done(name, t)
}

// move does short ones at once. A longer one is tried at its end first, with a
// length of nothing: that traps where the whole would, before anything is
// written. Then it's done in pieces, from the end if else one would overwrite
// what the next one reads.
func (w *bulkWriter) move(name string, params []scan.ValType) helper {
	w.get(w.length)
	w.out.i32(w.piece)
	w.out.op(opI32LeU)
	w.beginIf()
	w.whole()
	w.end()
	w.passes(paramTo)
	if w.reads {
		w.passes(paramSource)
		w.out.op(opI32Or)
	}
	w.beginIf() // it traps, or it ends where 32 bits do
	w.whole()
	w.end()

	w.atEnd()
	w.out.i32(0)
	w.do()
	if w.overlaps {
		w.get(paramTo)
		w.get(paramSource)
		w.out.op(opI32GtU)
		w.beginIf()
		w.backward()
		w.end()
	}
	w.forward()
	return w.done(name, scan.FuncType{Params: params})
}

func (w *bulkWriter) whole() {
	w.chargeLength()
	w.get(paramTo)
	w.get(paramSource)
	w.get(w.length)
	w.do()
	w.out.op(scan.OpReturn)
}

func (w *bulkWriter) forward() {
	w.beginLoop()
	w.get(paramTo)
	w.get(paramSource)
	w.out.i32(w.piece)
	w.do()
	w.add(paramTo, opI32Add)
	if w.reads {
		w.add(paramSource, opI32Add)
	}
	w.add(w.length, opI32Sub)
	w.endLoop()
	w.whole()
}

func (w *bulkWriter) backward() {
	w.beginLoop()
	w.add(w.length, opI32Sub)
	w.atEnd()
	w.out.i32(w.piece)
	w.do()
	w.endLoop()
	w.whole()
}

// beginLoop charges for the next piece.
func (w *bulkWriter) beginLoop() {
	w.out = append(w.out, byte(scan.OpLoop), blockVoid)
	w.charge(charge(int64(w.piece)>>w.perUnit, 0))
	w.test(false)
}

// endLoop goes on for as long as more than a piece is left.
func (w *bulkWriter) endLoop() {
	w.get(w.length)
	w.out.i32(w.piece)
	w.out.op(opI32GtU)
	w.out.op(scan.OpBrIf, 0)
	w.end()
}

// chargeLength charges for what is left.
func (w *bulkWriter) chargeLength() {
	w.out.op(scan.OpGlobalGet, w.f.gauge)
	w.get(w.length)
	w.out.op(opI64ExtendI32U)
	w.out.i64(w.perUnit)
	w.out.op(opI64ShrU)
	w.out.i64(depthBits)
	w.out.op(opI64Shl)
	w.out.op(opI64Sub)
	w.settle()
	w.test(false)
}

// passes leaves whether a place and the length together pass 32 bits.
func (w *bulkWriter) passes(param uint32) {
	w.get(param)
	w.out.op(opI64ExtendI32U)
	w.get(w.length)
	w.out.op(opI64ExtendI32U)
	w.out.op(opI64Add)
	w.out.i64(1<<32 - 1)
	w.out.op(opI64GtU)
}

// atEnd leaves the places, or place and value, behind what is left.
func (w *bulkWriter) atEnd() {
	w.get(paramTo)
	w.get(w.length)
	w.out.op(opI32Add)
	w.get(paramSource)
	if w.reads {
		w.get(w.length)
		w.out.op(opI32Add)
	}
}

// add moves a parameter by a piece.
func (w *bulkWriter) add(param uint32, op scan.Op) {
	w.get(param)
	w.out.i32(w.piece)
	w.out.op(op)
	w.out.op(opLocalSet, param)
}

func (w *bulkWriter) get(local uint32) { w.out.op(opLocalGet, local) }
func (w *bulkWriter) beginIf()         { w.out = append(w.out, byte(scan.OpIf), blockVoid) }
func (w *bulkWriter) end()             { w.out = append(w.out, byte(scan.OpEnd)) }

// do writes the instruction itself.
func (w *bulkWriter) do() {
	switch w.key.op {
	case scan.OpMemoryGrow, scan.OpMemoryFill:
		w.out.op(w.key.op, 0)
	case scan.OpMemoryCopy:
		w.out.op(w.key.op, 0, 0)
	case scan.OpMemoryInit:
		w.out.op(w.key.op, w.key.a, 0)
	case scan.OpTableGrow, scan.OpTableFill:
		w.out.op(w.key.op, w.key.a)
	default: // table.init, table.copy
		w.out.op(w.key.op, w.key.a, w.key.b)
	}
}
