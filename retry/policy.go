package retry

import (
	"fmt"
	"strconv"
	"time"
)

// Kind says which budget a policy has.
type Kind string

const (
	// Transient failures are retried while attempt < MaxAttempts.
	Transient Kind = "transient"
	// Indefinite failures are retried until the deadline, if there is one.
	Indefinite Kind = "indefinite"
	// NonRetryable jobs have a single attempt.
	NonRetryable Kind = "non_retryable"
)

// Valid reports whether k is one of the three kinds.
func (k Kind) Valid() bool {
	return k == Transient || k == Indefinite || k == NonRetryable
}

// Backoff is the shape of the curve of delays.
type Backoff string

const (
	// Exponential grows by Multiplier with each failed attempt.
	Exponential Backoff = "exponential"
	// Linear grows by Base with each failed attempt.
	Linear Backoff = "linear"
	// Fixed is Base each time.
	Fixed Backoff = "fixed"
)

// Valid reports whether b is one of the three curves.
func (b Backoff) Valid() bool {
	return b == Exponential || b == Linear || b == Fixed
}

// MostAttempts is the highest MaxAttempts that a policy may have: what a
// smallint counts without overflow.
const MostAttempts = 32_766

// Policy says whether a failed attempt is repeated, and when. It is a value
// and comparable. The zero value isn't valid; begin with [Default].
type Policy struct {
	Kind        Kind
	MaxAttempts int           // executions, the first included; inert for Indefinite
	TimeBudget  time.Duration // Indefinite only: deadline counted from the insert; 0: none
	Backoff     Backoff
	Base        time.Duration // delay after the first failure
	Multiplier  float64       // counts for Exponential only
	Cap         time.Duration // longest delay of the curve
	Jitter      float64       // 0..1, the share of a delay that is random, up and down
}

// Default is the policy of a job for which nobody said anything.
func Default() Policy {
	return Policy{
		Kind: Transient, MaxAttempts: 3,
		Backoff: Exponential, Base: 5 * time.Second, Multiplier: 2, Cap: time.Hour, Jitter: 0.2,
	}
}

// Canonical gives the form in which a policy is shown and kept: an
// exponential curve that multiplies by exactly 1 is a constant, so it reads
// back as Fixed. Apply it after layers were merged, not before: a later layer
// may change the multiplier alone.
func (p Policy) Canonical() Policy {
	if p.Backoff == Exponential && p.Multiplier == 1 {
		p.Backoff = Fixed
	}
	return p
}

// Budget is the number of attempts for people to read. An indefinite policy
// has none, so its inert MaxAttempts isn't shown.
func (p Policy) Budget() string {
	switch p.Kind {
	case Indefinite:
		return "— (indefinite)"
	case NonRetryable:
		return "1"
	}
	return strconv.Itoa(p.MaxAttempts)
}

// String tells the policy in one line.
func (p Policy) String() string {
	p = p.Canonical()
	s := fmt.Sprintf("%s, attempts %s, %s from %s", p.Kind, p.Budget(), p.Backoff, p.Base)
	if p.Backoff == Exponential {
		s += " ×" + strconv.FormatFloat(p.Multiplier, 'g', -1, 64)
	}
	if p.Backoff != Fixed {
		s += " to " + p.Cap.String()
	}
	if p.Kind == Indefinite && p.TimeBudget > 0 {
		s += ", within " + p.TimeBudget.String()
	}
	return s + ", jitter " + strconv.FormatFloat(p.Jitter, 'g', -1, 64)
}
