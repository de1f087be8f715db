package rewrite_test

import (
	"math/rand/v2"
)

// generator makes valid modules whose code does a bit of everything that the
// rewriter has an opinion on: nested structures and branches out of them,
// early returns, calls, and bulk instructions whose ranges overlap and cross
// the size of a piece.
type generator struct {
	rng    *rand.Rand
	out    []byte
	labels []bool // of the open structures: whether a branch there takes a value
	budget int    // how much more code is worth it
	self   int    // the function
}

const (
	generatedFuncs  = 4
	generatedLocals = 4 // two parameters among them
)

// generate gives a module that exports each of its functions, of type
// (i32, i32) -> i32, and its memory.
func generate(seed uint64) []byte {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1))}
	var code []byte
	for g.self = range generatedFuncs {
		g.out = g.out[:0]
		g.labels = append(g.labels[:0], true)
		g.budget = 10 + g.rng.IntN(120)
		g.out = append(g.out, 1, generatedLocals-2, 0x7f)
		g.statements(4)
		g.expr(4)
		g.op(0x0b)
		code = append(append(code, u32(len(g.out))...), g.out...)
	}
	code = append([]byte{generatedFuncs}, code...)
	exports := "\x05\x06memory\x02\x00"
	for i := range generatedFuncs {
		exports += "\x01" + string(rune('a'+i)) + "\x00" + string(rune(i+1))
	}
	section := func(id byte, content string) string { return string([]byte{id}) + u32(len(content)) + content }
	return []byte(header +
		section(1, "\x02\x60\x02\x7f\x7f\x01\x7f\x60\x01\x7f\x00") +
		section(2, "\x01\x03env\x03see\x00\x01") + // so that indices begin behind an import
		section(3, "\x04\x00\x00\x00\x00") +
		section(4, "\x02\x70\x01\x08\x0a\x6f\x01\x80\x60\x80\x80\x01") + // 8 to 10 functions, 12288 to 16384 references
		section(5, "\x01\x01\x0c\x10") + // 12 to 16 pages
		section(6, "\x02\x7f\x01\x41\x00\x0b\x7e\x01\x42\x00\x0b") +
		section(7, exports) +
		section(9, "\x03\x00\x41\x00\x0b\x06\x01\x02\x03\x04\x01\x02"+"\x01\x00\x03\x02\x01\x04"+"\x05\x70\x03\xd2\x01\x0b\xd0\x70\x0b\xd2\x03\x0b") +
		section(12, "\x02") +
		section(10, string(code)) +
		section(11, "\x02\x00\x41\x10\x0b\x05hello\x01\x06passiv"))
}

func (g *generator) op(bytes ...byte)  { g.out = append(g.out, bytes...) }
func (g *generator) chance(n int) bool { return g.rng.IntN(n) == 0 }

func (g *generator) constant(n int) {
	g.op(0x41)
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 {
			g.op(b)
			return
		}
		g.op(b | 0x80)
	}
}

// masked leaves a number below a power of two, often a large one.
func (g *generator) masked(bits int) {
	if g.chance(2) {
		g.constant(g.rng.IntN(1 << bits))
		return
	}
	g.expr(1)
	g.constant(1<<bits - 1)
	g.op(0x71)
}

// expr leaves an i32.
func (g *generator) expr(depth int) {
	g.budget--
	if depth == 0 || g.budget < 0 {
		if g.chance(2) {
			g.constant(g.rng.IntN(1 << g.rng.IntN(30)))
		} else {
			g.op(0x20, byte(g.rng.IntN(generatedLocals)))
		}
		return
	}
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		g.expr(depth - 1)
		g.expr(depth - 1)
		g.op([]byte{0x6a, 0x6b, 0x6c, 0x71, 0x73, 0x48, 0x6e, 0x70, 0x77}[g.rng.IntN(9)])
	case 3:
		g.masked(20)
		g.op(0x28, 0, byte(g.rng.IntN(64)))
	case 4, 5:
		g.expr(depth - 1)
		g.expr(depth - 1)
		g.op(0x10, g.callee())
	case 6:
		g.expr(depth - 1)
		g.expr(depth - 1)
		g.masked(6) // mostly past the table's end
		g.op(0x11, 0, 0)
	case 7:
		g.expr(depth - 1)
		g.op(0x04, 0x7f)
		g.within(true, func() { g.statements(depth - 1); g.expr(depth - 1); g.op(0x05); g.expr(depth - 1) })
	case 8:
		g.op(0x02, 0x7f)
		g.within(true, func() { g.statements(depth - 1); g.expr(depth - 1) })
	case 9:
		g.op(0x23, 0)
	case 10:
		g.masked(2)
		g.op(0x40, 0)
	case 11:
		g.op(0xd0, 0x6f)
		g.masked(12)
		g.op(0xfc, 15, 1) // table.grow
	}
}

