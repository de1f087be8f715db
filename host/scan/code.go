package scan

import "strconv"

// frame is one control structure that is open, or the function itself.
type frame struct {
	op      Op
	params  uint32 // that it takes from the stack
	results uint32 // that it leaves there
}

// arity is how many values a branch to the frame passes.
func (f *frame) arity() int {
	if f.op == OpLoop {
		return int(f.params)
	}
	return int(f.results)
}

func (s *scanner) codeSection() {
	start := s.pos
	n := s.count("function bodies", 3, s.limits.Functions, RuleFunctions)
	if n != len(s.m.Funcs) && s.err == nil {
		s.failAt(start, RuleInconsistent, "it has %d function bodies, but the function section declares %d", n, len(s.m.Funcs))
		return
	}
	s.m.Bodies = make([]Body, 0, n)
	for i := range n {
		start := s.pos
		size := int(s.u32("the size of a function body"))
		if size > s.limits.Body {
			s.failAt(start, RuleBody, "function %d has a body of %d bytes, but the limit is %d; split it, or build with less inlining", s.m.ImportedFuncs+i, size, s.limits.Body)
		}
		s.m.Facts.MaxBody = max(s.m.Facts.MaxBody, size)
		s.body(i, size)
		if s.err != nil {
			return
		}
	}
}

// body reads one function. The window is set by hand, because a name for it
// is made up only where a message needs one.
func (s *scanner) body(i, size int) {
	outer := s.end
	if size > s.end-s.pos {
		s.fail(RuleTruncated, "function %d claims %d bytes, but only %d are left", s.m.ImportedFuncs+i, size, s.end-s.pos)
		return
	}
	s.end = s.pos + size
	b := Body{Offset: s.pos, End: s.end}
	t := s.m.Types[s.m.Funcs[i]]
	b.Locals = s.localDeclarations(len(t.Params))
	b.Code = s.pos
	s.control = append(s.control[:0], frame{op: OpBlock, results: uint32(len(t.Results))})
	s.operands = 0
	s.code(&b)
	if s.err == nil && s.pos != s.end {
		s.fail(RuleControl, "%d bytes follow its last end instruction", s.end-s.pos)
	}
	s.m.Bodies = append(s.m.Bodies, b)
	s.end = outer
	if s.err != nil {
		s.err.Message = "function " + strconv.Itoa(s.m.ImportedFuncs+i) + s.err.Message[len(s.in):]
		s.pos = s.end
	}
}

// localDeclarations reads how many locals of which type there are and gives
// their number, parameters included.
func (s *scanner) localDeclarations(params int) uint32 {
	groups := s.count("groups of locals", 2, noLimit, RuleLocals)
	total := int64(params)
	for range groups {
		start := s.pos
		total += int64(s.u32("a number of locals"))
		s.valType()
		if total > int64(s.limits.Locals) {
			s.failAt(start, RuleLocals, "it has at least %d locals, but the limit is %d", total, s.limits.Locals)
		}
		if s.err != nil {
			return 0
		}
	}
	s.locals += int(total)
	if s.locals > s.limits.LocalsTotal {
		s.fail(RuleLocalsTotal, "the functions up to this one have %d locals together, but the limit is %d", s.locals, s.limits.LocalsTotal)
	}
	return uint32(total)
}

// code reads instructions until the function's own end.
func (s *scanner) code(b *Body) {
	var in Instr
	for len(s.control) > 0 && s.err == nil {
		s.instr(&in)
		if s.err != nil {
			return
		}
		s.m.Facts.Instructions++
		s.check(&in, b)
		if s.operands > s.limits.Operands {
			s.failAt(in.Offset, RuleOperands, "its calls, blocks and branches pass more than %d values; use fewer parameters and results", s.limits.Operands)
		}
	}
}

// check holds one instruction against the module.
func (s *scanner) check(in *Instr, b *Body) {
	m := s.m
	switch op := in.Op; op {
	case OpBlock, OpLoop, OpIf:
		s.open(in)
	case OpElse:
		top := &s.control[len(s.control)-1]
		if top.op != OpIf {
			s.failAt(in.Offset, RuleControl, "an else stands outside of an if")
		}
		top.op = OpElse
	case OpEnd:
		s.control = s.control[:len(s.control)-1]
	case OpBr, OpBrIf:
		s.label(in.Args, in.A)
	case OpBrTable:
		s.branchTable(in)
	case OpReturn:
		s.operands += s.control[0].arity()
	case OpCall:
		s.checkIndex(in.Args, "function", in.A, len(m.funcTypes))
		if s.err == nil {
			s.pass(m.funcTypes[in.A])
		}
	case OpCallIndirect:
		s.checkIndex(in.Args, "type", in.A, len(m.Types))
		s.checkIndex(in.Args, "table", in.B, len(m.Tables))
		if s.err == nil {
			s.pass(in.A)
			if e := m.Tables[in.B].Elem; e != FuncRef {
				s.failAt(in.Args, RuleType, "a call_indirect goes through table %d, which is of type %s", in.B, e)
			}
		}
	case 0x20, 0x21, 0x22:
		s.checkIndex(in.Args, "local", in.A, int(b.Locals))
	case OpGlobalGet, OpGlobalSet:
		s.checkIndex(in.Args, "global", in.A, len(m.Globals))
		if op == OpGlobalSet && s.err == nil && !m.Globals[in.A].Mutable {
			s.failAt(in.Args, RuleImmutable, "a global.set writes global %d, which is not mutable", in.A)
		}
	case OpRefFunc:
		s.checkIndex(in.Args, "function", in.A, len(m.funcTypes))
	default:
		s.checkStorage(in, b)
	}
}

