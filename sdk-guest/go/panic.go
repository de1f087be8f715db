package taskq

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
)

// reportPanic reports a recovered panic. On the host it doesn't return.
func reportPanic(h host, v any) int32 {
	stack := sinceThePanic(debug.Stack())
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

// sinceThePanic leaves out of a stack what recovered the panic, so that it
// begins where the panic did. The heading stays: the host knows a stack by it.
func sinceThePanic(stack []byte) []byte {
	heading, _, _ := bytes.Cut(stack, []byte("\n"))
	_, rest, ok := bytes.Cut(stack, []byte("\npanic("))
	if !ok {
		return stack
	}
	for range 2 { // its arguments, its place
		if _, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return stack
		}
	}
	return slices.Concat(heading, []byte("\n"), rest)
}

// textOf prints a panic's value. Its own methods may panic as well; fmt says
// so in the text.
func textOf(v any) string { return cut(fmt.Sprint(v), maxMessage) }