// callee is mostly a function that comes later, so that most calls end.
func (g *generator) callee() byte {
	if g.self+1 == generatedFuncs || g.chance(12) {
		return byte(1 + g.rng.IntN(generatedFuncs))
	}
	return byte(2 + g.self + g.rng.IntN(generatedFuncs-g.self-1))
}

func (g *generator) within(value bool, body func()) {
	g.labels = append(g.labels, value)
	body()
	g.labels = g.labels[:len(g.labels)-1]
	g.op(0x0b)
}

func (g *generator) statements(depth int) {
	for range g.rng.IntN(4) {
		g.statement(depth)
	}
}

func (g *generator) statement(depth int) {
	g.budget--
	if depth == 0 || g.budget < 0 {
		g.op(0x01)
		return
	}
	switch g.rng.IntN(14) {
	case 0, 1:
		g.expr(depth - 1)
		g.op(0x21, byte(g.rng.IntN(generatedLocals)))
	case 2:
		g.expr(depth - 1)
		g.op(0x24, 0)
	case 3:
		g.masked(20)
		g.expr(depth - 1)
		g.op(0x36, 0, 3)
	case 4, 5:
		g.bulk()
	case 6:
		g.op(0x02, 0x40)
		g.within(false, func() { g.statements(depth - 1) })
	case 7, 8:
		g.loop(depth)
	case 9:
		g.expr(depth - 1)
		g.op(0x04, 0x40)
		g.within(false, func() { g.statements(depth - 1); g.op(0x05); g.statements(depth - 1) })
	case 10:
		g.branch(depth)
	case 11:
		g.branchTable(depth)
	case 12:
		g.expr(depth - 1)
		g.op(0x10, 0) // the import
	case 13:
		g.expr(depth - 1)
		g.op(0x04, 0x40)
		g.within(false, func() { g.expr(depth - 1); g.op(0x0f) })
	}
}

// loop turns a few times, or for long.
func (g *generator) loop(depth int) {
	local := byte(g.rng.IntN(generatedLocals))
	g.op(0x03, 0x40)
	g.within(false, func() {
		g.statements(depth - 1)
		g.op(0x20, local, 0x41, 1, 0x6b, 0x22, local, 0x41, byte(g.rng.IntN(60)), 0x71, 0x0d, 0)
	})
}

// branch leaves some open structures, or goes back to the head of one, on a
// condition.
func (g *generator) branch(depth int) {
	to := g.rng.IntN(len(g.labels))
	value := g.labels[len(g.labels)-1-to]
	if value {
		g.expr(depth - 1)
	}
	g.expr(depth - 1)
	g.op(0x0d, byte(to))
	if value {
		g.op(0x1a)
	}
}

// branchTable is the end of a block of its own.
func (g *generator) branchTable(depth int) {
	g.op(0x02, 0x40)
	g.within(false, func() {
		var to []byte
		for i := range g.labels {
			if !g.labels[len(g.labels)-1-i] {
				to = append(to, byte(i))
			}
		}
		g.expr(depth - 1)
		g.op(0x0e, 3)
		for range 4 {
			g.op(to[g.rng.IntN(len(to))])
		}
	})
}

func (g *generator) bulk() {
	switch g.rng.IntN(8) {
	case 0, 1:
		g.masked(20)
		g.masked(8)
		g.masked(20)
		g.op(0xfc, 11, 0)
	case 2, 3:
		g.masked(20)
		g.masked(20)
		g.masked(20)
		g.op(0xfc, 10, 0, 0)
	case 4:
		g.masked(20)
		g.masked(2)
		g.masked(3)
		g.op(0xfc, 8, 1, 0)
	case 5:
		g.masked(3)
		g.masked(1)
		g.masked(2)
		g.op(0xfc, 12, byte(1+g.rng.IntN(2)), 0) // table.init
	case 6:
		g.masked(14)
		g.masked(14)
		g.masked(14)
		g.op(0xfc, 14, 1, 1)
	case 7:
		g.masked(14)
		g.op(0xd0, 0x6f)
		g.masked(14)
		g.op(0xfc, 17, 1)
	}
}
