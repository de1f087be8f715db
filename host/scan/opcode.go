package scan

// Op is an instruction's opcode. One behind a prefix byte is that byte
// followed by its own number: memory.copy is 0xfc0a, v128.const 0xfd0c.
type Op uint16

// Opcodes that this package or a rewriter looks at; all others are passed by
// their encoding alone.
const (
	OpUnreachable  Op = 0x00
	OpBlock        Op = 0x02
	OpLoop         Op = 0x03
	OpIf           Op = 0x04
	OpElse         Op = 0x05
	OpEnd          Op = 0x0b
	OpBr           Op = 0x0c
	OpBrIf         Op = 0x0d
	OpBrTable      Op = 0x0e
	OpReturn       Op = 0x0f
	OpCall         Op = 0x10
	OpCallIndirect Op = 0x11
	OpGlobalGet    Op = 0x23
	OpGlobalSet    Op = 0x24
	OpTableSet     Op = 0x26
	OpMemoryGrow   Op = 0x40
	OpI32Const     Op = 0x41
	OpI64Const     Op = 0x42
	OpF32Const     Op = 0x43
	OpF64Const     Op = 0x44
	OpRefNull      Op = 0xd0
	OpRefFunc      Op = 0xd2
	OpMemoryInit   Op = 0xfc08
	OpDataDrop     Op = 0xfc09
	OpMemoryCopy   Op = 0xfc0a
	OpMemoryFill   Op = 0xfc0b
	OpTableInit    Op = 0xfc0c
	OpElemDrop     Op = 0xfc0d
	OpTableCopy    Op = 0xfc0e
	OpTableGrow    Op = 0xfc0f
	OpTableFill    Op = 0xfc11
	OpV128Const    Op = 0xfd0c
)

// IsBulk reports whether the time that the instruction takes depends on an
// operand: the bulk ones of memories and tables, and those that grow either.
func (op Op) IsBulk() bool {
	switch op {
	case OpMemoryInit, OpMemoryCopy, OpMemoryFill, OpTableInit, OpTableCopy, OpTableFill, OpTableGrow, OpMemoryGrow:
		return true
	}
	return false
}

// form is how an instruction's immediates are encoded.
type form byte

const (
	formUnknown form = iota
	formNone
	formBlock        // block type
	formLabel        // label
	formLabels       // vector of labels, label
	formFunc         // function
	formCallIndirect // type, table
	formLocal        // local
	formGlobal       // global
	formGlobalSet    // global, which must be mutable
	formTable        // table
	formMemory       // the byte of the only memory
	formI32          // signed 32 bits
	formI64          // signed 64 bits
	formF32          // 4 bytes
	formF64          // 8 bytes
	formRefType      // reference type
	formSelect       // vector of one value type
	formMemoryInit   // data segment, memory byte
	formData         // data segment
	formMemoryCopy   // two memory bytes
	formTableInit    // element segment, table
	formElem         // element segment
	formTableCopy    // table, table
	formPrefixFC
	formPrefixFD
	formV128    // 16 bytes
	formShuffle // 16 lanes, each below 32

	// The alignment may be at most the instruction's own size: 1, 2, 4, 8 or
	// 16 bytes, formAccess plus its logarithm.
	formAccess

	// A lane, below 2, 4, 8 or 16: formLane plus the logarithm.
	formLane = formAccess + 5

	// Access of 1, 2, 4, 8 bytes and a lane, below 16, 8, 4, 2.
	formAccessLane = formLane + 5

	// A proposal that isn't supported: formProposal plus its place in proposals.
	formProposal = formAccessLane + 4
)

var proposals = [...]string{RuleTailCalls, RuleExceptions, RuleThreads, RuleGC, RuleFunctionReferences, RuleWideArithmetic}

const (
	formTailCall = formProposal + form(iota)
	formException
	formThread
	formGC
	formFunctionReference
	formWideArithmetic
)

type forms [256]form