// pass accounts for the values that a call or block of that type passes.
func (s *scanner) pass(typeIndex uint32) {
	t := &s.m.Types[typeIndex]
	s.operands += len(t.Params) + len(t.Results)
}

func (s *scanner) open(in *Instr) {
	f := frame{op: in.Op}
	switch {
	case in.Block >= 0:
		if in.Block >= int64(len(s.m.Types)) {
			s.failAt(in.Args, RuleIndex, "there is no type %d: the module has %d", in.Block, len(s.m.Types))
			return
		}
		t := &s.m.Types[in.Block]
		f.params, f.results = uint32(len(t.Params)), uint32(len(t.Results))
		s.pass(uint32(in.Block))
	case in.Block != BlockVoid:
		f.results = 1
	}
	if in.Op == OpLoop {
		s.m.Facts.Loops++
	}
	s.control = append(s.control, f)
	depth := len(s.control) - 1
	s.m.Facts.MaxDepth = max(s.m.Facts.MaxDepth, depth)
	if depth > s.limits.Depth {
		s.failAt(in.Offset, RuleDepth, "its blocks are nested more than %d deep", s.limits.Depth)
	}
}

func (s *scanner) label(at int, label uint32) {
	if int64(label) >= int64(len(s.control)) {
		s.failAt(at, RuleIndex, "a branch leaves %d control structures, but only %d are open", int64(label)+1, len(s.control))
		return
	}
	s.operands += s.control[len(s.control)-1-int(label)].arity()
}

func (s *scanner) branchTable(in *Instr) {
	r := reader{b: s.b, pos: in.Args, end: in.End}
	for range r.u32("") {
		at := r.pos
		s.label(at, r.u32(""))
		if s.err != nil {
			return
		}
	}
	s.label(r.pos, in.B)
}

// checkStorage holds an instruction on memory, tables or segments against the
// module and notes what restoring an instance would have to know of.
func (s *scanner) checkStorage(in *Instr, b *Body) {
	f := &s.m.Facts
	op := in.Op
	if op.IsBulk() {
		b.Bulk++
	}
	switch op {
	case OpMemoryGrow:
		f.MemoryGrow++
	case OpTableSet:
		f.TableSet++
	case OpTableGrow:
		f.TableGrow++
	case OpTableFill:
		f.TableFill++
	case OpTableInit:
		f.TableInit++
	case OpTableCopy:
		f.TableCopy++
	case OpElemDrop:
		f.ElemDrop++
	case OpDataDrop:
		f.DataDrop++
	case OpMemoryInit:
		f.MemoryInit++
	}
	s.checkSpace(in)
}

func (s *scanner) checkSpace(in *Instr) {
	as := plainForms[in.Op&0xff]
	switch in.Op >> 8 {
	case 0xfc:
		as = bulkForms[in.Op&0xff]
	case 0xfd:
		as = vectorForms[in.Op&0xff]
	}
	tables := len(s.m.Tables)
	switch as {
	case formTable:
		s.checkIndex(in.Args, "table", in.A, tables)
	case formTableCopy:
		s.checkIndex(in.Args, "table", in.A, tables)
		s.checkIndex(in.Args, "table", in.B, tables)
	case formTableInit:
		s.checkIndex(in.Args, "element segment", in.A, len(s.elemTypes))
		s.checkIndex(in.Args, "table", in.B, tables)
	case formElem:
		s.checkIndex(in.Args, "element segment", in.A, len(s.elemTypes))
	case formData, formMemoryInit:
		if !s.hasDataCount {
			s.failAt(in.Offset, RuleInconsistent, "it uses data segments, which takes a data count section before the code")
		}
		s.checkIndex(in.Args, "data segment", in.A, s.dataCount)
	}
	if as.usesMemory() {
		s.checkIndex(in.Offset, "memory", 0, len(s.m.Memories))
	}
}

func (f form) usesMemory() bool {
	return f >= formAccess && f < formAccess+5 || f >= formAccessLane && f < formProposal ||
		f == formMemory || f == formMemoryInit || f == formMemoryCopy
}
