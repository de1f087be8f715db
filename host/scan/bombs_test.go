package scan_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/scan"
)

const bombDir = "../../testdata/wasm/bombs"

// bomb is a module with the rule by which it must be refused; none if it must
// be accepted.
type bomb struct{ name, rule, wasm string }

// storedBombs reads the corpus that people read too.
func storedBombs(t testing.TB) []bomb {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(bombDir, "README.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(bombDir, "*.wasm"))
	require.NoError(t, err)
	var bombs []bomb
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z0-9-]+) \| ([a-z0-9_.]+) \|$`).FindAllSubmatch(readme, -1) {
		name, rule := string(row[1]), string(row[2])
		wasm, err := os.ReadFile(filepath.Join(bombDir, name+".wasm"))
		require.NoError(t, err)
		if rule == "accepted" {
			rule = ""
		}
		bombs = append(bombs, bomb{name, rule, string(wasm)})
	}
	require.Len(t, bombs, len(files), "README.md must name every module once")
	return bombs
}

// madeBombs are those that the text format can't say, or that are huge.
func madeBombs() []bomb {
	var all []bomb
	for _, of := range [][]bomb{fileBombs(), countBombs(), limitBombs(), encodingBombs(), codeBombs(), featureBombs()} {
		all = append(all, of...)
	}
	return all
}

func TestBombsGetTheirRefusal(t *testing.T) {
	t.Parallel()
	for _, b := range append(storedBombs(t), madeBombs()...) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			m, err := scan.Scan([]byte(b.wasm), scan.Limits{})
			if b.rule == "" {
				require.NoError(t, err)
				return
			}
			require.Nil(t, m)
			var refusal *scan.Refusal
			require.True(t, errors.As(err, &refusal), "%v", err)
			require.Equal(t, b.rule, refusal.Rule, refusal.Error())
			require.LessOrEqual(t, refusal.Offset, len(b.wasm))
			require.Less(t, len(refusal.Message), 400, "a message is a sentence, whatever the module holds")
		})
	}
}

// TestAScanAllocatesLittle isn't parallel: it counts what the whole process
// allocates.
func TestAScanAllocatesLittle(t *testing.T) {
	for _, b := range append(storedBombs(t), madeBombs()...) {
		wasm := []byte(b.wasm)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = scan.Scan(wasm, scan.Limits{})
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, allocationBound(len(wasm)), b.name)
	}
}

// allocationBound is the promise of [scan.Scan]: a small multiple of the
// input, and a constant for the first entries of each list.
func allocationBound(size int) uint64 { return uint64(32*size + 32<<10) }

func TestACustomSectionNeverRefusesAModule(t *testing.T) {
	t.Parallel()
	m, err := scan.Scan([]byte(module(void, repeat(300_000, "\x00\x02\x01x"))), scan.Limits{})
	require.NoError(t, err)
	require.Len(t, m.Sections, 1, "custom sections aren't kept, however many there are")
}

func TestABrokenNameSectionMeansNoNames(t *testing.T) {
	t.Parallel()
	functions := func(content string) string { return "\x01" + str(content) }
	for name, tc := range map[string]struct {
		section string
		kept    bool
	}{
		"well-formed":                  {functions("\x01\x00\x03run"), true},
		"after the module's own":       {"\x00\x02\x01m" + functions("\x01\x00\x03run"), true},
		"before an unknown subsection": {functions("\x01\x00\x03run") + "\x63\x01x", true},
		"no functions":                 {"\x00\x02\x01m", false},
		"impossible count":             {functions(most), false},
		"subsection past the end":      {"\x01\x7f\x01\x00\x03run", false},
		"name past the end":            {functions("\x01\x00\x7frun"), false},
		"function that isn't there":    {functions("\x01\x01\x03run"), false},
		"the same function twice":      {functions("\x02\x00\x01a\x00\x01b"), false},
		"more names than functions":    {functions("\x02\x00\x01a\x01\x01b"), false},
		"not UTF-8":                    {functions("\x01\x00\x03\xffun"), false},
		"bytes behind the last name":   {functions("\x01\x00\x03runx"), false},
		"two lists":                    {functions("\x01\x00\x03run") + functions("\x01\x00\x03run"), false},
		"unfinished subsection":        {functions("\x01\x00\x03run") + "\x01", false},
		"bigger than the limit":        {functions("\x01\x00" + str(repeat(5000, "x"))), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wasm := []byte(module(void, oneFunc, section(10, vec(body(noLocals, end))), section(0, str("name"), tc.section)))
			m, err := scan.Scan(wasm, scan.Limits{NameSection: 4 << 10})
			require.NoError(t, err)
			if !tc.kept {
				require.Zero(t, m.Names)
				return
			}
			for i, name := range m.Names.FuncNames(wasm) {
				require.Zero(t, i)
				require.Equal(t, "run", string(name))
			}
			require.NotZero(t, m.Names.Len)
		})
	}
}