func (f *forms) set(as form, from, to int) {
	for op := from; op <= to; op++ {
		f[op] = as
	}
}

var plainForms, bulkForms, vectorForms = makePlainForms(), makeBulkForms(), makeVectorForms()

func makePlainForms() (f forms) {
	for _, x := range []struct {
		as       form
		from, to int
	}{
		{formNone, 0x00, 0x01}, // unreachable, nop
		{formBlock, 0x02, 0x04},
		{formNone, 0x05, 0x05}, // else
		{formException, 0x06, 0x0a},
		{formNone, 0x0b, 0x0b}, // end
		{formLabel, 0x0c, 0x0d},
		{formLabels, 0x0e, 0x0e},
		{formNone, 0x0f, 0x0f}, // return
		{formFunc, 0x10, 0x10},
		{formCallIndirect, 0x11, 0x11},
		{formTailCall, 0x12, 0x13},
		{formFunctionReference, 0x14, 0x15},
		{formException, 0x18, 0x19},
		{formNone, 0x1a, 0x1b}, // drop, select
		{formSelect, 0x1c, 0x1c},
		{formException, 0x1f, 0x1f},
		{formLocal, 0x20, 0x22},
		{formGlobal, 0x23, 0x23},
		{formGlobalSet, 0x24, 0x24},
		{formTable, 0x25, 0x26},
		{formMemory, 0x3f, 0x40},
		{formI32, 0x41, 0x41},
		{formI64, 0x42, 0x42},
		{formF32, 0x43, 0x43},
		{formF64, 0x44, 0x44},
		{formNone, 0x45, 0xc4}, // numeric, sign extension
		{formRefType, 0xd0, 0xd0},
		{formNone, 0xd1, 0xd1}, // ref.is_null
		{formFunc, 0xd2, 0xd2},
		{formGC, 0xd3, 0xd3},
		{formFunctionReference, 0xd4, 0xd6},
		{formGC, 0xfb, 0xfb},
		{formPrefixFC, 0xfc, 0xfc},
		{formPrefixFD, 0xfd, 0xfd},
		{formThread, 0xfe, 0xfe},
	} {
		f.set(x.as, x.from, x.to)
	}
	// The logarithm of each load's and store's size, from i32.load on.
	for i, log2 := range []form{2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2} {
		f[0x28+i] = formAccess + log2
	}
	return f
}

func makeBulkForms() (f forms) {
	f.set(formNone, 0, 7) // saturating conversions
	for i, as := range []form{
		formMemoryInit, formData, formMemoryCopy, formMemory, formTableInit, formElem, formTableCopy,
		formTable, formTable, formTable, // table.grow, size, fill
	} {
		f[8+i] = as
	}
	f.set(formWideArithmetic, 19, 22)
	return f
}

func makeVectorForms() (f forms) {
	f.set(formNone, 0x0e, 0xff)
	f.set(formAccess+4, 0x00, 0x00) // v128.load
	f.set(formAccess+3, 0x01, 0x06) // load and extend
	for log2 := range 4 {           // load and splat
		f[0x07+log2] = formAccess + form(log2)
	}
	f[0x0b] = formAccess + 4 // v128.store
	f[0x0c] = formV128
	f[0x0d] = formShuffle
	f.set(formLane+4, 0x15, 0x17) // i8x16 extract and replace
	f.set(formLane+3, 0x18, 0x1a)
	f.set(formLane+2, 0x1b, 0x1c)
	f.set(formLane+1, 0x1d, 0x1e)
	f.set(formLane+2, 0x1f, 0x20)
	f.set(formLane+1, 0x21, 0x22)
	for log2 := range 4 { // load and store of a lane
		f[0x54+log2] = formAccessLane + form(log2)
		f[0x58+log2] = formAccessLane + form(log2)
	}
	f[0x5c], f[0x5d] = formAccess+2, formAccess+3 // load and zero
	for _, gap := range []int{
		0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6,
		0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee,
	} {
		f[gap] = formUnknown
	}
	return f
}
