package scan_test

import "github.com/taskq-host/taskq-host/host/scan"

// encodingBombs write numbers, names and kinds as the format doesn't allow.
func encodingBombs() []bomb {
	return []bomb{
		{"section size of six bytes", scan.RuleNumber, module("\x01\x84\x80\x80\x80\x80\x00\x01" + typeVoid)},
		{"section size of 33 bits", scan.RuleNumber, module("\x01\x84\x80\x80\x80\x10\x01" + typeVoid)},
		{"section size of five bytes", "", module("\x01\x84\x80\x80\x80\x00\x01" + typeVoid)},
		{"i32.const of six bytes", scan.RuleNumber, program("\x41\x80\x80\x80\x80\x80\x00\x1a")},
		{"i32.const of 33 bits", scan.RuleNumber, program("\x41\x80\x80\x80\x80\x10\x1a")},
		{"i32.const of the wrong sign", scan.RuleNumber, program("\x41\xff\xff\xff\xff\x4f\x1a")},
		{"i32.const of -1 in five bytes", "", program("\x41\xff\xff\xff\xff\x7f\x1a")},
		{"i64.const of eleven bytes", scan.RuleNumber, program("\x42", repeat(10, "\x80"), "\x00\x1a")},
		{"i64.const of 65 bits", scan.RuleNumber, program("\x42", repeat(9, "\x80"), "\x02\x1a")},
		{"i64.const of the least number", "", program("\x42", repeat(9, "\x80"), "\x7f\x1a")},
		{"block type of six bytes", scan.RuleNumber, program("\x02\x80\x80\x80\x80\x80\x00\x0b")},
		{"block type in five bytes", "", program("\x02\x80\x80\x80\x80\x00\x0b")},
		{"negative block type", scan.RuleType, program("\x02\xbf\x7f\x0b")},
		{"import module not UTF-8", scan.RuleName, module(void, section(2, "\x01\x01\xff\x01f\x00\x00"))},
		{"import name not UTF-8", scan.RuleName, module(void, section(2, "\x01\x01m\x02\xc0\x80\x00\x00"))},
		{"export name not UTF-8", scan.RuleName, module(oneMemory, section(7, "\x01\x03\xed\xa0\x80\x02\x00"))},
		{"custom section's name not UTF-8", scan.RuleName, module(section(0, "\x01\xff"))},
		{"import of kind 9", scan.RuleEncoding, module(section(2, "\x01\x01m\x01f\x09\x00"))},
		{"export of kind 9", scan.RuleEncoding, module(oneMemory, section(7, "\x01\x01m\x09\x00"))},
		{"import of a type that isn't there", scan.RuleIndex, module(section(2, "\x01\x01m\x01f\x00\x00"))},
		{"function of a type that isn't there", scan.RuleIndex, module(void, section(3, "\x01\x01"))},
		{"mutability 2", scan.RuleEncoding, module(section(6, "\x01\x7f\x02\x41\x00\x0b"))},
		{"value of type 0", scan.RuleType, module(section(1, "\x01\x60\x01\x00\x00"))},
		{"type that is no function", scan.RuleType, module(section(1, "\x01\x40\x00\x00"))},
		{"table of integers", scan.RuleType, module(section(4, "\x01\x7f\x00\x01"))},
		{"table with its minimum over its maximum", scan.RuleBounds, module(section(4, "\x01\x70\x01\x02\x01"))},
		{"limits of kind 0x10", scan.RuleEncoding, module(section(5, "\x01\x10\x01"))},
		{"element segment of kind 8", scan.RuleEncoding, module(section(9, "\x01\x08\x00\x00"))},
		{"element kind 1", scan.RuleEncoding, module(section(9, "\x01\x01\x01\x00"))},
		{"data segment of kind 3", scan.RuleEncoding, module(oneMemory, section(11, "\x01\x03\x00"))},
		{"constant without an end", scan.RuleTruncated, module(section(6, "\x01\x7f\x00\x41\x00"))},
		{"empty constant", scan.RuleConstant, module(section(6, "\x01\x7f\x00\x0b\x00"))},
		{"constant that is no instruction", scan.RuleInstruction, module(section(6, "\x01\x7f\x00\x41\x00\x27"))},
		{"start with a byte too many", scan.RuleTrailing, module(void, oneFunc, section(8, "\x00\x00"))},
		{"constant of more than the function's bytes", scan.RuleTruncated, program("\x44\x00\x00")},
	}
}

