package retry

import "fmt"

// DeadReason says why a job ended as a dead letter. The numbers are stored:
// a new reason is added at the end.
type DeadReason int16

const (
	// NotDead is the zero value.
	NotDead DeadReason = iota
	// Exhausted means: the budget of attempts is spent.
	Exhausted
	// DeadNonRetryable means: a mark, a rule or the policy's kind forbade a retry,
	// or the failure is of a class that nobody may repeat.
	DeadNonRetryable
	// DeadlinePassed means: schedule_to_close, start_by or max_indefinite_age.
	DeadlinePassed
	// CrashExhausted means: a crash, or a stop of the worker, without a budget left.
	CrashExhausted
	// PayloadInvalid means: the payload doesn't fit the actor's schema.
	PayloadInvalid
	// Unroutable means: there is no actor for the job.
	Unroutable
	// VersionMismatch means: the version that the job asks for is gone.
	VersionMismatch
	// ResultTooLarge means: the result is above its limit.
	ResultTooLarge
	// RetryBudget means: the tenant's budget of retries is spent.
	RetryBudget
)

var deadReasons = [...]string{
	"", "exhausted", "non_retryable", "deadline", "crash_exhausted", "payload_invalid",
	"unroutable", "version_mismatch", "result_too_large", "retry_budget",
}

// DeadReasons are all reasons, in the order of their numbers.
func DeadReasons() []DeadReason {
	out := make([]DeadReason, 0, len(deadReasons)-1)
	for i := range deadReasons[1:] {
		out = append(out, DeadReason(i+1))
	}
	return out
}

// String gives the reason's name, empty for NotDead.
func (r DeadReason) String() string {
	if r < 0 || int(r) >= len(deadReasons) {
		return fmt.Sprintf("DeadReason(%d)", int16(r))
	}
	return deadReasons[r]
}

// ParseDeadReason reads a name as String writes it.
func ParseDeadReason(s string) (DeadReason, error) {
	for i, name := range deadReasons {
		if s == name {
			return DeadReason(i), nil
		}
	}
	return NotDead, fmt.Errorf("unknown dead reason %q", s)
}

// MarshalText writes the name.
func (r DeadReason) MarshalText() ([]byte, error) {
	if r < 0 || int(r) >= len(deadReasons) {
		return nil, fmt.Errorf("unknown dead reason %d", int16(r))
	}
	return []byte(deadReasons[r]), nil
}

// UnmarshalText reads a name.
func (r *DeadReason) UnmarshalText(text []byte) (err error) {
	*r, err = ParseDeadReason(string(text))
	return err
}
