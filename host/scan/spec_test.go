package scan_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host/scan"
)

// specDir is where the engine's own copy of WebAssembly 2.0's test suite is.
func specDir(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	path := filepath.Join(strings.TrimSpace(string(dir)), "internal/integration_test/spectest/v2/testdata")
	if err != nil || len(dir) == 0 {
		t.Skip("the engine's module directory can't be found, so there is no test suite to read")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the engine's module came without its test suite")
	}
	return path
}

// specCase is one command of a suite's script that names a module.
type specCase struct {
	Type, Filename, Text string
	Line                 int
	ModuleType           string `json:"module_type"`
}

func specCases(t testing.TB, dir string) map[string][]specCase {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	cases := make(map[string][]specCase)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		var suite struct{ Commands []specCase }
		require.NoError(t, json.Unmarshal(text, &suite))
		for _, c := range suite.Commands {
			if strings.HasSuffix(c.Filename, ".wasm") {
				cases[filepath.Base(script)] = append(cases[filepath.Base(script)], c)
			}
		}
	}
	return cases
}

// specLimits let everything through that the suite uses: it declares whole
// address spaces.
func specLimits() scan.Limits {
	return scan.Limits{MemoryPages: 65_536, TableEntries: 1<<32 - 1, Tables: 1_000}
}

func TestTheSpecificationsModulesAreReadAsItSays(t *testing.T) {
	t.Parallel()
	dir := specDir(t)
	valid, malformed, invalid, left := 0, 0, 0, 0
	for script, cases := range specCases(t, dir) {
		for _, c := range cases {
			wasm, err := os.ReadFile(filepath.Join(dir, c.Filename))
			require.NoError(t, err)
			_, err = scan.Scan(wasm, specLimits())
			var refusal *scan.Refusal
			switch c.Type {
			case "module", "assert_unlinkable", "assert_uninstantiable":
				valid++
				require.NoError(t, err, "%s:%d %s", script, c.Line, c.Filename)
			case "assert_malformed":
				malformed++
				require.Error(t, err, "%s:%d %s: %s", script, c.Line, c.Filename, c.Text)
				require.True(t, errors.As(err, &refusal))
			case "assert_invalid":
				// Types on the stack are the engine's to check.
				invalid++
				if err == nil {
					left++
					require.Contains(t, leftToTheEngine, c.Text, "%s:%d %s", script, c.Line, c.Filename)
				}
			}
		}
	}
	t.Logf("%d valid, %d malformed, %d invalid modules, %d of them left to the engine", valid, malformed, invalid, left)
	require.Greater(t, valid, 1_000)
	require.Greater(t, malformed, 100)
}

// leftToTheEngine are the suite's reasons for an invalid module that a scan
// doesn't look for.
var leftToTheEngine = []string{
	"type mismatch",
	"invalid result arity",
	"undeclared function reference",
}
