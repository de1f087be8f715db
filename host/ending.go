package host

import (
	"context"
	"sync/atomic"
	"time"
)

// How an execution came to its end. Whoever ends it first decides: a timeout
// whose flag was set a moment after the entry returned is no timeout, and a
// guest that died because we closed its module died of what closed it.
const (
	running int32 = iota
	timedOut
	stopped
	finished
)

// ending is the one flag that decides between a guest's own end, its timeout
// and its caller's cancellation; and the channel that tells the engine.
type ending struct {
	state atomic.Int32
	done  chan struct{}
	cause error // of stopped; written before done is closed
}

// end sets the flag and wakes whoever waits on done. It reports false when
// the execution had ended already.
func (e *ending) end(how int32, cause error) bool {
	if !e.state.CompareAndSwap(running, how) {
		return false
	}
	e.cause = cause
	close(e.done)
	return true
}

// finish closes the race: it returns finished when nobody ended the execution
// before, else who did; the cause is readable then.
func (e *ending) finish() int32 {
	if e.state.CompareAndSwap(running, finished) {
		return finished
	}
	how := e.state.Load()
	if how != finished {
		<-e.done
	}
	return how
}

func (e *ending) over() bool { return e.state.Load() != running }

// execution is the context of the engine's calls itself, which saves the
// chain of contexts and lets imports find their attempt without a lookup.
// The caller's values stay outside: some of them would reconfigure the engine.
var _ context.Context = (*execution)(nil)

// Deadline says that there is none: the timeout is the ending's own timer, so
// that the engine never decides by itself that it passed.
func (x *execution) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the attempt timed out or its caller stopped it.
func (x *execution) Done() <-chan struct{} { return x.done }

// Err is context.Canceled once Done is closed, whatever the reason: the
// reason is the ending's.
func (x *execution) Err() error {
	select {
	case <-x.done:
		return context.Canceled
	default:
		return nil
	}
}

type executionKey struct{}

// Value finds the execution behind contexts that the engine wrapped.
func (x *execution) Value(key any) any {
	if _, ok := key.(executionKey); ok {
		return x
	}
	return nil
}

func executionOf(ctx context.Context) *execution {
	if x, ok := ctx.(*execution); ok {
		return x
	}
	return ctx.Value(executionKey{}).(*execution)
}
