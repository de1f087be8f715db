package scan_test

import "github.com/taskq-host/taskq-host/host/scan"

// fileBombs aren't modules, or not whole ones.
func fileBombs() []bomb {
	return []bomb{
		{"nothing", scan.RuleNotWasm, ""},
		{"gzip", scan.RuleNotWasm, "\x1f\x8b\x08\x00\x00\x00\x00\x00"},
		{"text format", scan.RuleNotWasm, "(module (func))"},
		{"native program", scan.RuleNotWasm, "\x7fELF\x02\x01\x01\x00"},
		{"three bytes", scan.RuleNotWasm, "\x00as"},
		{"magic alone", scan.RuleTruncated, "\x00asm"},
		{"component", scan.RuleComponent, "\x00asm\x0d\x00\x01\x00"},
		{"version 2", scan.RuleVersion, "\x00asm\x02\x00\x00\x00"},
		{"over 16 MiB", scan.RuleSize, header + section(0, str("x"), repeat(16<<20, "x"))},
		{"section without a size", scan.RuleTruncated, module("\x01")},
		{"section past the end", scan.RuleTruncated, module("\x01\x7f\x00")},
		{"section with a byte too many", scan.RuleTrailing, module("\x01\x05\x01" + typeVoid + "\x00")},
		{"section cut short", scan.RuleCount, module("\x01\x03\x01\x60\x00")},
		{"two type sections", scan.RuleSectionOrder, module(void, void)},
		{"functions before types", scan.RuleSectionOrder, module("\x03\x01\x00", void)},
		{"data count after code", scan.RuleSectionOrder, module(section(10, vec()), section(12, "\x00"))},
		{"data count before elements", scan.RuleSectionOrder, module(section(12, "\x00"), section(9, vec()))},
		{"section 14", scan.RuleSection, module("\x0e\x00")},
		{"functions without code", scan.RuleInconsistent, module(void, oneFunc)},
		{"code without functions", scan.RuleInconsistent, module(section(10, vec(body(noLocals, end))))},
		{"less code than functions", scan.RuleInconsistent, module(void, section(3, times(2, "\x00")), section(10, vec(body(noLocals, end))))},
		{"data count says too much", scan.RuleInconsistent, module(section(12, "\x02"), section(11, vec("\x01\x01x")))},
		{"data count without data", scan.RuleInconsistent, module(section(12, "\x01"))},
	}
}

// countBombs claim more than their bytes can hold. The first is the one that
// makes an engine reserve 309 GB.
func countBombs() []bomb {
	bombs := []bomb{
		{"element segment count", scan.RuleCount, "\x00asm\x01\x00\x00\x00\x09\x05\xff\xff\xff\xff\x0f"},
		{"parameter count", scan.RuleCount, module(section(1, "\x01\x60", most))},
		{"result count", scan.RuleCount, module(section(1, "\x01\x60\x00", most))},
		{"functions in a segment", scan.RuleCount, module("\x04\x04\x01\x70\x00\x01", section(9, "\x01\x00\x41\x00\x0b", most))},
		{"expressions in a segment", scan.RuleCount, module("\x04\x04\x01\x70\x00\x01", section(9, "\x01\x04\x41\x00\x0b", most))},
		{"one element that isn't there", scan.RuleCount, module("\x04\x04\x01\x70\x00\x01", section(9, "\x01\x00\x41\x00\x0b\x01"))},
		{"groups of locals", scan.RuleCount, module(void, oneFunc, section(10, vec(body(most))))},
		{"labels", scan.RuleCount, program("\x41\x00\x0e", most)},
		{"body", scan.RuleTruncated, module(void, oneFunc, section(10, "\x01\x40\x00\x0b"))},
		{"bytes of a data segment", scan.RuleTruncated, module(oneMemory, section(11, "\x01\x00\x41\x00\x0b", most))},
		{"bytes of an import's module", scan.RuleTruncated, module(section(2, "\x01", most, "abc"))},
		{"bytes of an export's name", scan.RuleTruncated, module(section(7, "\x01", most, "abc"))},
		{"bytes of a custom section's name", scan.RuleTruncated, module(section(0, most))},
		{"custom section without a name", scan.RuleTruncated, module("\x00\x00")},
	}
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 10, 11} {
		bombs = append(bombs, bomb{"count of " + scan.SectionID(id).String(), scan.RuleCount, module(section(id, most))})
	}
	return bombs
}

