package classify

import (
	"context"
	"encoding/json"
	"time"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// RateLimitAware is the name of the built-in classifier that waits for as
// long as a server asked.
const RateLimitAware = "builtin:rate_limit_aware"

// rateLimitAware claims what says "too many": the host's own rate limit, HTTP
// status 429, and a class named RateLimitError.
type rateLimitAware struct {
	kind   retry.Kind // empty: never claims
	spread float64
}

const (
	rateLimitError  = "RateLimitError"
	sourceRateLimit = "rate_limit"
)

func newRateLimitAware(raw json.RawMessage) (Classifier, error) {
	b := readBlock(raw)
	claim, spread := string(retry.Indefinite), 0.0
	const want = "indefinite | transient | none"
	b.read("claim_kind", want, &claim)
	b.read("spread", "0..1", &spread)
	if !(spread >= 0 && spread <= 1) {
		b.refuse("spread", "must be 0..1")
	}
	r := &rateLimitAware{spread: spread}
	switch claim {
	case string(retry.Indefinite), string(retry.Transient):
		r.kind = retry.Kind(claim)
	case "none":
	default:
		b.refuse("claim_kind", "must be "+want)
	}
	return r, b.done()
}

func (*rateLimitAware) Name() string { return RateLimitAware }

// Claims is for [Ladder.Warnings].
func (r *rateLimitAware) Claims() []retry.Kind {
	if r.kind == "" {
		return nil
	}
	return []retry.Kind{r.kind}
}

func (r *rateLimitAware) Classify(_ context.Context, q Question) (*Override, error) {
	f := q.Failure
	if r.kind == "" || f == nil {
		return nil, nil
	}
	own, denied := ownDenial(f)
	throttled := f.HTTP != nil && f.HTTP.Status == 429
	if !denied && !throttled && !anyName(f, func(n string) bool { return n == rateLimitError }) {
		return nil, nil
	}
	o := &Override{Kind: r.kind, Reason: "rate limited"}
	delay, asked := own, own > 0
	if f.HTTP != nil {
		if d, ok := retryAfter(f.HTTP.Headers, q.OccurredAt); ok {
			delay, asked = d, true
		}
	}
	if asked {
		o.Delay, o.Spread = &delay, r.spread
	}
	return o, nil
}

// ownDenial recognises the host's own limiter, which says itself when to come
// back; 0 if it doesn't know. A denied reservation is no rate limit: waiting
// doesn't help there.
func ownDenial(f *abi.Failure) (time.Duration, bool) {
	if f.Class != abi.ClassLimitDenied || len(f.Details) == 0 {
		return 0, false
	}
	var d struct {
		Source       string `json:"source"`
		RetryAfterMS int64  `json:"retry_after_ms"`
	}
	if json.Unmarshal(f.Details, &d) != nil || d.Source != sourceRateLimit {
		return 0, false
	}
	return abi.Milliseconds(max(d.RetryAfterMS, 0)), true
}
