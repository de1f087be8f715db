package host_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

func TestMain(m *testing.M) {
	if host.InCompileWorker() {
		os.Exit(host.CompileWorker(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// newEngine makes an engine that compiles in this process.
func newEngine(t testing.TB, o host.Options) *host.Engine {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(t.TempDir(), "cache")
	}
	o.Compile.InProcess = len(o.Compile.Command) == 0
	e, err := host.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	return e
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	require.NoError(t, err)
	return wasm
}

func load(t testing.TB, e *host.Engine, name string) *host.Module {
	t.Helper()
	m, err := e.Load(context.Background(), fixture(t, name))
	require.NoError(t, err)
	return m
}

// run runs a fixture in an engine of its own.
func run(t testing.TB, name string, a host.Attempt) host.Outcome {
	t.Helper()
	return load(t, newEngine(t, host.Options{}), name).Run(context.Background(), a)
}

// sink keeps what it is told.
type sink struct {
	mu       sync.Mutex
	lines    []abi.LogLine
	progress []string
}

func (s *sink) Log(line abi.LogLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *sink) Progress(json []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, string(json))
}
