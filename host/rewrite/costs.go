package rewrite

import "github.com/taskq-host/taskq-host/host/scan"

const (
	// maxRun is the most fuel that any path through a body can use before it
	// is charged for it. Smaller values charge more exactly and cost more time.
	maxRun = 128
	// localsPerUnit is how many locals a function may zero for one unit.
	localsPerUnit = 8
)

// cost is what an instruction takes, in units of about a simple machine
// instruction. What compiles to nothing is free: no program gets longer by it.
func cost(op scan.Op) int {
	switch {
	case op <= 0x05 && op != scan.OpUnreachable && op != scan.OpIf, // nop, block, loop, else
		op == scan.OpEnd, op == 0x1a, op == 0x20, // drop, local.get
		op >= scan.OpI32Const && op <= scan.OpF64Const:
		return 0
	case op == scan.OpCall || op.IsBulk():
		return 4
	case op == scan.OpCallIndirect || op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82: // integer division
		return 8
	case op == 0x91 || op == 0x95 || op == 0x9f || op == 0xa3, // square roots, divisions
		op >= 0xfde0 && op <= 0xfdf3:
		return 4
	case op >= 0x28 && op <= 0x3e || op == 0x25 || op == 0x26, // memory and table accesses
		op >= 0xfd00 && op <= 0xfd0b || op >= 0xfd54 && op <= 0xfd5d:
		return 2
	}
	return 1
}

// mark is a place in a body where fuel is charged: in front of the instruction
// at offset.
type mark struct {
	offset int
	units  int
	both   bool // a loop's head that also looks at the room for calls, for the entry
}

// dead is the fuel of a path that control never takes.
const dead = -1

// block is one control structure that is open.
type block struct {
	head    int  // index of its mark, for a loop; else noMark
	arrived int  // most fuel that a branch to its end brings along
	other   int  // an if's: what its other arm begins with
	isIf    bool // without an else so far
}

const noMark = -1

// costing finds where a body is charged how much. It follows the control
// structures once, and knows at each instruction the most fuel that any path
// there has used since it was last charged: so a path can't get by without
// paying, whichever it takes, and what it pays doesn't depend on data other
// than by the path.
type costing struct {
	marks  []mark
	blocks []block
	since  int
	left   int // most fuel that a path takes along when it leaves the function

	imported uint32 // functions of the host's, which call nothing
	calls    bool   // it calls something that may call again
	straight bool   // so far control can't have gone anywhere else
	merged   bool   // the first loop's head looks at the entry's charge
}

func (c *costing) body(wasm []byte, b scan.Body) {
	*c = costing{
		marks: c.marks[:0], blocks: append(c.blocks[:0], block{head: noMark, arrived: dead}),
		imported: c.imported, straight: true,
	}
	for in := range b.Instructions(wasm) {
		c.instruction(wasm, in)
	}
}

// entry is what is charged when the function begins.
func (c *costing) entry(b scan.Body) int { return 1 + int(b.Locals)/localsPerUnit + max(0, c.left) }

func (c *costing) instruction(wasm []byte, in *scan.Instr) {
	switch in.Op {
	case scan.OpLoop:
		c.loop(in)
		return
	case scan.OpEnd:
		c.end()
		return
	case scan.OpElse:
		top := &c.blocks[len(c.blocks)-1]
		top.arrived = max(top.arrived, c.since)
		c.since, top.isIf = top.other, false
		return
	}
	c.spend(in)
	switch in.Op {
	case scan.OpBlock:
		c.blocks = append(c.blocks, block{head: noMark, arrived: dead})
	case scan.OpIf:
		c.straight = false
		c.blocks = append(c.blocks, block{head: noMark, arrived: dead, other: c.since, isIf: true})
	case scan.OpBr:
		c.branch(in.A)
		c.since = dead
	case scan.OpBrIf:
		c.branch(in.A)
	case scan.OpBrTable:
		for label := range in.Labels(wasm) {
			c.branch(label)
		}
		c.since = dead
	case scan.OpReturn:
		c.branch(uint32(len(c.blocks) - 1))
		c.since = dead
	case scan.OpUnreachable:
		c.straight, c.since = false, dead
	case scan.OpCall, scan.OpCallIndirect:
		c.straight = false
		c.calls = c.calls || in.Op == scan.OpCallIndirect || in.A >= c.imported
	}
	if in.Op.IsBulk() {
		c.straight = false
	}
}

// spend adds an instruction's cost, and charges for what came before it when
// that would be too much.
func (c *costing) spend(in *scan.Instr) {
	n := cost(in.Op)
	if c.since == dead || n == 0 {
		return
	}
	if c.since+n > maxRun {
		c.straight = false
		c.marks = append(c.marks, mark{offset: in.Offset, units: c.since})
		c.since = 0
	}
	c.since += n
}

func (c *costing) loop(in *scan.Instr) {
	if c.straight {
		c.straight, c.merged = false, true
	}
	both := c.merged && len(c.marks) == 0
	c.marks = append(c.marks, mark{offset: in.End, units: max(1, c.since), both: both})
	c.blocks = append(c.blocks, block{head: len(c.marks) - 1, arrived: dead})
	c.since = 0
}

// branch takes the fuel of this path to where it goes: to a loop's head, which
// charges for it, or to the end of another structure.
func (c *costing) branch(label uint32) {
	c.straight = false
	if c.since == dead {
		return
	}
	to := &c.blocks[len(c.blocks)-1-int(label)]
	if to.head != noMark {
		m := &c.marks[to.head]
		m.units = max(m.units, c.since)
		return
	}
	to.arrived = max(to.arrived, c.since)
}

func (c *costing) end() {
	top := c.blocks[len(c.blocks)-1]
	c.blocks = c.blocks[:len(c.blocks)-1]
	c.since = max(c.since, top.arrived)
	if top.isIf {
		c.since = max(c.since, top.other)
	}
	if len(c.blocks) == 0 {
		c.left = c.since
	}
}
