package host_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/host"
)

// outside are options that compile in a process of its own: this test binary.
func outside(t *testing.T) host.CompileOptions {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return host.CompileOptions{Command: []string{self}}
}

// compiledFiles are the files of a cache directory with their times.
func compiledFiles(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	files := make(map[string]time.Time)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		stat, err := entry.Info()
		if err == nil {
			files[path] = stat.ModTime()
		}
		return err
	}))
	return files
}

func TestTheHostLoadsWhatTheWorkerCompiled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngine(t, host.Options{CacheDir: dir, Compile: outside(t)})
	wasm := fixture(t, "echo")
	require.NoError(t, e.CompileOutside(wasm))
	worker := compiledFiles(t, dir)
	require.Len(t, worker, 1, "the worker left the code")
	m, err := e.Load(context.Background(), wasm)
	require.NoError(t, err)
	require.Equal(t, worker, compiledFiles(t, dir), "the host compiled nothing: it would have added or replaced a file")
	require.Equal(t, host.Succeeded, m.Run(context.Background(), host.Attempt{Input: []byte("1")}).Kind)

	for path := range worker { // the key is found: without the file the host would have to compile
		require.NoError(t, os.Remove(path))
	}
	again := newEngine(t, host.Options{CacheDir: dir})
	_, err = again.Load(context.Background(), wasm)
	require.NoError(t, err)
	after := compiledFiles(t, dir)
	require.Len(t, after, 1)
	for path := range after {
		require.Contains(t, worker, path, "host and worker agree on the key")
	}
}

func TestAModuleThatTheEngineRefusesIsRefused(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Compile: outside(t)})
	_, err := e.Load(context.Background(), fixture(t, "refused/operand-types"))
	refusal := requireRefusal(t, err)
	require.Equal(t, host.RuleCompileInvalid, refusal.Rule)
	require.Contains(t, refusal.Message, "isn't valid")
}

func TestAWorkerThatTakesTooLongIsKilledAndTheModuleRefused(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Compile: host.CompileOptions{Command: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond}})
	_, err := e.Load(context.Background(), fixture(t, "echo"))
	refusal := requireRefusal(t, err)
	require.Equal(t, host.RuleCompileTime, refusal.Rule)
	require.Contains(t, refusal.Message, "within 50ms")
}

func TestAWorkerWithoutMemoryDiesAloneAndTheModuleIsRefused(t *testing.T) {
	t.Parallel()
	o := outside(t)
	o.AddressSpace = 64 << 20 // less than a Go process begins with
	e := newEngine(t, host.Options{Compile: o})
	_, err := e.Load(context.Background(), fixture(t, "echo"))
	require.Equal(t, host.RuleCompileResource, requireRefusal(t, err).Rule)
}

func TestAProgramThatIsNoWorkerIsTheHostsTrouble(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"echo", "hello"}, {"/nonexistent"}} {
		e := newEngine(t, host.Options{Compile: host.CompileOptions{Command: command}})
		_, err := e.Load(context.Background(), fixture(t, "echo"))
		require.Error(t, err)
		var refusal *host.Refusal
		require.NotErrorAs(t, err, &refusal)
	}
}

func TestTheWorkerSurvivesNonsense(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "nonsense\n", "{\"size\":-1}\n"} {
		var out bytes.Buffer
		host.CompileWorkerUnlimited(bytes.NewReader([]byte(in)), &out)
		require.Contains(t, out.String(), `"error":"`)
	}
}

func TestACacheDirectoryThatOthersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o770)) //nolint:gosec // the point of the test
	_, err := host.New(host.Options{CacheDir: dir, Compile: host.CompileOptions{InProcess: true}})
	require.ErrorContains(t, err, "may be written by others")
}

