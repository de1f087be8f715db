package taskq

import (
	"fmt"
	"time"
)

// signal is an error that asks for another time instead of reporting one.
type signal struct {
	delay   time.Duration
	snooze  bool
	consume bool
}

func (s *signal) Error() string {
	what := "retry after"
	if s.snooze {
		what = "snooze for"
	}
	return fmt.Sprintf("taskq: %s %s", what, s.delay)
}

// signalOf finds the signal that an error carries; nil if there is none.
func signalOf(err error) (found *signal) {
	walk(err, func(e error) {
		if s, ok := e.(*signal); ok && found == nil { //nolint:errorlint // walk visits what e wraps
			found = s
		}
	})
	return found
}

// Snooze is an error by which a handler says: not yet, run me again after d.
// It isn't a failure and spends no attempt. The host floors d (at a second, as
// shipped) and shortens what is above its own limit.
func Snooze(d time.Duration) error { return &signal{delay: d, snooze: true} }

// RetryAfter is an error by which a handler asks for a retry after d, exactly:
// the policy's backoff isn't used. The attempt is spent, and without one left
// the job fails.
func RetryAfter(d time.Duration) error { return &signal{delay: d, consume: true} }

// RetryAfterKeepBudget is RetryAfter with the attempt given back.
func RetryAfterKeepBudget(d time.Duration) error { return &signal{delay: d} }

// milliseconds rounds up: nobody is called earlier than asked for.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return ms
}
