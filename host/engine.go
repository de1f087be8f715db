package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sync/singleflight"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/scan"
)

// Options of an [Engine]. The zero value works: a private cache directory
// that is removed at the end, the limits of package abi.
type Options struct {
	Log hclog.Logger // nil: none

	// CacheDir holds compiled code, which is trusted: it must belong to this
	// user, and nobody else may write there. It's created if need be. Empty
	// means a temporary one.
	CacheDir string

	Limits       Limits // of an attempt that doesn't say; zero fields take DefaultLimits
	Interruption Interruption
	Scan         scan.Limits
	Compile      CompileOptions
	Modules      int // compiled modules kept in memory; 0 means 64
	Pool         PoolOptions

	Clock  func() time.Time // nil: time.Now
	Random io.Reader        // what guests get; nil: crypto/rand
}

// DefaultLimits are the limits of an attempt where nobody set others.
func DefaultLimits() Limits {
	return Limits{
		Memory:    64 << 20,
		Result:    abi.MaxResult,
		LogBytes:  abi.MaxLogBytes,
		LogPerSec: abi.MaxLogsPerSec,
		Stdio:     abi.MaxStdio,
		HostCalls: 100_000_000,
	}
}

func (l Limits) withDefaults(d Limits) Limits {
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.Result == 0 {
		l.Result = d.Result
	}
	if l.LogBytes == 0 {
		l.LogBytes = d.LogBytes
	}
	if l.LogPerSec == 0 {
		l.LogPerSec = d.LogPerSec
	}
	if l.Stdio == 0 {
		l.Stdio = d.Stdio
	}
	if l.HostCalls == 0 {
		l.HostCalls = d.HostCalls
	}
	if l.Fuel == 0 {
		l.Fuel = d.Fuel
	}
	return l
}

func (l Limits) check() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Memory", l.Memory}, {"Result", int64(l.Result)}, {"LogBytes", int64(l.LogBytes)},
		{"LogPerSec", int64(l.LogPerSec)}, {"Stdio", int64(l.Stdio)}, {"HostCalls", l.HostCalls}, {"Fuel", l.Fuel},
	} {
		if f.value < 0 {
			return fmt.Errorf("the limit %s is negative", f.name)
		}
	}
	return nil
}

const (
	defaultModules = 64
	maxPages       = 1 << 16 // all that 32 bits address
)

// Engine runs modules. It owns one runtime of the WebAssembly engine, whose
// compiled modules and host imports all attempts share.
type Engine struct {
	log          hclog.Logger
	limits       Limits
	scan         scan.Limits
	compile      CompileOptions
	interruption Interruption
	clock        func() time.Time
	epoch        time.Time // when the guests' monotonic clock began
	random       io.Reader

	cacheDir  string
	ownsCache bool
	cache     wazero.CompilationCache
	runtime   wazero.Runtime
	memories  *memoryPool
	pool      *slotPool // nil: every attempt gets an instance of its own

	modules *moduleCache // by digest of the upload
	loading singleflight.Group
	slots   chan struct{} // compilations at once
	freed   atomic.Int64  // compiled modules that nobody held any more

	mu     sync.Mutex
	closed bool
	inside int           // attempts and loads under way
	idle   chan struct{} // closed when the last of them left a closed engine

	releasing sync.Once
}

