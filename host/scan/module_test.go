package scan_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/scan"
)

func stored(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(bombDir, name+".wasm"))
	require.NoError(t, err)
	return wasm
}

func TestScanDescribesWhatTheModuleDeclares(t *testing.T) {
	t.Parallel()
	wasm := []byte(module(
		section(1, vec("\x60\x02\x7f\x7e\x01\x7d", typeVoid)),
		section(2, vec("\x01m\x01f\x00\x01", "\x01m\x01g\x03\x7f\x01", "\x01m\x01t\x01\x70\x00\x02")),
		section(3, vec("\x00", "\x01")),
		section(4, vec("\x6f\x01\x03\x05")),
		section(5, vec("\x00\x01")),
		section(6, vec("\x7e\x01\x42\x00\x0b")),
		section(7, vec("\x03run\x00\x01", "\x06memory\x02\x00")),
		section(8, "\x00"),
		section(9, vec("\x01\x00\x02\x00\x01", "\x00\x41\x00\x0b\x01\x00")),
		section(12, "\x01"),
		section(10, vec(
			body("\x01\x02\x7f", "\x43\x00\x00\x00\x00", end),
			body(noLocals, "\x03\x40\x0b\x41\x00\x40\x00\x1a", end),
		)),
		section(11, vec("\x00\x41\x00\x0b\x01x")),
	))
	m, err := scan.Scan(wasm, scan.Limits{})
	require.NoError(t, err)

	require.Equal(t, len(wasm), m.Size)
	require.Equal(t, "(i32, i64) -> f32", m.Types[0].String())
	require.Equal(t, "() -> ()", m.Types[1].String())
	require.Equal(t, []scan.Import{
		{Module: "m", Name: "f", Kind: scan.FuncKind, TypeIndex: 1},
		{Module: "m", Name: "g", Kind: scan.GlobalKind},
		{Module: "m", Name: "t", Kind: scan.TableKind},
	}, m.Imports)
	require.Equal(t, []int{1, 1, 0, 1}, []int{m.ImportedFuncs, m.ImportedTables, m.ImportedMemories, m.ImportedGlobals})
	require.Equal(t, []uint32{0, 1}, m.Funcs)
	require.Equal(t, 3, m.NumFuncs())
	require.Equal(t, m.Types[1], m.FuncTypeOf(0), "the imported function comes first")
	require.Equal(t, m.Types[0], m.FuncTypeOf(1))
	require.Equal(t, []scan.TableType{{Elem: scan.FuncRef, Min: 2}, {Elem: scan.ExternRef, Min: 3, Max: 5, HasMax: true}}, m.Tables)
	require.Equal(t, []scan.MemoryType{{Min: 1}}, m.Memories)
	require.Equal(t, []scan.GlobalType{{Type: scan.I32, Mutable: true}, {Type: scan.I64, Mutable: true}}, m.Globals)
	require.True(t, m.HasStart)
	require.Zero(t, m.Start)
	require.Equal(t, []int{2, 3, 1}, []int{m.ElementSegments, m.Elements, m.DataSegments})

	run, ok := m.ExportedFunc("run")
	require.True(t, ok)
	require.Equal(t, m.Types[0], run)
	_, ok = m.ExportedFunc("memory")
	require.False(t, ok, "a memory is no function")
	memory, ok := m.Export("memory")
	require.True(t, ok)
	require.Equal(t, scan.Export{Name: "memory", Kind: scan.MemoryKind}, memory)
	_, ok = m.Export("main")
	require.False(t, ok)

	require.Len(t, m.Bodies, 2)
	require.Equal(t, uint32(4), m.Bodies[0].Locals, "two parameters and two locals")
	require.Equal(t, byte(0x43), wasm[m.Bodies[0].Code])
	require.Equal(t, byte(0x0b), wasm[m.Bodies[1].End-1])
	require.Equal(t, uint32(1), m.Bodies[1].Bulk)
	require.Equal(t, scan.Facts{
		Instructions: 8, Loops: 1, MaxDepth: 1, MaxBody: 10, MemoryGrow: 1,
		MutableGlobals: 1, ImportedMutableGlobals: 1, PassiveElem: 1,
	}, m.Facts)
	require.Len(t, m.NotPoolable(), 1)
}

func TestSectionsSayWhereTheyAre(t *testing.T) {
	t.Parallel()
	wasm := stored(t, "accepted-unrestorable")
	m, err := scan.Scan(wasm, scan.Limits{})
	require.NoError(t, err)
	at := 8
	for _, s := range m.Sections {
		require.Equal(t, at, s.Start, "%s", s.ID)
		require.Equal(t, byte(s.ID), wasm[s.Start])
		at = s.Offset + s.Len
	}
	require.Equal(t, len(wasm), at)
}

