package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
)

func testModule(t *testing.T, name string) *Module {
	t.Helper()
	// Metered code never gets as far as the engine's own stack overflow.
	e, err := New(Options{
		CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: CompileOptions{InProcess: true}, Interruption: InterruptByEngine,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	require.NoError(t, err)
	m, err := e.Load(context.Background(), wasm)
	require.NoError(t, err)
	return m
}

// engineError gives the engine's own error of an attempt.
func engineError(t *testing.T, m *Module, input string) error {
	t.Helper()
	x := m.newExecution(&Attempt{Input: []byte(input)})
	x.memory.limit = 1 << 20
	_, err := x.execute(abi.ExportRun)
	return err
}

// TestTrapTexts is the contract with the engine: a version that words its
// traps in another way fails here, and trap.go is the place to mend.
func TestTrapTexts(t *testing.T) {
	t.Parallel()
	m := testModule(t, "traps")
	for _, c := range []struct{ input, text, class string }{
		{"u", "unreachable", abi.ClassTrapUnreachable},
		{"o", "out of bounds memory access", abi.ClassTrapOutOfBounds},
		{"d", "integer divide by zero", abi.ClassTrapDivideByZero},
		{"v", "integer overflow", abi.ClassTrapIntegerOverflow},
		{"c", "invalid conversion to integer", abi.ClassTrapBadConversion},
		{"n", "invalid table access", abi.ClassTrapTableAccess},
		{"e", "invalid table access", abi.ClassTrapTableAccess},
		{"s", "indirect call type mismatch", abi.ClassTrapSignatureMismatch},
		{"r", "stack overflow", abi.ClassGuestStackOverflow},
	} {
		err := engineError(t, m, c.input)
		trap, ok := trapOf(err)
		require.True(t, ok, "%s: %T %v", c.text, errors.Unwrap(err), err)
		require.Equal(t, c.text, trap.text)
		require.Equal(t, c.class, trap.class)
		if c.input != "r" { // the engine gives no trace there
			require.Equal(t, traceText(err.Error()), trap.trace)
			require.GreaterOrEqual(t, len(trap.frames), 2, "the function that trapped and the entry: %q", trap.trace)
		}
	}
	trap, ok := trapOf(engineError(t, testModule(t, "shadow-stack"), ""))
	require.True(t, ok)
	require.True(t, trap.deep, "the engine still says that it omits frames: %q", trap.trace)
	require.True(t, trap.recursive())
	_, ok = segmentTrap(engineError(t, testModule(t, "data-outside"), ""))
	require.True(t, ok)
}

func TestAnErrorThatReadsLikeATrapIsNone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errors.New("wasm error: unreachable\nwasm stack trace:\n\t.f()"),
		errors.New("stack overflow"),
		fmt.Errorf("a: %w", errors.New("unreachable")),
	} {
		_, ok := trapOf(err)
		require.False(t, ok)
	}
}

func TestFramesKeepTheNameAndLoseTheSignature(t *testing.T) {
	t.Parallel()
	var tr trap
	tr.readTrace("wasm error: unreachable\nwasm stack trace:\n\t.$7(i32)\n\t.main.(*T).Run(i32,i64) i32\n\t.f() (i32,i32)\n\t... maybe followed by omitted frames")
	require.Equal(t, []frame{"$7", "main.(*T).Run", "f"}, tr.frames)
	require.Equal(t, "main.(*T).Run", tr.where())
	require.True(t, tr.deep)
	require.False(t, tr.recursive(), "deep, but no function comes twice")
	require.Equal(t, ".$7(i32)", strings.Split(tr.trace, "\n")[0])
}