func TestATemporaryCacheIsPrivateAndGoesWithTheEngine(t *testing.T) {
	t.Parallel()
	e, err := host.New(host.Options{Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	stat, err := os.Stat(e.CacheDir())
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), stat.Mode().Perm())
	require.NoError(t, e.Close(context.Background()))
	_, err = os.Stat(e.CacheDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestManyWhoLoadTheSameModuleShareOneCompilation(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Compile: outside(t)})
	wasm := fixture(t, "echo")
	modules := make([]*host.Module, 16)
	var group sync.WaitGroup
	for i := range modules {
		group.Go(func() {
			m, err := e.Load(context.Background(), wasm)
			if err == nil {
				modules[i] = m
			}
		})
	}
	group.Wait()
	for _, m := range modules {
		require.NotNil(t, m)
		require.Same(t, modules[0], m)
	}
	cached, ok := e.Cached(modules[0].Report().Digest)
	require.True(t, ok)
	require.Same(t, modules[0], cached)
}

func TestNoMoreWorkersRunAtOnceThanAllowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := "mkdir lock || touch overlap; sleep 0.05; rmdir lock; exit 1"
	e := newEngine(t, host.Options{Compile: host.CompileOptions{Command: []string{"sh", "-c", "cd " + dir + " && " + script}, Concurrency: 1}})
	var group sync.WaitGroup
	for _, name := range []string{"echo", "noop", "meta", "log"} {
		wasm := fixture(t, name)
		group.Go(func() {
			if _, err := e.Load(context.Background(), wasm); err == nil {
				t.Error("a worker that fails compiled something")
			}
		})
	}
	group.Wait()
	_, err := os.Stat(filepath.Join(dir, "overlap"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestALoadThatNobodyWaitsForEndsForItsCaller(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Compile: host.CompileOptions{Command: []string{"sleep", "60"}, Timeout: 200 * time.Millisecond}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := e.Load(ctx, fixture(t, "echo"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnEvictedModuleRunsWhileItIsHeldAndIsFreedAfter(t *testing.T) {
	t.Parallel()
	e := newEngine(t, host.Options{Modules: 1})
	evict := func() {
		m := load(t, e, "echo")
		load(t, e, "noop")
		_, ok := e.Cached(m.Report().Digest)
		require.False(t, ok, "the newer one took its place")
		runtime.GC()
		require.Equal(t, host.Succeeded, m.Run(context.Background(), host.Attempt{Input: []byte("1")}).Kind)
		require.Zero(t, e.Freed())
		runtime.KeepAlive(m)
	}
	evict()
	require.Eventually(t, func() bool {
		runtime.GC()
		return e.Freed() == 1
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, host.Succeeded, load(t, e, "echo").Run(context.Background(), host.Attempt{Input: []byte("1")}).Kind, "it may come back")
}

func TestAClosedEngineRunsAndLoadsNothing(t *testing.T) {
	t.Parallel()
	e, err := host.New(host.Options{Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	m := load(t, e, "noop")
	require.NoError(t, e.Close(context.Background()))
	require.NoError(t, e.Close(context.Background()), "a second time does nothing")
	require.Equal(t, host.Failed, m.Run(context.Background(), host.Attempt{}).Kind)
	_, err = e.Load(context.Background(), fixture(t, "noop"))
	require.ErrorIs(t, err, host.ErrClosed)
}

func TestAnEngineIsNotClosedUnderARunningAttempt(t *testing.T) {
	t.Parallel()
	e, err := host.New(host.Options{Compile: host.CompileOptions{InProcess: true}})
	require.NoError(t, err)
	m := load(t, e, "heartbeat")
	began := make(chan struct{})
	var once sync.Once
	var bits uint32
	ended := make(chan host.Outcome)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ended <- m.Run(ctx, host.Attempt{Heartbeat: func() uint32 { once.Do(func() { close(began) }); return bits }})
	}()
	<-began
	short, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	require.ErrorIs(t, e.Close(short), context.DeadlineExceeded)
	cancel()
	require.Equal(t, host.Stopped, (<-ended).Kind)
	require.NoError(t, e.Close(context.Background()), "the second try finds it idle")
}
