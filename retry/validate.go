package retry

import (
	"errors"
	"fmt"
	"math"
)

// PolicyError is one rule that a policy or a setting breaks.
type PolicyError struct {
	Path string // dotted, down to the field
	Rule string // what must hold
}

// Error tells the path first.
func (e *PolicyError) Error() string { return e.Path + ": " + e.Rule }

// rules collects what is broken, in the order of the fields.
type rules struct {
	path string
	errs []error
}

func (r *rules) check(ok bool, field, format string, args ...any) {
	if ok {
		return
	}
	if r.path != "" {
		field = r.path + "." + field
	}
	r.errs = append(r.errs, &PolicyError{Path: field, Rule: fmt.Sprintf(format, args...)})
}

func (r *rules) err() error { return errors.Join(r.errs...) }

// Validate checks every rule of a policy. The error joins a [*PolicyError]
// for each that is broken, in the order of the fields; errors.As gives the
// first. Path is where the policy stands, such as "queues.q.retry", and may
// be empty.
//
// A time budget on a kind that ignores it is no error; see [Policy.Warnings].
func (p Policy) Validate(path string) error {
	r := rules{path: path}
	r.check(p.Kind.Valid(), "kind", "must be transient | indefinite | non_retryable")
	r.check(p.MaxAttempts >= 1 && p.MaxAttempts <= MostAttempts, "max_attempts", "must be 1..%d", MostAttempts)
	r.check(p.TimeBudget >= 0, "time_budget", "must be > 0")
	r.check(p.Backoff.Valid(), "backoff", "must be exponential | linear | fixed")
	r.check(p.Base > 0, "base", "must be > 0")
	r.check(finite(p.Multiplier), "multiplier", "must be a finite number")
	r.check(!finite(p.Multiplier) || p.Multiplier >= 1, "multiplier", "must be >= 1")
	r.check(p.Cap > 0, "cap", "must be > 0")
	r.check(p.Cap <= 0 || p.Cap >= p.Base, "cap", "must be >= base (%s)", p.Base)
	r.check(p.Jitter >= 0 && p.Jitter <= 1, "jitter", "must be 0..1")
	return r.err()
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Warnings are the sentences for a policy that is legal and may surprise.
// Deadline says whether the job has a schedule_to_close of its own.
func (p Policy) Warnings(deadline bool) []string {
	var out []string
	if p.Kind != Indefinite && p.TimeBudget > 0 {
		out = append(out, "time_budget is ignored: only the kind indefinite has one")
	}
	if p.Kind == Indefinite && p.TimeBudget == 0 && !deadline {
		out = append(out, "indefinite with neither a time_budget nor a deadline: a failing job is retried for ever")
	}
	return out
}
