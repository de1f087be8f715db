package taskq

import (
	"fmt"
	"runtime/debug"
)

// reportPanic reports a recovered panic. On the host it doesn't return.
func reportPanic(h host, v any) int32 {
	stack := debug.Stack()
	if err, ok := v.(error); ok && signalOf(err) != nil { // panic(taskq.Snooze(d)) means what it says
		return report(h, err)
	}
	if !hasOwnType(v) {
		h.died(textOf(v), stack)
		return returnFailed
	}
	f := FailureOf(asError(v))
	f.Stack = cut(string(stack), maxStack)
	h.fail(f.record())
	h.panicked(f.Message)
	return returnFailed
}

// textOf prints a panic's value. Its own methods may panic as well; fmt says
// so in the text.
func textOf(v any) string { return cut(fmt.Sprint(v), maxMessage) }
