package taskq

// Error is a failure spelled out: its class is a name of your choosing, not
// that of a Go type. Only Class or Message is needed.
type Error struct {
	Class     string   // empty: that of Cause
	Ancestors []string // from specific to general; rules on them match this error too
	Message   string   // empty: that of Cause
	Permanent bool     // trying again can't help
	Retryable bool     // trying again may help, whatever the policy's kind; not with Permanent
	Details   any      // whatever encodes as JSON, at most 16 KiB
	Cause     error
}

// Error gives the message, and the cause's after it.
func (e *Error) Error() string {
	switch {
	case e.Cause == nil:
		return e.Message
	case e.Message == "":
		return e.Cause.Error()
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// TaskqClass gives the class; see [FailureOf].
func (e *Error) TaskqClass() string { return e.Class }

// TaskqAncestors gives the ancestors; see [FailureOf].
func (e *Error) TaskqAncestors() []string { return e.Ancestors }

// TaskqDetails gives the details; see [FailureOf].
func (e *Error) TaskqDetails() any { return e.Details }

func (e *Error) verdict() verdict {
	switch {
	case e.Permanent:
		return permanent
	case e.Retryable:
		return retryable
	}
	return undecided
}

type verdict int

const (
	undecided verdict = iota
	permanent
	retryable
)

// marked is an error with a verdict on it.
type marked struct {
	error
	says verdict
}

func (m *marked) Unwrap() error    { return m.error }
func (m *marked) verdict() verdict { return m.says }

// Permanent marks err: trying again can't help, so the job fails at once. It
// decides before the operator's classifiers are asked. Nil stays nil. Of
// several marks in a chain the outermost counts.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &marked{error: err, says: permanent}
}

// Retryable marks err: trying again may help. It lifts no budget. Otherwise as
// [Permanent].
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &marked{error: err, says: retryable}
}
