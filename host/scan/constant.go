package scan

// constant reads a constant expression: one instruction that gives a value of
// the wanted type, and an end.
func (s *scanner) constant(want ValType, what string) {
	var in Instr
	start := s.pos
	s.instr(&in)
	if s.err != nil {
		return
	}
	var got ValType
	switch in.Op {
	case OpI32Const:
		got = I32
	case OpI64Const:
		got = I64
	case OpF32Const:
		got = F32
	case OpF64Const:
		got = F64
	case OpV128Const:
		got = V128
	case OpRefNull:
		got = ValType(s.b[in.Args])
	case OpRefFunc:
		got = FuncRef
		s.checkIndex(in.Args, "function", in.A, len(s.m.funcTypes))
	case OpGlobalGet:
		got = s.constantGlobal(&in)
	default:
		s.failAt(start, RuleConstant, "%s must be one constant, but an instruction %#02x is there", what, uint16(in.Op))
	}
	if s.err == nil && got != want {
		s.failAt(start, RuleConstant, "%s must be of type %s, but is %s", what, want, got)
	}
	start = s.pos
	switch end := s.byte("a constant expression"); {
	case end == byte(OpEnd):
	case plainForms[end] != formUnknown:
		s.unsupported(start, RuleExtendedConst)
	default:
		s.failAt(start, RuleInstruction, "%#02x is not an instruction of WebAssembly 2.0", end)
	}
}

// constantGlobal is the type of an imported, immutable global: no other may
// stand in a constant expression.
func (s *scanner) constantGlobal(in *Instr) ValType {
	s.checkIndex(in.Args, "global", in.A, len(s.m.Globals))
	if s.err != nil {
		return 0
	}
	g := s.m.Globals[in.A]
	if g.Mutable || int(in.A) >= s.m.ImportedGlobals {
		s.failAt(in.Args, RuleConstant, "a constant expression reads global %d, but may read only an imported one that is not mutable", in.A)
	}
	return g.Type
}

func (s *scanner) checkIndex(at int, of string, i uint32, have int) {
	if int64(i) >= int64(have) {
		s.failAt(at, RuleIndex, "there is no %s %d: the module has %d", of, i, have)
	}
}