// codeBombs are bodies that aren't nested, or aren't code.
func codeBombs() []bomb {
	return []bomb{
		{"no end", scan.RuleTruncated, module(void, oneFunc, section(10, vec(body(noLocals, "\x01"))))},
		{"open block at the end", scan.RuleTruncated, program("\x02\x40")},
		{"code behind the last end", scan.RuleControl, program(end, "\x01")},
		{"else without if", scan.RuleControl, program("\x05")},
		{"else in a block", scan.RuleControl, program("\x02\x40\x05\x0b")},
		{"two elses", scan.RuleControl, program("\x41\x00\x04\x40\x05\x05\x0b")},
		{"body without code", scan.RuleTruncated, module(void, section(3, times(2, "\x00")), section(10, vec(body(noLocals), body(noLocals, "\x01", end))))},
		{"body of no bytes", scan.RuleCount, module(void, oneFunc, section(10, "\x01\x00"))},
		{"block of a type that isn't there", scan.RuleIndex, program("\x02\x05\x0b")},
		{"opcode 0x27", scan.RuleInstruction, program("\x27")},
		{"opcode 0xff", scan.RuleInstruction, program("\xff")},
		{"opcode 0xc5", scan.RuleInstruction, program("\xc5")},
		{"bulk opcode 18", scan.RuleInstruction, program("\xfc\x12")},
		{"bulk opcode of 32 bits", scan.RuleInstruction, program("\xfc", most)},
		{"vector opcode 0x9a", scan.RuleInstruction, program("\xfd\x9a\x01")},
		{"vector opcode of 32 bits", scan.RuleInstruction, program("\xfd", most)},
		{"prefix at the end", scan.RuleTruncated, module(void, oneFunc, section(10, vec(body(noLocals, "\xfd"))))},
		{"select of two types", scan.RuleEncoding, program("\x1c\x02\x7f\x7f")},
		{"ref.null of an integer", scan.RuleType, program("\xd0\x7f\x1a")},
		{"memory.init without a data count", scan.RuleInconsistent, program("\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x00")},
		{"data.drop without a data count", scan.RuleInconsistent, program("\xfc\x09\x00")},
		{"lane of a load", scan.RuleLane, program("\xfd\x54\x00\x00\x10")},
		{"alignment of a vector load", scan.RuleAlignment, program("\xfd\x00\x05\x00")},
	}
}

// featureBombs are of proposals that the host doesn't take.
func featureBombs() []bomb {
	return []bomb{
		{"memory.size of memory 1", scan.RuleMultiMemory, program("\x3f\x01\x1a")},
		{"memory.copy to memory 1", scan.RuleMultiMemory, program("\xfc\x0a\x00\x01")},
		{"load from memory 1", scan.RuleMultiMemory, program("\x41\x00\x28\x42\x01\x00\x1a")},
		{"data for memory 1", scan.RuleMultiMemory, module(oneMemory, section(11, "\x01\x02\x01\x41\x00\x0b\x00"))},
		{"table64", scan.RuleMemory64, module(section(4, "\x01\x70\x04\x01"))},
		{"page size of one byte", scan.RulePageSizes, module(section(5, "\x01\x08\x01\x00"))},
		{"struct type", scan.RuleGC, module(section(1, "\x01\x5f\x01\x7f\x00"))},
		{"recursive types", scan.RuleGC, module(section(1, "\x01\x4e\x01\x60\x00\x00"))},
		{"anyref", scan.RuleGC, module(section(1, "\x01\x60\x01\x6e\x00"))},
		{"struct.new", scan.RuleGC, program("\xfb\x00\x00")},
		{"exnref", scan.RuleExceptions, module(section(1, "\x01\x60\x01\x69\x00"))},
		{"throw", scan.RuleExceptions, program("\x08\x00")},
		{"try_table", scan.RuleExceptions, program("\x1f\x40\x00\x0b")},
		{"tag export", scan.RuleExceptions, module(oneMemory, section(7, "\x01\x01m\x04\x00"))},
		{"nullable reference to a type", scan.RuleFunctionReferences, module(section(1, "\x01\x60\x01\x63\x00\x00"))},
		{"call_ref", scan.RuleFunctionReferences, program("\x14\x00")},
		{"table with an initial value", scan.RuleFunctionReferences, module(section(4, "\x01\x40\x00\x70\x00\x01\xd0\x70\x0b"))},
		{"wide arithmetic", scan.RuleWideArithmetic, program("\xfc\x13")},
	}
}
