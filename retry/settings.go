package retry

import "time"

// Settings are the bounds that the host sets for every policy and signal.
type Settings struct {
	MaxRetryBackoff  time.Duration // no retry waits longer, computed or explicit
	MinDeferral      time.Duration // no explicit delay is shorter
	MaxDeferral      time.Duration // a guest's snooze or retry_after is shortened to it
	MaxIndefiniteAge time.Duration // deadline of what is retried as indefinite, from the job's creation; 0: none
}

// DefaultSettings are those that the host ships with.
func DefaultSettings() Settings {
	return Settings{MaxRetryBackoff: 24 * time.Hour, MinDeferral: time.Second, MaxDeferral: 30 * 24 * time.Hour}
}

// Validate checks every rule, as [Policy.Validate] does.
func (s Settings) Validate(path string) error {
	r := rules{path: path}
	r.check(s.MinDeferral > 0, "min_deferral", "must be > 0")
	r.check(s.MaxRetryBackoff >= s.MinDeferral, "max_retry_backoff", "must be >= min_deferral (%s)", s.MinDeferral)
	r.check(s.MaxDeferral >= s.MinDeferral, "max_deferral", "must be >= min_deferral (%s)", s.MinDeferral)
	r.check(s.MaxIndefiniteAge >= 0, "max_indefinite_age", "must be > 0")
	return r.err()
}

// Explicit fits a delay that a classifier asked for into the bounds: clamped
// first, then floored.
func (s Settings) Explicit(d time.Duration) time.Duration {
	return max(min(d, s.MaxRetryBackoff), s.MinDeferral)
}

// Deferral fits the delay of a guest's signal: it isn't clamped like a retry,
// but shortened to MaxDeferral, and shortened says so.
func (s Settings) Deferral(d time.Duration) (fitted time.Duration, shortened bool) {
	return max(min(d, s.MaxDeferral), s.MinDeferral), d > s.MaxDeferral
}
