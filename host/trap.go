package host

import (
	"errors"
	"reflect"
	"regexp"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host/rewrite"
)

// This file is all that knows how the engine words its errors. Its type of a
// trap can't be imported, so it's told by name; TestTrapTexts fails when a new
// version of the engine changes a name or a text.

const (
	engineTrapType  = "*wasmruntime.Error"
	stackOverflow   = "stack overflow"
	memoryTrap      = "out of bounds memory access"
	traceHeading    = "\nwasm stack trace:\n\t"
	traceSeparator  = "\n\t"
	traceTick       = rewrite.TickModule + "." + rewrite.TickName + "(i64) i64" + traceSeparator
	traceOmitted    = "... maybe followed by omitted frames"
	unreachableTrap = "unreachable"
)

// trapClasses gives the class of each text of a trap.
var trapClasses = map[string]string{
	unreachableTrap:                 abi.ClassTrapUnreachable,
	memoryTrap:                      abi.ClassTrapOutOfBounds,
	"integer divide by zero":        abi.ClassTrapDivideByZero,
	"integer overflow":              abi.ClassTrapIntegerOverflow,
	"invalid conversion to integer": abi.ClassTrapBadConversion,
	"invalid table access":          abi.ClassTrapTableAccess,
	"null reference":                abi.ClassTrapTableAccess,
	"indirect call type mismatch":   abi.ClassTrapSignatureMismatch,
	stackOverflow:                   abi.ClassGuestStackOverflow,
}

// trap is a guest's death by the engine.
type trap struct {
	class  string
	text   string
	frames []frame
	deep   bool   // there were more frames than the engine lists
	trace  string // as the engine wrote it
}

// frame is one guest function of a trace. Functions without a name are
// numbered, $7.
type frame string

func (f frame) named() bool { return f != "" && f[0] != '$' }

// trapOf gives the trap that err carries, if the engine says so. An error
// that merely reads like one isn't.
func trapOf(err error) (trap, bool) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if reflect.TypeOf(e).String() != engineTrapType {
			continue
		}
		class, ok := trapClasses[e.Error()]
		if !ok {
			class = abi.ClassGuestTrap // of a feature that isn't switched on
		}
		t := trap{class: class, text: e.Error()}
		t.readTrace(err.Error())
		return t, true
	}
	return trap{}, false
}

// segmentTrap recognises a data segment outside of memory, which the engine
// reports when it instantiates, as plain text.
func segmentTrap(err error) (trap, bool) {
	text := err.Error()
	if strings.HasPrefix(text, "data[") && strings.HasSuffix(text, "]: "+memoryTrap) {
		return trap{class: abi.ClassTrapOutOfBounds, text: memoryTrap, trace: text}, true
	}
	return trap{}, false
}

var frameShape = regexp.MustCompile(`^\.?(.+?)\([a-z0-9,]*\)(?: \(?[a-z0-9,]+\)?)?$`)

func (t *trap) readTrace(text string) {
	t.trace = traceText(text)
	if t.trace == "" {
		return
	}
	for line := range strings.SplitSeq(t.trace, "\n") {
		if line == traceOmitted {
			t.deep = true
			continue
		}
		if m := frameShape.FindStringSubmatch(line); m != nil {
			t.frames = append(t.frames, frame(m[1]))
		}
	}
}

// traceText gives the trace that an error's text carries, one frame a line.
func traceText(text string) string {
	_, trace, ok := strings.Cut(text, traceHeading)
	if !ok {
		return ""
	}
	trace = strings.TrimPrefix(trace, traceTick)
	trace = strings.ReplaceAll(trace, traceSeparator, "\n")
	trace, _ = abi.Text(trace, abi.MaxStack)
	return strings.TrimSpace(trace)
}

// recursive reports whether the trace is of calls that repeat deeper than the
// engine lists. C, Rust and Zig keep their stack in memory, so that exhausting
// it shows as an access out of bounds; only such a trace tells it from one.
func (t *trap) recursive() bool {
	if !t.deep {
		return false
	}
	seen := make(map[frame]bool, len(t.frames))
	for _, f := range t.frames {
		seen[f] = true
	}
	return 2*len(seen) <= len(t.frames)
}

// where names the first function of the trace that has a name.
func (t *trap) where() string {
	for _, f := range t.frames {
		if f.named() {
			return string(f)
		}
	}
	return ""
}
