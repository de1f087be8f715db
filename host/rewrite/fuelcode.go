package rewrite

import "github.com/taskq-host/taskq-host/host/scan"

// Instructions that only this package's own code uses.
const (
	opLocalGet      scan.Op = 0x20
	opLocalSet      scan.Op = 0x21
	opLocalTee      scan.Op = 0x22
	opDrop          scan.Op = 0x1a
	opSelect        scan.Op = 0x1b
	opI32GtU        scan.Op = 0x4b
	opI32LeU        scan.Op = 0x4d
	opI64Ne         scan.Op = 0x52
	opI64LtS        scan.Op = 0x53
	opI64GtU        scan.Op = 0x56
	opI32Add        scan.Op = 0x6a
	opI32Sub        scan.Op = 0x6b
	opI32Or         scan.Op = 0x72
	opI64Add        scan.Op = 0x7c
	opI64Sub        scan.Op = 0x7d
	opI64And        scan.Op = 0x83
	opI64Shl        scan.Op = 0x86
	opI64ShrU       scan.Op = 0x88
	opI64ExtendI32U scan.Op = 0xad

	blockVoid = 0x40
)

// code is the content of the code section.
func (f *fueling) code() []byte {
	out := make(output, 0, len(f.wasm)+len(f.wasm)/4)
	c := costing{imported: f.imported}
	var body output
	for i, b := range f.m.Bodies {
		body = f.body(body[:0], &c, f.m.FuncTypeOf(f.imported+uint32(i)), b)
		out.u32(uint32(len(body)))
		out = append(out, body...)
	}
	for _, h := range f.added {
		out.u32(uint32(len(h.body)))
		out = append(out, h.body...)
	}
	var section output
	section.u32(uint32(len(f.m.Bodies) + len(f.added)))
	return append(section, out...)
}

// frameSize estimates how much of the stack a call takes. The engine gives
// every value that a call must not lose a place of its own, so what counts is
// how much code there is.
func frameSize(b scan.Body) int64 {
	const ordinary = 4 << 10 // bytes of code; far more of it was made to hurt
	code := int64(b.End - b.Code)
	units := 1 + (8*int64(b.Locals)+code/4+max(0, code-ordinary))/stackUnit
	return min(units, MaxStack/stackUnit/2)
}

func (f *fueling) body(out output, c *costing, t scan.FuncType, b scan.Body) output {
	c.body(f.wasm, b)
	w := bodyWriter{f: f, out: out, scratch: b.Locals, from: b.Code}
	groups := f.wasm[b.Offset:b.Code]
	w.out.u32(uint32(groupCount(groups) + 1))
	w.out = append(w.out, groups[lengthU32(groups):]...)
	w.out = append(w.out, 1, byte(scan.I64)) // the scratch
	var frame int64
	if c.calls {
		frame = frameSize(b)
	}
	w.charge(charge(int64(c.entry(b)), frame))
	switch {
	case c.calls && !c.merged:
		w.test(true)
	default: // the first loop's head tests, or it's short
		w.out.op(opDrop)
	}
	if c.calls {
		w.out = append(w.out, byte(scan.OpBlock))
		f.blockType(&w.out, t.Results)
	}
	marks := c.marks
	for in := range b.Instructions(f.wasm) {
		for ; len(marks) > 0 && marks[0].offset == in.Offset; marks = marks[1:] {
			w.copyTo(in.Offset, in.Offset)
			w.charge(charge(int64(marks[0].units), 0))
			w.test(marks[0].both && c.calls)
		}
		w.instruction(in, c.calls)
	}
	w.copyTo(b.End-1, b.End)
	if c.calls {
		w.out = append(w.out, byte(scan.OpEnd))
		w.out.op(scan.OpGlobalGet, f.gauge)
		w.out.i64(frame)
		w.out.op(opI64Add)
		w.out.op(scan.OpGlobalSet, f.gauge)
	}
	return append(w.out, byte(scan.OpEnd))
}

// groupCount is the number that the declarations of locals begin with.
func groupCount(b []byte) int {
	n := 0
	for i := range lengthU32(b) {
		n |= int(b[i]&0x7f) << (7 * i)
	}
	return n
}

// blockType writes the type of a block that takes nothing.
func (f *fueling) blockType(out *output, results []scan.ValType) {
	switch len(results) {
	case 0:
		*out = append(*out, blockVoid)
	case 1:
		*out = append(*out, byte(results[0]))
	default:
		out.s64(int64(f.typeOf(scan.FuncType{Results: results})))
	}
}

// bodyWriter writes one body with its charges.
type bodyWriter struct {
	f       *fueling
	out     output
	scratch uint32 // a local for the gauge
	from    int    // what was copied so far
	open    uint32 // control structures
}

// copyTo copies what comes before some place, and goes on behind another.
func (w *bodyWriter) copyTo(end, next int) {
	w.out = append(w.out, w.f.wasm[w.from:end]...)
	w.from = next
}

func (w *bodyWriter) instruction(in *scan.Instr, framed bool) {
	switch in.Op {
	case scan.OpBlock, scan.OpLoop, scan.OpIf:
		w.open++
	case scan.OpEnd:
		w.open--
	case scan.OpCall, scan.OpRefFunc:
		if in.A >= w.f.imported {
			w.copyTo(in.Offset, in.End)
			w.out.op(in.Op, w.f.fn(in.A))
		}
	case scan.OpReturn:
		if framed {
			w.copyTo(in.Offset, in.End)
			w.out.op(scan.OpBr, w.open)
		}
	default:
		if in.Op.IsBulk() {
			w.copyTo(in.Offset, in.End)
			w.out.op(scan.OpCall, w.f.helper(in))
		}
	}
}

// charge takes an amount from the gauge and leaves the rest on the stack.
func (w *bodyWriter) charge(amount int64) {
	w.out.op(scan.OpGlobalGet, w.f.gauge)
	w.out.i64(amount)
	w.out.op(opI64Sub)
	w.settle()
}

// settle stores the gauge on the stack and leaves it there.
func (w *bodyWriter) settle() {
	w.out.op(opLocalTee, w.scratch)
	w.out.op(scan.OpGlobalSet, w.f.gauge)
	w.out.op(opLocalGet, w.scratch)
}

// test takes the gauge from the stack and calls the tick if it's overdrawn:
// for fuel, or for fuel and calls both.
func (w *bodyWriter) test(both bool) {
	if both {
		w.out.i64(gaugeMask)
		w.out.op(opI64And)
		w.out.i64(0)
		w.out.op(opI64Ne)
	} else {
		w.out.i64(0)
		w.out.op(opI64LtS)
	}
	w.out = append(w.out, byte(scan.OpIf), blockVoid)
	w.out.op(opLocalGet, w.scratch)
	w.out.op(scan.OpCall, w.f.imported)
	w.out.op(scan.OpGlobalSet, w.f.gauge)
	w.out = append(w.out, byte(scan.OpEnd))
}
