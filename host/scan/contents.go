package scan

import (
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// contractExports are the names with the reserved prefix that a guest may use.
var contractExports = map[string]bool{
	abi.ExportRun:      true,
	abi.ExportClassify: true,
	abi.ExportHook:     true,
	abi.ExportCron:     true,
	abi.ExportDescribe: true,
	abi.ExportWarm:     true,
	abi.ExportResume:   true,
}

func reservedModule(name string) bool {
	return strings.HasPrefix(name, abi.ReservedPrefix) && name != abi.Module
}

func (s *scanner) exportSection() {
	n := s.count("exports", 3, s.limits.Exports, RuleExports)
	s.m.Exports = make([]Export, 0, n)
	seen := make(map[string]bool, n)
	for range n {
		start := s.pos
		e := Export{Name: string(s.name("an export's name", s.limits.NameBytes))}
		if seen[e.Name] {
			s.failAt(start, RuleDuplicateExport, "it has two exports with the name %q", e.Name)
		}
		seen[e.Name] = true
		if strings.HasPrefix(e.Name, abi.ReservedPrefix) && !contractExports[e.Name] {
			s.failAt(start, RuleReserved, "the export %q is not part of the contract, and names that begin with %q are reserved", e.Name, abi.ReservedPrefix)
		}
		start = s.pos
		e.Kind = Kind(s.byte("an export's kind"))
		switch e.Kind {
		case FuncKind:
			e.Index = s.index("function", len(s.m.funcTypes))
		case TableKind:
			e.Index = s.index("table", len(s.m.Tables))
		case MemoryKind:
			e.Index = s.index("memory", len(s.m.Memories))
		case GlobalKind:
			e.Index = s.index("global", len(s.m.Globals))
		default:
			s.badKind(start, "an export", e.Kind)
		}
		if s.err != nil {
			return
		}
		s.m.Exports = append(s.m.Exports, e)
	}
}

func (s *scanner) startSection() {
	start := s.pos
	s.m.Start = s.index("function", len(s.m.funcTypes))
	if s.err != nil {
		return
	}
	s.m.HasStart = true
	if t := s.m.FuncTypeOf(s.m.Start); len(t.Params)+len(t.Results) > 0 {
		s.failAt(start, RuleStart, "the start function must take and return nothing, but is %s", clip(t.String()))
	}
}

// clip keeps a message short whatever the module holds.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return text[:most] + " …"
}

// Bits of an element segment's first number.
const (
	elemPassiveOrDeclared = 1 // else active
	elemExplicit          = 2 // active: a table index follows; else: declared
	elemExpressions       = 4 // constant expressions, else function indices
)

func (s *scanner) elementSection() {
	n := s.count("element segments", 2, s.limits.ElementSegments, RuleElementSegments)
	s.elemTypes = make([]ValType, 0, n)
	for range n {
		s.elementSegment()
		if s.err != nil {
			return
		}
	}
	s.m.ElementSegments = n
}

func (s *scanner) elementSegment() {
	start := s.pos
	flags := s.u32("an element segment's kind")
	if flags > 7 {
		s.failAt(start, RuleEncoding, "an element segment has the unknown kind %d", flags)
	}
	active := flags&elemPassiveOrDeclared == 0
	table, t := uint32(0), FuncRef
	if active {
		at := s.pos
		if flags&elemExplicit != 0 {
			table = s.u32("a table index")
		}
		s.checkIndex(at, "table", table, len(s.m.Tables))
		s.constant(I32, "an element segment's offset")
	}
	if flags&(elemPassiveOrDeclared|elemExplicit) != 0 {
		t = s.elementType(flags)
	}
	switch {
	case s.err != nil:
		return
	case active && s.m.Tables[table].Elem != t:
		s.failAt(start, RuleType, "an element segment of type %s goes into a table of type %s", t, s.m.Tables[table].Elem)
	case flags&(elemPassiveOrDeclared|elemExplicit) == elemPassiveOrDeclared:
		s.m.Facts.PassiveElem++
	}
	s.elements(flags, t)
	s.elemTypes = append(s.elemTypes, t)
}

func (s *scanner) elementType(flags uint32) ValType {
	if flags&elemExpressions != 0 {
		return s.refType()
	}
	if kind := s.byte("an element kind"); kind != 0 {
		s.failAt(s.pos-1, RuleEncoding, "an element segment has the unknown element kind %d", kind)
	}
	return FuncRef
}

func (s *scanner) elements(flags uint32, t ValType) {
	size := 1
	if flags&elemExpressions != 0 {
		size = 3
	}
	n := s.count("elements in a segment", size, s.limits.Elements-s.m.Elements, RuleElements)
	s.m.Elements += n
	for range n {
		if flags&elemExpressions != 0 {
			s.constant(t, "an element")
		} else {
			s.index("function", len(s.m.funcTypes))
		}
		if s.err != nil {
			return
		}
	}
}

func (s *scanner) dataCountSection() {
	start := s.pos
	n := s.u32("the number of data segments")
	if int64(n) > int64(s.limits.DataSegments) {
		s.failAt(start, RuleDataSegments, "it claims %d data segments, but the limit is %d", n, s.limits.DataSegments)
		return
	}
	s.hasDataCount, s.dataCount = true, int(n)
}

// Kinds of data segments.
const (
	dataActive = iota
	dataPassive
	dataExplicit // active, with a memory index
)

func (s *scanner) dataSection() {
	n := s.count("data segments", 2, s.limits.DataSegments, RuleDataSegments)
	for range n {
		start := s.pos
		switch kind := s.u32("a data segment's kind"); kind {
		case dataPassive:
			s.m.Facts.PassiveData++
		case dataExplicit, dataActive:
			if kind == dataExplicit {
				if memory := s.u32("a memory index"); memory != 0 {
					s.unsupported(start, RuleMultiMemory)
				}
			}
			s.checkIndex(start, "memory", 0, len(s.m.Memories))
			s.constant(I32, "a data segment's offset")
		default:
			s.failAt(start, RuleEncoding, "a data segment has the unknown kind %d", kind)
		}
		s.skip(int(s.u32("the length of a data segment")), "a data segment")
		if s.err != nil {
			return
		}
	}
	s.m.DataSegments = n
}
