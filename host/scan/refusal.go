package scan

import "fmt"

// Rules that a refusal may name. They are stable: tests and clients match
// them, while messages may be reworded.
const (
	RuleNotWasm         = "not_wasm"
	RuleComponent       = "component"
	RuleVersion         = "version"
	RuleTruncated       = "truncated"
	RuleTrailing        = "trailing_bytes"
	RuleNumber          = "bad_number"
	RuleName            = "bad_name"
	RuleCount           = "impossible_count"
	RuleSection         = "unknown_section"
	RuleSectionOrder    = "section_order"
	RuleInconsistent    = "inconsistent_sections"
	RuleType            = "bad_type"
	RuleEncoding        = "bad_encoding"
	RuleBounds          = "bad_bounds"
	RuleIndex           = "index_out_of_range"
	RuleConstant        = "constant_expression"
	RuleInstruction     = "unknown_instruction"
	RuleControl         = "control_structure"
	RuleAlignment       = "alignment"
	RuleLane            = "lane"
	RuleImmutable       = "immutable_global"
	RuleDuplicateExport = "duplicate_export"
	RuleStart           = "start_function"
	RuleReserved        = "reserved_name"

	RuleTailCalls          = "feature.tail_calls"
	RuleExceptions         = "feature.exceptions"
	RuleThreads            = "feature.threads"
	RuleMemory64           = "feature.memory64"
	RuleMultiMemory        = "feature.multi_memory"
	RuleGC                 = "feature.gc"
	RuleFunctionReferences = "feature.function_references"
	RuleExtendedConst      = "feature.extended_const"
	RuleRelaxedSIMD        = "feature.relaxed_simd"
	RuleWideArithmetic     = "feature.wide_arithmetic"
	RulePageSizes          = "feature.custom_page_sizes"

	RuleSize            = "limit.size"
	RuleTypes           = "limit.types"
	RuleParams          = "limit.params"
	RuleResults         = "limit.results"
	RuleImports         = "limit.imports"
	RuleFunctions       = "limit.functions"
	RuleTables          = "limit.tables"
	RuleTableEntries    = "limit.table_entries"
	RuleMemory          = "limit.memory"
	RuleGlobals         = "limit.globals"
	RuleExports         = "limit.exports"
	RuleNameBytes       = "limit.name_bytes"
	RuleElementSegments = "limit.element_segments"
	RuleElements        = "limit.elements"
	RuleDataSegments    = "limit.data_segments"
	RuleBody            = "limit.body"
	RuleLocals          = "limit.locals"
	RuleLocalsTotal     = "limit.locals_total"
	RuleDepth           = "limit.depth"
	RuleOperands        = "limit.operands"
)

// Refusal is why a module wasn't accepted, in words for who uploaded it.
type Refusal struct {
	Rule    string // one of the Rule constants
	Message string // one sentence, lower case, without the offset
	Offset  int    // of the byte in the module where it was noticed
}

// Error gives the message and the offset.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s (at byte %d)", r.Message, r.Offset)
}

// features holds what is said about a proposal that isn't supported.
var features = map[string]string{
	RuleTailCalls:          "tail calls are not supported; build without -mtail-call",
	RuleExceptions:         "WebAssembly exceptions are not supported; build without -fwasm-exceptions (C++: -fno-exceptions)",
	RuleThreads:            "threads, atomics and shared memory are not supported; build for wasm32-wasip1, not for a threads target, and without -matomics or -pthread",
	RuleMemory64:           "64-bit memories and tables are not supported; build for wasm32",
	RuleMultiMemory:        "more than one memory is not supported; build without -mmultimemory",
	RuleGC:                 "garbage-collected types are not supported; build for a target that manages its own heap in linear memory",
	RuleFunctionReferences: "typed function references are not supported; build with reference types as in WebAssembly 2.0",
	RuleExtendedConst:      "arithmetic in constant expressions is not supported; build without -mextended-const",
	RuleRelaxedSIMD:        "relaxed SIMD is not supported, because its results depend on the machine; build without -mrelaxed-simd",
	RuleWideArithmetic:     "wide arithmetic is not supported; build without -mwide-arithmetic",
	RulePageSizes:          "custom page sizes are not supported; build with pages of 64 KiB",
}