func TestWhatCannotBeRestoredIsTold(t *testing.T) {
	t.Parallel()
	m, err := scan.Scan(stored(t, "accepted-unrestorable"), scan.Limits{})
	require.NoError(t, err)
	f := m.Facts
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1}, []int{f.TableSet, f.TableGrow, f.TableFill, f.TableInit, f.TableCopy, f.ElemDrop, f.DataDrop, f.MemoryInit})
	require.Equal(t, 3, f.MutableGlobals)
	require.Equal(t, 2, f.MutableV128OrRefGlobals)
	require.Len(t, m.NotPoolable(), 8)

	m, err = scan.Scan(stored(t, "accepted-exponential-recursion"), scan.Limits{})
	require.NoError(t, err)
	require.Empty(t, m.NotPoolable())
}

func TestALimitOfTheCallersReplacesTheDefault(t *testing.T) {
	t.Parallel()
	wasm := stored(t, "accepted-unrestorable")
	for name, tc := range map[string]struct {
		limits scan.Limits
		rule   string
	}{
		"size":     {scan.Limits{Size: len(wasm) - 1}, scan.RuleSize},
		"entries":  {scan.Limits{TableEntries: 3}, scan.RuleTableEntries},
		"globals":  {scan.Limits{Globals: 2}, scan.RuleGlobals},
		"body":     {scan.Limits{Body: 10}, scan.RuleBody},
		"operands": {scan.Limits{Operands: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scan.Scan(wasm, tc.limits)
			if tc.rule == "" {
				require.NoError(t, err)
				return
			}
			var refusal *scan.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, tc.rule, refusal.Rule)
		})
	}
}

func TestInstructionsAreWalkedWithTheirImmediates(t *testing.T) {
	t.Parallel()
	wasm := []byte(module(void, oneFunc, "\x04\x04\x01\x70\x00\x01", oneMemory, section(10, vec(body("\x01\x01\x7f",
		"\x03\x40",                             // loop
		"\x41\x7f\x22\x00",                     // i32.const -1, local.tee 0
		"\x28\x02\x90\x01\x1a",                 // i32.load align 4 offset 144, drop
		"\x42\x80\x7f\x1a",                     // i64.const -128, drop
		"\x41\x00",                             // i32.const 0
		"\x0e\x02\x00\x01\x00",                 // br_table 0 1, default 0
		"\x0b",                                 // end
		"\x41\x00\x11\x00\x00",                 // call_indirect type 0, table 0
		"\x41\x00\x41\x00\x41\x00\xfc\x0b\x00", // memory.fill
		end)))))
	m, err := scan.Scan(wasm, scan.Limits{})
	require.NoError(t, err)

	type seen struct {
		op    scan.Op
		a, b  uint32
		value int64
		bytes int
	}
	var got []seen
	at := m.Bodies[0].Code
	for in := range m.Bodies[0].Instructions(wasm) {
		require.Equal(t, at, in.Offset, "each instruction follows the last")
		require.LessOrEqual(t, in.Args, in.End)
		at = in.End
		s := seen{op: in.Op, bytes: in.End - in.Offset}
		switch in.Op {
		case scan.OpLoop:
			s.value = in.Block
		case scan.OpI32Const, scan.OpI64Const:
			s.value = in.Const
		case scan.OpBrTable, scan.OpCallIndirect, 0x28:
			s.a, s.b = in.A, in.B
		case 0x22:
			s.a = in.A
		}
		got = append(got, s)
	}
	require.Equal(t, m.Bodies[0].End, at)
	zero := seen{op: scan.OpI32Const, bytes: 2}
	require.Equal(t, []seen{
		{op: scan.OpLoop, value: scan.BlockVoid, bytes: 2},
		{op: scan.OpI32Const, value: -1, bytes: 2}, {op: 0x22, bytes: 2},
		{op: 0x28, a: 2, b: 144, bytes: 4}, {op: 0x1a, bytes: 1},
		{op: scan.OpI64Const, value: -128, bytes: 3}, {op: 0x1a, bytes: 1},
		zero, {op: scan.OpBrTable, a: 2, b: 0, bytes: 5}, {op: scan.OpEnd, bytes: 1},
		zero, {op: scan.OpCallIndirect, bytes: 3},
		zero, zero, zero, {op: scan.OpMemoryFill, bytes: 3}, {op: scan.OpEnd, bytes: 1},
	}, got)
	require.Equal(t, len(got), m.Facts.Instructions)
}
