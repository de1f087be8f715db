package rewrite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

const bombDir = "../../testdata/wasm/bombs"

var options = rewrite.Options{MemoryMaxPages: 1_024, TableMax: 100_000}

func stored(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(bombDir, name+".wasm"))
	require.NoError(t, err)
	return wasm
}

// interruptible scans and rewrites, and scans what came out of it.
func interruptible(t testing.TB, wasm []byte, limits scan.Limits, o rewrite.Options) ([]byte, *scan.Module) {
	t.Helper()
	before := bytes.Clone(wasm)
	m, err := scan.Scan(wasm, limits)
	require.NoError(t, err)
	out, err := rewrite.Interruptible(wasm, m, o)
	require.NoError(t, err)
	require.Equal(t, before, wasm, "the upload itself stays as it was")
	again, err := rewrite.Interruptible(wasm, m, o)
	require.NoError(t, err)
	require.Equal(t, out, again, "the same upload always becomes the same code")
	after, err := scan.Scan(out, grown(limits))
	require.NoError(t, err)
	return out, after
}

// grown makes room for what a rewrite adds to a module at its limits.
func grown(l scan.Limits) scan.Limits {
	if l.Size == 0 {
		l.Size = scan.DefaultLimits().Size
	}
	if l.Body == 0 {
		l.Body = scan.DefaultLimits().Body
	}
	l.Size *= 3
	l.Body *= 3
	return l
}

const header = "\x00asm\x01\x00\x00\x00"

func TestOnlyChecksAndMaximaAreAdded(t *testing.T) {
	t.Parallel()
	in := header +
		"\x01\x84\x80\x00\x01\x60\x00\x00" + // a size of three bytes stays one
		"\x00\x03\x01xy" + // custom sections go
		"\x03\x03\x02\x00\x00" +
		"\x04\x04\x01\x70\x00\x02" +
		"\x05\x03\x01\x00\x01" +
		"\x06\x07\x01\x7f\x01\x41\x80\x00\x0b" +
		"\x07\x05\x01\x01f\x00\x00" +
		"\x0a\x0b\x02\x03\x00\x01\x0b" + "\x05\x01\x01\x7f\x01\x0b" +
		"\x0b\x07\x01\x00\x41\x00\x0b\x01x"
	want := header +
		"\x01\x84\x80\x00\x01\x60\x00\x00" +
		"\x03\x03\x02\x00\x00" +
		"\x04\x07\x01\x70\x01\x02\xa0\x8d\x06" +
		"\x05\x05\x01\x01\x01\x80\x08" +
		"\x06\x07\x01\x7f\x01\x41\x80\x00\x0b" +
		"\x07\x05\x01\x01f\x00\x00" +
		"\x0a\x11\x02\x06\x00\x03\x40\x0b\x01\x0b" + "\x08\x01\x01\x7f\x03\x40\x0b\x01\x0b" +
		"\x0b\x07\x01\x00\x41\x00\x0b\x01x"
	out, _ := interruptible(t, []byte(in), scan.Limits{}, options)
	require.Equal(t, []byte(want), out)
}

func TestAModuleWithoutAnythingStaysEmpty(t *testing.T) {
	t.Parallel()
	out, _ := interruptible(t, []byte(header), scan.Limits{}, options)
	require.Equal(t, header, string(out))
}

func TestEveryBulkInstructionButTheFirstGetsACheck(t *testing.T) {
	t.Parallel()
	// The fixture's function has table.grow, fill, init, copy and
	// memory.init, in this order.
	_, m := interruptible(t, stored(t, "accepted-unrestorable"), scan.Limits{}, options)
	require.Equal(t, 1+4, m.Facts.Loops)

	out, m := interruptible(t, stored(t, "accepted-unbounded-growth"), scan.Limits{}, options)
	require.Equal(t, 1+1, m.Facts.Loops)
	var ops []scan.Op
	for in := range m.Bodies[0].Instructions(out) {
		ops = append(ops, in.Op)
	}
	require.Equal(t, []scan.Op{
		scan.OpLoop, scan.OpEnd,
		scan.OpI32Const, scan.OpMemoryGrow,
		scan.OpRefNull, scan.OpI32Const, scan.OpLoop, scan.OpEnd, scan.OpTableGrow,
		scan.OpEnd,
	}, ops)
}