// New makes an engine. The caller closes it.
func New(o Options) (*Engine, error) {
	if err := o.Limits.check(); err != nil {
		return nil, fmt.Errorf("host options: %w", err)
	}
	if o.Interruption != InterruptByFuel && o.Interruption != InterruptByEngine {
		return nil, fmt.Errorf("host options: there is no Interruption %d", o.Interruption)
	}
	if o.Modules < 0 {
		return nil, errors.New("host options: Modules is negative")
	}
	compile, err := o.Compile.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("host options: %w", err)
	}
	e := &Engine{
		log: o.Log, limits: o.Limits.withDefaults(DefaultLimits()), scan: o.Scan, compile: compile,
		interruption: o.Interruption, clock: o.Clock, random: o.Random, cacheDir: o.CacheDir,
		memories: newMemoryPool(64 * runtime.GOMAXPROCS(0)),
		slots:    make(chan struct{}, compile.Concurrency),
		idle:     make(chan struct{}),
	}
	pool, err := o.Pool.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("host options: %w", err)
	}
	e.pool = newSlotPool(e, pool)
	if e.log == nil {
		e.log = hclog.NewNullLogger()
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	if e.random == nil {
		e.random = rand.Reader
	}
	e.epoch = e.clock()
	if o.Modules == 0 {
		o.Modules = defaultModules
	}
	if e.modules, err = newModuleCache(o.Modules, e.dropped); err != nil {
		return nil, fmt.Errorf("host options: the number of Modules: %w", err)
	}
	if err := e.open(); err != nil {
		return nil, err
	}
	return e, nil
}

// dropped is told of every module that the cache drops.
func (e *Engine) dropped(m *Module) {
	m.retired.Store(true)
	e.pool.forget(m)
}

// open makes what needs closing.
func (e *Engine) open() (err error) {
	if e.cacheDir == "" {
		if e.cacheDir, err = os.MkdirTemp("", "taskq-host-cache-"); err != nil {
			return fmt.Errorf("make a cache directory: %w", err)
		}
		e.ownsCache = true
	}
	if e.cacheDir, err = filepath.Abs(e.cacheDir); err != nil { // the worker may have another directory
		return fmt.Errorf("find the cache directory: %w", err)
	}
	ctx := context.Background()
	defer func() {
		if err != nil {
			err = errors.Join(err, e.release(ctx))
		}
	}()
	if err := privateDir(e.cacheDir); err != nil {
		return err
	}
	if e.cache, err = wazero.NewCompilationCacheWithDir(e.cacheDir); err != nil {
		return fmt.Errorf("open the compilation cache: %w", err)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig(e.cache, e.interruption))
	if err := instantiateTick(ctx, e.runtime); err != nil {
		return fmt.Errorf("instantiate the tick: %w", err)
	}
	return instantiateImports(ctx, e.runtime)
}

// runtimeConfig is the same in the host and in its compile worker, else the
// one would not find what the other compiled. The memory limit is an
// attempt's and enforced by its allocator, which sees what was denied; the
// engine's own would deny unseen.
func runtimeConfig(cache wazero.CompilationCache, by Interruption) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCloseOnContextDone(by == InterruptByEngine).
		WithMemoryLimitPages(maxPages).
		WithMemoryCapacityFromMax(false).
		WithDebugInfoEnabled(false).
		WithCustomSections(false).
		WithCompilationCache(cache)
}

// enter counts an attempt or a load; false means that the engine is closed.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.inside++
	return true
}

func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inside--; e.closed && e.inside == 0 {
		close(e.idle)
	}
}

// Close waits until no attempt and no load is under way, then frees
// everything. If ctx ends first, nothing is freed and ctx's error returned:
// code that runs must not lose its memory; Close may be called again then. New
// attempts and loads fail from the first call on.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		if e.inside == 0 {
			close(e.idle)
		}
	}
	e.mu.Unlock()
	select {
	case <-e.idle:
	case <-ctx.Done():
		return fmt.Errorf("close the engine: attempts are still running: %w", ctx.Err())
	}
	var err error
	e.releasing.Do(func() { err = e.release(ctx) })
	return err
}

func (e *Engine) release(ctx context.Context) error {
	var errs []error
	e.modules.Purge()
	if e.runtime != nil {
		errs = append(errs, e.runtime.Close(ctx))
	}
	if e.cache != nil {
		errs = append(errs, e.cache.Close(ctx))
	}
	e.memories.close()
	if e.ownsCache {
		errs = append(errs, os.RemoveAll(e.cacheDir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the engine: %w", err)
	}
	return nil
}
