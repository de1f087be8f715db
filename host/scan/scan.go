package scan

import (
	"bytes"
	"fmt"
)

// SectionID says what a section holds.
type SectionID byte

// Sections of WebAssembly 2.0.
const (
	SectionCustom    SectionID = 0
	SectionType      SectionID = 1
	SectionImport    SectionID = 2
	SectionFunction  SectionID = 3
	SectionTable     SectionID = 4
	SectionMemory    SectionID = 5
	SectionGlobal    SectionID = 6
	SectionExport    SectionID = 7
	SectionStart     SectionID = 8
	SectionElement   SectionID = 9
	SectionCode      SectionID = 10
	SectionData      SectionID = 11
	SectionDataCount SectionID = 12

	sectionTag SectionID = 13 // exceptions
)

var sectionNames = [...]string{
	"custom section", "type section", "import section", "function section", "table section",
	"memory section", "global section", "export section", "start section", "element section",
	"code section", "data section", "data count section",
}

// String gives the section's name.
func (id SectionID) String() string {
	if int(id) < len(sectionNames) {
		return sectionNames[id]
	}
	return fmt.Sprintf("section %d", byte(id))
}

// rank orders the sections; the data count comes before the code, so that a
// body's memory.init can be checked in one pass.
func (id SectionID) rank() int {
	switch id {
	case SectionDataCount:
		return 2*int(SectionElement) + 1
	default:
		return 2 * int(id)
	}
}

// scanner is one scan of one module.
type scanner struct {
	reader
	limits Limits
	m      *Module

	hasDataCount bool
	dataCount    int
	elemTypes    []ValType // of each element segment
	locals       int       // of all functions so far
	control      []frame
	operands     int // passed in this body so far
}

// Scan decodes a module and holds it against the limits. It never panics, and
// what it allocates is bounded by a small multiple of len(wasm). The error is
// always a [*Refusal]. The module returned keeps no reference to wasm.
func Scan(wasm []byte, limits Limits) (*Module, error) {
	s := &scanner{
		reader: reader{b: wasm, end: len(wasm), in: "module"},
		limits: limits.withDefaults(),
		m:      &Module{Size: len(wasm)},
	}
	s.header()
	s.sections()
	if s.err == nil {
		s.finish()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.m, nil
}

// Openings of what people upload by mistake.
var mistaken = []struct{ magic, say string }{
	{"\x1f\x8b", "it is compressed with gzip; upload the module itself"},
	{"\x28\xb5\x2f\xfd", "it is compressed with zstd; upload the module itself"},
	{"PK\x03\x04", "it is a zip archive; upload the module itself"},
	{"\x7fELF", "it is a native program for Linux; build it for wasip1"},
	{"MZ", "it is a native program for Windows; build it for wasip1"},
	{"\xcf\xfa\xed\xfe", "it is a native program for macOS; build it for wasip1"},
	{"!<arch>", "it is a library archive; link it into a module"},
	{"(module", "it is WebAssembly's text format; compile it with wat2wasm"},
	{"(component", "it is a component's text format; build a core module for wasip1"},
}

func (s *scanner) header() {
	w := s.b
	s.pos = min(8, len(w))
	switch {
	case len(w) == 0:
		s.failAt(0, RuleNotWasm, "it is empty; upload a WebAssembly module")
	case len(w) > s.limits.Size:
		s.failAt(0, RuleSize, "it has %d bytes, but the limit is %d; build without debug sections, and optimised for size", len(w), s.limits.Size)
	case !bytes.HasPrefix(w, []byte("\x00asm")):
		for _, x := range mistaken {
			if bytes.HasPrefix(w, []byte(x.magic)) {
				s.failAt(0, RuleNotWasm, "it is not a WebAssembly module: %s", x.say)
			}
		}
		s.failAt(0, RuleNotWasm, "it is not a WebAssembly module: it doesn't begin with 00 61 73 6d; build it for wasip1 (Go: GOOS=wasip1 GOARCH=wasm, Rust: wasm32-wasip1)")
	case len(w) < 8:
		s.failAt(len(w), RuleTruncated, "it ends within the first 8 bytes; the file is cut off")
	case bytes.Equal(w[4:8], []byte{0x0d, 0, 1, 0}):
		s.failAt(4, RuleComponent, "it is a component; build a core module for wasip1 instead (Rust: wasm32-wasip1, TinyGo: -target wasip1, componentize tools: leave that step out)")
	case !bytes.Equal(w[4:8], []byte{1, 0, 0, 0}):
		s.failAt(4, RuleVersion, "its version is % x, but only version 1 of the binary format (01 00 00 00) is supported", w[4:8])
	}
}

func (s *scanner) sections() {
	last := 0
	for s.err == nil && s.pos < s.end {
		start := s.pos
		id := SectionID(s.byte("a section"))
		size := s.u32("the size of a section")
		switch {
		case id == sectionTag:
			s.unsupported(start, RuleExceptions)
		case int(id) >= len(sectionNames):
			s.failAt(start, RuleSection, "there is no section with id %d in WebAssembly 2.0", byte(id))
		case id == SectionCustom:
		case id.rank() == last:
			s.failAt(start, RuleSectionOrder, "it has two %ss", id)
		case id.rank() < last:
			s.failAt(start, RuleSectionOrder, "its %s is in the wrong place; sections have a fixed order", id)
		default:
			last = id.rank()
			s.m.Sections = append(s.m.Sections, Section{ID: id, Start: start, Offset: s.pos, Len: int(size)})
		}
		if s.err == nil {
			done := s.window(int(size), id.String())
			s.section(id)
			done()
		}
	}
}

func (s *scanner) section(id SectionID) {
	switch id {
	case SectionCustom:
		s.customSection()
	case SectionType:
		s.typeSection()
	case SectionImport:
		s.importSection()
	case SectionFunction:
		s.functionSection()
	case SectionTable:
		s.tableSection()
	case SectionMemory:
		s.memorySection()
	case SectionGlobal:
		s.globalSection()
	case SectionExport:
		s.exportSection()
	case SectionStart:
		s.startSection()
	case SectionElement:
		s.elementSection()
	case SectionDataCount:
		s.dataCountSection()
	case SectionCode:
		s.codeSection()
	case SectionData:
		s.dataSection()
	}
}

// finish checks what only the end of the module can tell.
func (s *scanner) finish() {
	s.in = "module"
	switch {
	case len(s.m.Bodies) != len(s.m.Funcs):
		s.fail(RuleInconsistent, "it declares %d functions but has code for %d", len(s.m.Funcs), len(s.m.Bodies))
	case s.hasDataCount && s.dataCount != s.m.DataSegments:
		s.fail(RuleInconsistent, "its data count section says %d data segments, but there are %d", s.dataCount, s.m.DataSegments)
	}
}
