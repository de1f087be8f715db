package scan

import "github.com/taskq-host/taskq-host/abi"

const (
	maxPages   = 1 << 16 // of 64 KiB: what 32 bits can address
	noLimit    = 1 << 32 // more than a 32-bit count can be
	funcTypeID = 0x60
)

func (s *scanner) typeSection() {
	n := s.count("function types", 3, s.limits.Types, RuleTypes)
	s.m.Types = make([]FuncType, 0, n)
	// Every type of a value takes a byte, so one allocation holds them all.
	arena := make([]ValType, 0, s.end-s.pos)
	for range n {
		start := s.pos
		switch form := s.byte("a function type"); form {
		case funcTypeID:
		case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
			s.unsupported(start, RuleGC)
		default:
			s.failAt(start, RuleType, "%#02x doesn't begin a function type", form)
		}
		params := s.valTypes("parameters", s.limits.Params, RuleParams, &arena)
		results := s.valTypes("results", s.limits.Results, RuleResults, &arena)
		if s.err != nil {
			return
		}
		s.m.Types = append(s.m.Types, FuncType{Params: params, Results: results})
	}
}

func (s *scanner) valTypes(what string, limit int, rule string, arena *[]ValType) []ValType {
	n := s.count(what, 1, limit, rule)
	from := len(*arena)
	for range n {
		*arena = append(*arena, s.valType())
		if s.err != nil {
			return nil
		}
	}
	return (*arena)[from:len(*arena):len(*arena)]
}

func (s *scanner) importSection() {
	n := s.count("imports", 4, s.limits.Imports, RuleImports)
	s.m.Imports = make([]Import, 0, n)
	for range n {
		start := s.pos
		im := Import{
			Module: string(s.name("an import's module", s.limits.NameBytes)),
			Name:   string(s.name("an import's name", s.limits.NameBytes)),
		}
		if reservedModule(im.Module) {
			s.failAt(start, RuleReserved, "the module %q is reserved for the host; guests import from %q", im.Module, abi.Module)
		}
		s.importDesc(&im)
		if s.err != nil {
			return
		}
		s.m.Imports = append(s.m.Imports, im)
	}
}

func (s *scanner) importDesc(im *Import) {
	start := s.pos
	m := s.m
	im.Kind = Kind(s.byte("an import's kind"))
	switch im.Kind {
	case FuncKind:
		im.TypeIndex = s.index("type", len(m.Types))
		im.Index = uint32(m.ImportedFuncs)
		m.ImportedFuncs++
		m.funcTypes = append(m.funcTypes, im.TypeIndex)
	case TableKind:
		im.Index = uint32(m.ImportedTables)
		m.ImportedTables++
		s.table()
	case MemoryKind:
		im.Index = uint32(m.ImportedMemories)
		m.ImportedMemories++
		s.memory()
	case GlobalKind:
		im.Index = uint32(m.ImportedGlobals)
		m.ImportedGlobals++
		g := s.globalType()
		m.Globals = append(m.Globals, g)
		if g.Mutable {
			m.Facts.ImportedMutableGlobals++
		}
	default:
		s.badKind(start, "an import", im.Kind)
	}
}

func (s *scanner) badKind(at int, what string, k Kind) {
	if k == 4 {
		s.unsupported(at, RuleExceptions)
	}
	s.failAt(at, RuleEncoding, "%s has the unknown kind %d", what, byte(k))
}

func (s *scanner) functionSection() {
	n := s.count("functions", 1, s.limits.Functions, RuleFunctions)
	types := make([]uint32, 0, s.m.ImportedFuncs+n)
	types = append(types, s.m.funcTypes...)
	for range n {
		types = append(types, s.index("type", len(s.m.Types)))
		if s.err != nil {
			return
		}
	}
	s.m.funcTypes = types
	s.m.Funcs = types[s.m.ImportedFuncs:]
}

func (s *scanner) tableSection() {
	for range s.count("tables", 3, s.limits.Tables, RuleTables) {
		s.table()
		if s.err != nil {
			return
		}
	}
}

