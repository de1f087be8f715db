package retry

import (
	"errors"
	"time"
)

// Plan is a policy's delays spelled out, before anything failed.
type Plan struct {
	Policy Policy         `json:"policy"`
	Delays []PlannedDelay `json:"delays"`
	// MaxAttemptsFor is the smallest max_attempts whose undrawn delays together
	// last as long as the window that was asked for; nil if none was asked for,
	// or if no legal number does.
	MaxAttemptsFor *int `json:"max_attempts_for"`
}

// PlannedDelay is the wait after one failed attempt. All of it is whole
// milliseconds, rounded down.
type PlannedDelay struct {
	Attempt int   `json:"attempt"`
	DelayMS int64 `json:"delay_ms"` // undrawn
	LowMS   int64 `json:"low_ms"`   // of the band that it is drawn from
	HighMS  int64 `json:"high_ms"`
	TotalMS int64 `json:"total_ms"` // of the undrawn delays up to here
}

// shownIndefinitely is how many delays of a policy without a budget are shown.
const shownIndefinitely = 10

// NewPlan plans failed attempts 1..attempts, whatever the policy's budget is;
// 0 means as many as the budget has, and 10 for an indefinite one. Cover is
// the window for MaxAttemptsFor; 0 asks for none. The error joins
// [*PolicyError] values.
func NewPlan(p Policy, maxRetryBackoff time.Duration, attempts int, cover time.Duration) (*Plan, error) {
	r := rules{}
	r.check(maxRetryBackoff > 0, "max_retry_backoff", "must be > 0")
	r.check(attempts >= 0 && attempts <= MostAttempts, "attempts", "must be 1..%d", MostAttempts)
	r.check(cover >= 0, "cover", "must be > 0")
	if err := errors.Join(p.Validate(""), r.err()); err != nil {
		return nil, err
	}
	if attempts == 0 {
		attempts = p.planned()
	}
	plan := &Plan{Policy: p.Canonical(), Delays: make([]PlannedDelay, 0, attempts)}
	totalMS := int64(0)
	for n := 1; n <= attempts; n++ {
		delay := p.NextDelay(n, maxRetryBackoff)
		band := p.Band(n, maxRetryBackoff)
		totalMS += delay.Milliseconds()
		plan.Delays = append(plan.Delays, PlannedDelay{
			Attempt: n, DelayMS: delay.Milliseconds(),
			LowMS: band.Low.Milliseconds(), HighMS: band.High.Milliseconds(), TotalMS: totalMS,
		})
	}
	if n, ok := p.attemptsFor(cover, maxRetryBackoff); ok {
		plan.MaxAttemptsFor = &n
	}
	return plan, nil
}

func (p Policy) attemptsFor(cover, maxRetryBackoff time.Duration) (int, bool) {
	left := cover
	for n := 1; cover > 0 && n <= MostAttempts; n++ {
		if left <= 0 {
			return n, true
		}
		left -= p.NextDelay(n, maxRetryBackoff)
	}
	return 0, false
}

func (p Policy) planned() int {
	switch p.Kind {
	case Indefinite:
		return shownIndefinitely
	case NonRetryable:
		return 1
	}
	return p.MaxAttempts
}
