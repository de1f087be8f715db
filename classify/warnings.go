package classify

import (
	"fmt"
	"slices"

	"github.com/taskq-host/taskq-host/retry"
)

// Claimer is a classifier that knows which kinds it may answer. One that
// doesn't say is taken for one that answers transient.
type Claimer interface {
	Claims() []retry.Kind
}

// Warnings are the sentences for an actor's registration: what is legal under
// this policy and may surprise.
func (l *Ladder) Warnings(p retry.Policy) []string {
	out := p.Warnings(false)
	if l.Rules.RetryOn != nil && l.Rules.NonRetryable != nil {
		out = append(out, "retry_on and non_retryable_errors are both set: retry_on alone counts")
	}
	for _, c := range l.Chain {
		claims := []retry.Kind{retry.Transient}
		if known, ok := c.(Claimer); ok {
			claims = known.Claims()
		}
		stops := p.Kind == retry.Indefinite && p.TimeBudget > 0 || l.Settings.MaxIndefiniteAge > 0
		if slices.Contains(claims, retry.Indefinite) && !stops {
			out = append(out, fmt.Sprintf("%s may answer indefinite and there is no time_budget: a job without a deadline is retried for ever", c.Name()))
		}
		lifts := func(k retry.Kind) bool { return k != retry.NonRetryable }
		if p.Kind == retry.NonRetryable && slices.ContainsFunc(claims, lifts) {
			out = append(out, fmt.Sprintf("%s may make this non_retryable actor retry", c.Name()))
		}
	}
	return out
}