func TestMaximaAreClamped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		memory, table    string
		wantMem, wantTab uint32
	}{
		"none declared":  {"\x00\x01", "\x00\x01", 16, 1_000},
		"higher ones":    {"\x01\x01\x80\x80\x04", "\x01\x01\xff\xff\xff\xff\x0f", 16, 1_000},
		"lower ones":     {"\x01\x01\x02", "\x01\x01\x03", 2, 3},
		"the same":       {"\x01\x01\x10", "\x01\x01\xe8\x07", 16, 1_000},
		"full from zero": {"\x00\x10", "\x00\xe8\x07", 16, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, table := "\x01"+tc.memory, "\x02\x6f"+tc.table+"\x70"+tc.table
			in := header + "\x04" + string(rune(len(table))) + table + "\x05" + string(rune(len(memory))) + memory
			_, m := interruptible(t, []byte(in), scan.Limits{}, rewrite.Options{MemoryMaxPages: 16, TableMax: 1_000})
			require.True(t, m.Memories[0].HasMax)
			require.Equal(t, tc.wantMem, m.Memories[0].Max)
			require.Len(t, m.Tables, 2)
			for i, elem := range []scan.ValType{scan.ExternRef, scan.FuncRef} {
				require.True(t, m.Tables[i].HasMax)
				require.Equal(t, tc.wantTab, m.Tables[i].Max)
				require.Equal(t, elem, m.Tables[i].Elem)
			}
		})
	}
}

func TestABeginningAboveTheMaximumIsRefused(t *testing.T) {
	t.Parallel()
	for rule, section := range map[string]string{
		scan.RuleMemory:       "\x05\x03\x01\x00\x02",
		scan.RuleTableEntries: "\x04\x04\x01\x70\x00\x02",
	} {
		wasm := []byte(header + section)
		m, err := scan.Scan(wasm, scan.Limits{})
		require.NoError(t, err)
		_, err = rewrite.Interruptible(wasm, m, rewrite.Options{MemoryMaxPages: 1, TableMax: 1})
		var refusal *scan.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, rule, refusal.Rule)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	t.Parallel()
	wasm := []byte(header)
	m, err := scan.Scan(wasm, scan.Limits{})
	require.NoError(t, err)
	for field, o := range map[string]rewrite.Options{
		"MemoryMaxPages": {TableMax: 1},
		"65537":          {MemoryMaxPages: 65_537, TableMax: 1},
		"TableMax":       {MemoryMaxPages: 1},
	} {
		_, err := rewrite.Interruptible(wasm, m, o)
		require.ErrorContains(t, err, field)
	}
	_, err = rewrite.Interruptible(append(wasm, 0), m, options)
	require.ErrorContains(t, err, "scan of these bytes")
	_, err = rewrite.Interruptible(wasm, nil, options)
	require.Error(t, err)
}

// named is a module of two functions with these names, and names of its own
// and of a local, which are dropped.
func named(first, second string) []byte {
	entry := func(i byte, name string) string { return string([]byte{i}) + u32(len(name)) + name }
	functions := "\x02" + entry(0, first) + entry(1, second)
	content := "\x04name" + "\x00\x04\x03mod" + "\x01" + u32(len(functions)) + functions + "\x02\x06\x01\x00\x01\x00\x01x"
	return []byte(header + "\x01\x04\x01\x60\x00\x00" + "\x03\x03\x02\x00\x00" + "\x0a\x07\x02\x02\x00\x0b\x02\x00\x0b" +
		"\x00" + u32(len(content)) + content)
}

func u32(n int) string {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return string(append(out, byte(n)))
}

func TestNamesOfFunctionsAreKeptAndCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300) // 600 bytes; byte 511 is inside a character
	wasm := named("x"+long, "run")
	out, m := interruptible(t, wasm, scan.Limits{}, options)
	var names []string
	for _, name := range m.Names.FuncNames(out) {
		names = append(names, string(name))
	}
	require.Equal(t, []string{"x" + long[:510], "run"}, names)
	require.True(t, utf8.ValidString(names[0]))
	require.NotContains(t, string(out), "mod", "a module's own name would name its instances")
}

func TestBrokenNamesAreDropped(t *testing.T) {
	t.Parallel()
	wasm := bytes.Replace(named("first", "run"), []byte("run"), []byte("\xff\xffn"), 1)
	out, m := interruptible(t, wasm, scan.Limits{}, options)
	require.Zero(t, m.Names)
	require.NotContains(t, string(out), "first")
}
