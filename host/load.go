package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/tetratelabs/wazero"

	"github.com/taskq-host/taskq-host/host/rewrite"
	"github.com/taskq-host/taskq-host/host/scan"
)

// ErrClosed means that the engine was closed.
var ErrClosed = errors.New("the engine is closed")

// Cached gives a module that is loaded, by the digest of its upload.
func (e *Engine) Cached(digest string) (*Module, bool) { return e.modules.Get(digest) }

// Load makes a module ready to run: scanned, rewritten, compiled by a process
// of its own into the cache directory, and loaded from there. Whoever asks for
// the same bytes meanwhile waits for the same work.
//
// The error is a *Refusal when the module is at fault, ctx's cause when ctx
// ended first (the work goes on for others), and else the host's own trouble.
func (e *Engine) Load(ctx context.Context, wasm []byte) (*Module, error) {
	sum := sha256.Sum256(wasm)
	digest := hex.EncodeToString(sum[:])
	if m, ok := e.modules.Get(digest); ok {
		return m, nil
	}
	if !e.enter() {
		return nil, ErrClosed
	}
	result := e.loading.DoChan(digest, func() (any, error) {
		if !e.enter() {
			return nil, ErrClosed
		}
		defer e.leave()
		return e.load(context.WithoutCancel(ctx), wasm)
	})
	defer e.leave()
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*Module), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("load module: %w", context.Cause(ctx))
	}
}

// load does the work. It has a goroutine of its own, so a panic of the engine
// over some odd module would be the process's end.
func (e *Engine) load(ctx context.Context, wasm []byte) (m *Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("loading a module failed inside the host", "error", r, "stack", string(debug.Stack()))
			err = errors.New("the host failed to load the module")
		}
	}()
	scanned, report, err := e.inspect(wasm)
	if err != nil {
		return nil, err
	}
	if m, ok := e.modules.Get(report.Digest); ok {
		return m, nil // by who was just ahead
	}
	code, err := e.rewritten(wasm, scanned)
	if err != nil {
		return nil, err
	}
	if !e.compile.InProcess {
		if err := e.compileOutside(ctx, code); err != nil {
			return nil, err
		}
	}
	compiled, err := e.runtime.CompileModule(ctx, code)
	if err != nil {
		return nil, refuse(RuleCompileInvalid, "the module isn't valid: %v", err)
	}
	m = newModule(e, scanned, report, compiled)
	// The last holder of the module closes it, whoever that is: dropping it
	// from the cache frees nothing that still runs.
	runtime.AddCleanup(m, closeCompiled, compiledOf{e, compiled})
	e.modules.Add(report.Digest, m)
	return m, nil
}

// rewritten makes a scanned module stoppable and bounded. Its memory gets the
// highest maximum there is: the allocator enforces the attempt's limit and the
// guest's own, and can only note a denial that it is asked for.
func (e *Engine) rewritten(wasm []byte, scanned *scan.Module) ([]byte, error) {
	tableMax := e.scan.TableEntries
	if tableMax == 0 {
		tableMax = scan.DefaultLimits().TableEntries
	}
	unbounded := *scanned
	unbounded.Memories = slices.Clone(scanned.Memories)
	for i := range unbounded.Memories {
		unbounded.Memories[i].HasMax = false
	}
	code, err := e.rewriteFor(wasm, &unbounded, rewrite.Options{MemoryMaxPages: maxPages, TableMax: tableMax, Stack: callStack})
	if refusal := new(scan.Refusal); errors.As(err, &refusal) {
		return nil, &Refusal{Rule: refusal.Rule, Message: refusal.Error()}
	}
	return code, err
}

func (e *Engine) rewriteFor(wasm []byte, m *scan.Module, o rewrite.Options) ([]byte, error) {
	if e.interruption == InterruptByEngine {
		return rewrite.Interruptible(wasm, m, o)
	}
	metered, err := rewrite.Fuel(wasm, m, o)
	if err != nil {
		return nil, err
	}
	return metered.Code, nil
}

type compiledOf struct {
	engine   *Engine
	compiled wazero.CompiledModule
}

func closeCompiled(c compiledOf) {
	if !c.engine.enter() {
		return // the engine freed everything at once
	}
	defer c.engine.leave()
	if err := c.compiled.Close(context.Background()); err != nil {
		c.engine.log.Warn("a compiled module could not be freed", "error", err)
	}
	c.engine.freed.Add(1)
}
