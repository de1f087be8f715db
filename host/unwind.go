package host

import (
	"errors"
	"fmt"
	"time"
)

type unwindKind int

const (
	unwindSnooze unwindKind = iota + 1
	unwindRetryAfter
	unwindExit
	unwindPanic
	unwindViolation
	unwindResultTooLarge
	unwindHostCalls
	unwindFuel
	unwindStack
	unwindEnded // the attempt timed out or was stopped: the flag says which
)

// unwind leaves the guest from inside an import: the engine recovers the
// panic and hands it back as the error of the call. A guest can't make one,
// and the instance isn't closed by it. It never crosses the package.
type unwind struct {
	kind    unwindKind
	delay   time.Duration
	consume bool
	code    uint32
	text    string
}

// Error is never shown; the outcome is made of the fields.
func (u *unwind) Error() string { return "the host ended the call" }

func (x *execution) unwind(u unwind) {
	x.unwound = u
	panic(&x.unwound)
}

// violation ends the attempt because the guest broke the contract.
func (x *execution) violation(format string, args ...any) {
	x.unwind(unwind{kind: unwindViolation, text: x.calling + ": " + fmt.Sprintf(format, args...)})
}

// unwoundBy gives the unwind that err carries, if it is this execution's.
func (x *execution) unwoundBy(err error) *unwind {
	var u *unwind
	if errors.As(err, &u) && u == &x.unwound {
		return u
	}
	return nil
}