func (s *scanner) table() {
	start := s.pos
	if start < s.end && s.b[start] == 0x40 {
		s.unsupported(start, RuleFunctionReferences)
	}
	t := TableType{Elem: s.refType()}
	t.Min, t.Max, t.HasMax = s.bounds("table", noLimit)
	if t.Min > s.limits.TableEntries {
		s.failAt(start, RuleTableEntries, "a table begins with %d entries, but the limit is %d", t.Min, s.limits.TableEntries)
	}
	s.m.Tables = append(s.m.Tables, t)
	if len(s.m.Tables) > s.limits.Tables {
		s.failAt(start, RuleTables, "it has more than %d tables", s.limits.Tables)
	}
}

func (s *scanner) memorySection() {
	n := s.count("memories", 2, noLimit, RuleMultiMemory)
	if n > 1 {
		s.unsupported(s.pos, RuleMultiMemory)
	}
	if n > 0 {
		s.memory()
	}
}

func (s *scanner) memory() {
	start := s.pos
	var m MemoryType
	m.Min, m.Max, m.HasMax = s.bounds("memory", maxPages)
	if m.Min > s.limits.MemoryPages {
		s.failAt(start, RuleMemory, "its memory begins with %d pages of 64 KiB, but the limit is %d; lower the initial memory at link time", m.Min, s.limits.MemoryPages)
	}
	s.m.Memories = append(s.m.Memories, m)
	if len(s.m.Memories) > 1 {
		s.unsupported(start, RuleMultiMemory)
	}
}

// bounds reads the minimum and maximum of a table or memory.
func (s *scanner) bounds(of string, most int64) (low, high uint32, hasMax bool) {
	start := s.pos
	flags := s.byte("a " + of + "'s limits")
	switch {
	case s.err != nil:
	case flags == 0x02 || flags == 0x03:
		s.unsupported(start, RuleThreads)
	case flags >= 0x04 && flags <= 0x07:
		s.unsupported(start, RuleMemory64)
	case flags >= 0x08 && flags <= 0x0f:
		s.unsupported(start, RulePageSizes)
	case flags > 0x0f:
		s.failAt(start, RuleEncoding, "a %s's limits begin with %#02x, not with 0 or 1", of, flags)
	}
	low = s.u32("a " + of + "'s minimum")
	if flags == 1 {
		hasMax = true
		high = s.u32("a " + of + "'s maximum")
	}
	switch {
	case s.err != nil:
	case int64(low) > most || int64(high) > most:
		s.failAt(start, RuleBounds, "a memory has at most 65536 pages of 64 KiB")
	case hasMax && low > high:
		s.failAt(start, RuleBounds, "a %s's minimum, %d, is larger than its maximum, %d", of, low, high)
	}
	return low, high, hasMax
}

func (s *scanner) globalType() GlobalType {
	t := s.valType()
	mutable := s.byte("a global's mutability")
	if mutable > 1 {
		s.failAt(s.pos-1, RuleEncoding, "a global's mutability is %#02x, not 0 or 1", mutable)
	}
	return GlobalType{Type: t, Mutable: mutable == 1}
}

func (s *scanner) globalSection() {
	n := s.count("globals", 4, s.limits.Globals, RuleGlobals)
	if n+s.m.ImportedGlobals > s.limits.Globals {
		s.fail(RuleGlobals, "it has %d globals, but the limit is %d", n+s.m.ImportedGlobals, s.limits.Globals)
		return
	}
	globals := make([]GlobalType, 0, s.m.ImportedGlobals+n)
	s.m.Globals = append(globals, s.m.Globals...)
	for range n {
		g := s.globalType()
		s.constant(g.Type, "a global's initial value")
		if s.err != nil {
			return
		}
		s.m.Globals = append(s.m.Globals, g)
		if g.Mutable {
			s.m.Facts.MutableGlobals++
			if g.Type == V128 || g.Type.IsRef() {
				s.m.Facts.MutableV128OrRefGlobals++
			}
		}
	}
}