// limitBombs really have what they claim, but it is too much.
func limitBombs() []bomb {
	funcImport := "\x01m\x01f\x00\x00"
	wide := "\x60\x00" + times(1_000, "\x7f") // no parameters, 1,000 results
	callWide := module(section(1, vec(wide)), section(3, "\x01\x00"), section(10, vec(body(noLocals, repeat(100_000, "\x10\x00"), end))))
	branchWide := module(section(1, vec(wide)), section(3, "\x01\x00"),
		section(10, vec(body(noLocals, "\x41\x00\x0e", times(100_000, "\x00"), "\x00", end))))
	locals := body("\x01", u32(50_000), "\x7f", end)
	return []bomb{
		{"10,001 types", scan.RuleTypes, module(section(1, times(10_001, typeVoid)))},
		{"1,001 parameters", scan.RuleParams, module(section(1, "\x01\x60", times(1_001, "\x7f"), "\x00"))},
		{"1,001 results", scan.RuleResults, module(section(1, "\x01\x60\x00", times(1_001, "\x7f")))},
		{"257 imports", scan.RuleImports, module(void, section(2, times(257, funcImport)))},
		{"50,001 functions", scan.RuleFunctions, module(void, section(3, times(50_001, "\x00")))},
		{"10,001 globals", scan.RuleGlobals, module(section(6, times(10_001, "\x7f\x00\x41\x00\x0b")))},
		{"10,001 globals with an imported one", scan.RuleGlobals, module(section(2, vec("\x01m\x01g\x03\x7f\x00")), section(6, times(10_000, "\x7f\x00\x41\x00\x0b")))},
		{"1,025 exports", scan.RuleExports, module(oneMemory, section(7, times(1_025, "\x01m\x02\x00")))},
		{"a long export name", scan.RuleNameBytes, module(oneMemory, section(7, "\x01", str(repeat(5_000, "m")), "\x02\x00"))},
		{"a long import name", scan.RuleNameBytes, module(void, section(2, "\x01\x01m", str(repeat(5_000, "f")), "\x00\x00"))},
		{"10,001 element segments", scan.RuleElementSegments, module(section(9, times(10_001, "\x01\x00\x00")))},
		{"1,000,001 elements", scan.RuleElements, module(void, "\x02\x07\x01\x01m\x01f\x00\x00", section(9, vec("\x01\x00"+times(1_000_001, "\x00"))))},
		{"1,000,001 elements in two segments", scan.RuleElements, module(void, "\x02\x07\x01\x01m\x01f\x00\x00", section(9, vec("\x01\x00"+times(1_000_000, "\x00"), "\x01\x00\x01\x00")))},
		{"100,001 data segments", scan.RuleDataSegments, module(section(11, times(100_001, "\x01\x00")))},
		{"a data count of 4 G", scan.RuleDataSegments, module(section(12, most))},
		{"2^32 - 1 locals", scan.RuleLocals, module(void, oneFunc, section(10, vec(body("\x01", most, "\x7f", end))))},
		{"locals that overflow 32 bits", scan.RuleLocals, module(void, oneFunc, section(10, vec(body("\x02", most, "\x7f", "\x02\x7f", end))))},
		{"50,001 locals, one a parameter", scan.RuleLocals, module(section(1, vec("\x60\x01\x7f\x00")), oneFunc, section(10, vec(locals)))},
		{"21 functions of 50,000 locals", scan.RuleLocalsTotal, module(void, section(3, times(21, "\x00")), section(10, times(21, locals)))},
		{"20 functions of 50,000 locals", "", module(void, section(3, times(20, "\x00")), section(10, times(20, locals)))},
		{"a body of 600 KiB", scan.RuleBody, program(repeat(600<<10, "\x01"))},
		{"600,000 labels", scan.RuleBody, program("\x41\x00\x0e", times(600_000, "\x00"), "\x00")},
		{"100,000 nested blocks", scan.RuleDepth, program(repeat(100_000, "\x02\x40"), repeat(100_000, end))},
		{"20,000 nested blocks", "", program(repeat(20_000, "\x02\x40"), repeat(20_000, end))},
		{"100,000 calls with 1,000 results", scan.RuleOperands, callWide},
		{"100,000 labels that take 1,000 values", scan.RuleOperands, branchWide},
		{"300,000 custom sections", "", module(repeat(300_000, "\x00\x02\x01x"))},
	}
}
