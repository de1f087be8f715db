package config

import (
	"fmt"
	"time"

	"github.com/taskq-host/taskq-host/retry"
)

// Lookup names a job's place: what [Config.Resolve] resolves for.
type Lookup struct {
	Tenant string
	Queue  string
	Actor  string

	// Description is the actor's own, from its module: the lowest layer above
	// what the host ships with.
	Description Patch
}

// Patch is what an actor's description or an enqueue says about how the job
// is run. A nil field inherits.
type Patch struct {
	Retry        RetryPatch     `koanf:"retry"`
	StartToClose *time.Duration `koanf:"start_to_close"` // 0: none
	Classifiers  []Classifier   `koanf:"classifiers"`    // only a description names them
}

// Inline is the repetitions inside one attempt.
type Inline struct {
	Attempts int
	Backoff  time.Duration // before each
}

// Resolved is how the jobs of one tenant, queue and actor are run. It is a
// value: copy it, cache it, keep it as the snapshot of an attempt.
type Resolved struct {
	Retry        retry.Policy
	StartToClose time.Duration // of one attempt; 0: none
	MaxPayload   Size
	TTLSucceeded time.Duration // 0: for ever
	DLQRetention time.Duration // 0: for ever

	Inline Inline

	// Classification and Classifiers are shared with the configuration: read only.
	Classification Classification
	Classifiers    []Classifier

	// Adjusted says, a sentence each, which wishes were cut down to what is
	// allowed: a ceiling, or a value that no longer fits to another layer's.
	Adjusted []string

	ceilings Ceilings
	from     [fieldCount]*origin
}

// origin is the layer that decided a field: a block of the configuration, or
// one of the three layers outside it.
type origin struct {
	at    path // of the block
	layer string
}

var (
	fromBuiltin     = &origin{layer: builtinLayer}
	fromDescription = &origin{layer: "description"}
	fromEnqueue     = &origin{layer: "enqueue"}
	fromHost        = &origin{at: path{"host"}}
)

// Resolve lays the layers over each other, key by key: built-in, the actor's
// description, defaults, the queue, the tenant's defaults, the tenant's queue,
// the actor's configuration; then the tenant's ceilings cut it down. The file
// was checked as a whole, so only a description can disagree with it: where
// it does, the configuration wins and Adjusted says so.
//
// It costs about a microsecond; a caller that resolves for each job may keep
// the result per lookup until the next reload.
func (c *Config) Resolve(l Lookup) Resolved {
	r := c.builtinResolved()
	r.apply(l.Description, fromDescription)
	for _, b := range c.layers.of(l) {
		r.applyBlock(b)
	}
	if r.Retry.Cap < r.Retry.Base {
		r.fitCap()
	}
	r.clamp(c.Tenants[l.Tenant].Ceilings)
	return r
}

// Override is Resolve's last layer, for an enqueue at the door: what doesn't
// hold under the resolved rest is refused, with its field named below at.
func (r Resolved) Override(at string, p Patch) (Resolved, error) {
	before := r.Retry
	r.apply(p, fromEnqueue)
	if r.Retry.Cap < r.Retry.Base {
		return Resolved{}, Errors{capProblem(joinDots(at, "retry"), p.Retry, r.Retry)}
	}
	if r.Retry != before {
		if problems := problemsOf(r.Retry.Validate(joinDots(at, "retry"))); problems != nil {
			return Resolved{}, problems
		}
	}
	r.clamp(r.ceilings)
	return r, nil
}

// Adjust is Override for a job that is claimed: its values were checked when
// it came, but the configuration may have changed since, so what no longer
// holds is corrected to the nearest legal value and named in Adjusted.
func (r Resolved) Adjust(p Patch) Resolved {
	r.apply(p, fromEnqueue)
	if r.Retry.Cap < r.Retry.Base {
		r.fitCap()
	}
	r.clamp(r.ceilings)
	return r
}

// fitCap makes base and cap agree by changing the one that the lower layer,
// or an older enqueue, brought along.
func (r *Resolved) fitCap() {
	fixed := r.Retry
	if o := r.from[fieldCap]; o == fromDescription || o == fromEnqueue {
		fixed.Cap = fixed.Base
		r.adjusted("retry.cap", FormatDuration(r.Retry.Cap), FormatDuration(fixed.Cap), "must be >= base")
	} else {
		fixed.Base = fixed.Cap
		r.adjusted("retry.base", FormatDuration(r.Retry.Base), FormatDuration(fixed.Base), "must be <= cap")
	}
	r.Retry = fixed
}

// clamp cuts the result down to the tenant's ceilings.
func (r *Resolved) clamp(c Ceilings) {
	r.ceilings = c
	if c.MaxAttempts > 0 && r.Retry.MaxAttempts > c.MaxAttempts {
		r.adjusted("retry.max_attempts", r.Retry.MaxAttempts, c.MaxAttempts, "the tenant's ceiling")
		r.Retry.MaxAttempts = c.MaxAttempts
	}
	if c.StartToClose > 0 && (r.StartToClose == 0 || r.StartToClose > c.StartToClose) {
		was := none
		if r.StartToClose > 0 {
			was = FormatDuration(r.StartToClose)
		}
		r.adjusted("execution.start_to_close", was, FormatDuration(c.StartToClose), "the tenant's ceiling")
		r.StartToClose = c.StartToClose
	}
}

func (r *Resolved) adjusted(key string, was, is any, why string) {
	// A fresh slice: the value was copied, its slice's array was not.
	r.Adjusted = append(r.Adjusted[:len(r.Adjusted):len(r.Adjusted)], fmt.Sprintf("%s: %v became %v (%s)", key, was, is, why))
}

// capProblem words the one rule between two keys so that it names the one
// which the block says.
func capProblem(at string, said RetryPatch, merged retry.Policy) Problem {
	if said.Cap == nil && said.Base != nil {
		return Problem{Path: at + ".base", Rule: "must be <= cap (" + FormatDuration(merged.Cap) + ")"}
	}
	return Problem{Path: at + ".cap", Rule: "must be >= base (" + FormatDuration(merged.Base) + ")"}
}

func joinDots(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
