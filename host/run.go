package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/taskq-host/taskq-host/abi"
)

// Run executes one entry of the module on the calling goroutine, in an
// instance of its own, and says what became of it. When it returns, the guest
// has stopped for certain.
//
// It never panics: what goes wrong in the host itself is a failure of class
// HostFault, with the text in the operator's log only. Cancelling ctx stops
// the guest; the outcome is Stopped then, with the context's cause.
//
// It may be called from any number of goroutines at once.
func (m *Module) Run(ctx context.Context, a Attempt) Outcome {
	x := m.newExecution(&a)
	out := x.guard(func() Outcome { return x.run(ctx) })
	out.Usage = x.usage()
	out.Warnings = x.warnings
	out.Stderr = x.stderr.end.text()
	if !x.command() || out.Kind != Succeeded || x.pushed {
		out.Stdout = x.stdout.end.text()
	}
	return out
}

func (m *Module) newExecution(a *Attempt) *execution {
	if a.Kind == "" {
		a.Kind = abi.KindRun
	}
	x := &execution{
		module:  m,
		attempt: a,
		limits:  a.Limits.withDefaults(m.engine.limits),
		clock:   newClock(m.engine, a.Kind == abi.KindClassify),
		stage:   stageInit,
	}
	x.memory = &linearMemory{}
	x.done = make(chan struct{})
	x.started = x.now()
	x.logs = newLogMeter(x.limits, x.started)
	x.stdout.end.limit, x.stderr.end.limit = x.limits.Stdio, x.limits.Stdio
	x.stderr.emit = func(line []byte) { x.log(abi.LevelInfo, line, "stderr") }
	if x.command() {
		x.stderr.control = x.takeControl
		x.stdin = a.Input
	} else {
		x.stdout.emit = func(line []byte) { x.log(abi.LevelInfo, line, "stdout") }
	}
	return x
}

// guard turns a panic of the host's own code into a HostFault.
func (x *execution) guard(run func() Outcome) (out Outcome) {
	defer func() {
		if r := recover(); r != nil {
			out = x.hostFault(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	return run()
}

// run is everything between the caller and the outcome. The guest runs inside
// execute and nowhere else.
func (x *execution) run(ctx context.Context) Outcome {
	e := x.module.engine
	if !e.enter() {
		return x.hostFault("the engine is closed")
	}
	defer e.leave()
	if ctx.Err() != nil {
		return Outcome{Kind: Stopped, Cause: context.Cause(ctx)}
	}
	entry, ok := x.module.entries[x.attempt.Kind]
	if !ok {
		return failed(failure(abi.ClassAbiViolation, abi.OriginGuest,
			fmt.Sprintf("the module has no entry for %s", x.attempt.Kind)))
	}
	x.memory.limit = x.module.memoryLimit(x.limits.Memory)
	if x.module.report.MemoryMin > x.memory.limit {
		x.memory.denied = true
		return failed(x.markInit(x.starved(failure(abi.ClassGuestOutOfMemory, abi.OriginLimit,
			fmt.Sprintf("the module begins with %d bytes of memory", x.module.report.MemoryMin)))))
	}
	unwatch := x.watch(ctx)
	defer unwatch()
	value, err := x.execute(entry)
	how := x.finish()

	x.stdout.flush()
	x.stderr.flush()
	x.tellProgress(true)
	return x.settle(how, value, err)
}

// watch ends the execution at its timeout and when ctx ends. Neither touches
// the instance: the engine sees the closed channel, and imports the flag.
func (x *execution) watch(ctx context.Context) (unwatch func()) {
	var timer *time.Timer
	switch {
	case x.attempt.Timeout < 0:
		x.end(timedOut, nil)
	case x.attempt.Timeout > 0:
		timer = time.AfterFunc(x.attempt.Timeout, func() { x.end(timedOut, nil) })
	}
	detach := func() bool { return true }
	if ctx.Done() != nil {
		detach = context.AfterFunc(ctx, func() { x.end(stopped, context.Cause(ctx)) })
	}
	return func() {
		if timer != nil {
			timer.Stop()
		}
		detach()
	}
}

// execute takes an instance in which all has run that comes before attempts,
// or makes one, and calls the entry. The instance is given back or closed here,
// by the goroutine that ran it.
func (x *execution) execute(entry string) (value int32, err error) {
	s, err := x.begin()
	if s == nil {
		return 0, err
	}
	sound := false // should the host panic
	defer func() { x.leave(s, sound) }()
	if err == nil {
		value, err = x.attend(entry)
	}
	sound = x.sound(err)
	return value, err
}

// errOver means that the attempt was over before its entry was called; the
// ending says why.
var errOver = errors.New("the attempt is over")

// attend is the attempt itself.
func (x *execution) attend(entry string) (int32, error) {
	x.stage = stageOf(x.attempt.Kind)
	if x.module.resumes {
		if _, err := x.call(abi.ExportResume); err != nil {
			return 0, err
		}
	}
	if x.over() {
		return 0, errOver
	}
	x.entered = true
	x.startup = x.now().Sub(x.started)
	return x.call(entry)
}

// call calls an export that takes nothing; it gives 0 for one that returns
// nothing.
func (x *execution) call(name string) (int32, error) {
	var stack [1]uint64
	if err := x.slot.function(name).CallWithStack(x, stack[:]); err != nil {
		return 0, err
	}
	return int32(uint32(stack[0])), nil
}

// preludeError is taskq_v1_warm returning something else than 0.
type preludeError struct {
	name  string
	value int32
}

func (e *preludeError) Error() string { return fmt.Sprintf("%s returned %d", e.name, e.value) }

func asPrelude(err error) (*preludeError, bool) {
	var p *preludeError
	ok := errors.As(err, &p)
	return p, ok
}

func (x *execution) usage() Usage {
	duration := x.now().Sub(x.started)
	startup := x.startup
	if !x.entered {
		startup = duration
	}
	return Usage{
		Duration:   duration,
		Startup:    startup,
		PeakMemory: x.memory.peak,
		Fuel:       x.fuel,
		HostCalls:  x.calls,
		LogBytes:   x.logs.bytes,
		LogDropped: x.logs.dropped,
	}
}
