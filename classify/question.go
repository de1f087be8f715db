package classify

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/retry"
)

// Question is what a classifier or a mapper is asked. It holds all that an
// answer may depend on, so an answer may be cached by it.
type Question struct {
	Failure    *abi.Failure // nil for a success, which only a mapper is asked about
	Attempt    int
	OnCurve    int // where on the policy's curve the next delay is, where not at Attempt; else 0
	Policy     retry.Policy
	Settings   retry.Settings
	Deadline   time.Time // zero: none. For information: it is arbitrated elsewhere
	OccurredAt time.Time // dates in the failure's headers count from here

	// Result is what a success pushed. Only a mapper sees it.
	Result []byte
}

// NextDelay is the curve's delay, undrawn, under the effective cap. It is
// computed when it is asked for, because native classifiers rarely do.
func (q Question) NextDelay() time.Duration {
	n := q.Attempt
	if q.OnCurve > 0 {
		n = q.OnCurve
	}
	return q.Policy.NextDelay(n, q.Settings.MaxRetryBackoff)
}

// record is the question as abi names its fields.
type record struct {
	Failure      *abi.Failure    `json:"failure,omitempty"`
	Attempt      int             `json:"attempt"`
	MaxAttempts  int             `json:"max_attempts"`
	RetryKind    retry.Kind      `json:"retry_kind"`
	DeadlineMS   int64           `json:"deadline_ms,omitempty"`
	OccurredAtMS int64           `json:"occurred_at_ms"`
	Policy       policyRecord    `json:"policy"`
	Result       json.RawMessage `json:"result,omitempty"`
	Settings     json.RawMessage `json:"settings,omitempty"`
}

type policyRecord struct {
	Kind        retry.Kind `json:"kind"`
	NextDelayMS int64      `json:"next_delay_ms"`
}

// Record writes the question as a module reads it. Settings is the module's
// own configuration, JSON or nil. A result that isn't JSON becomes a JSON
// string; one that isn't even text is left out.
func (q Question) Record(settings json.RawMessage) ([]byte, error) {
	r := record{
		Failure: q.Failure, Attempt: q.Attempt, MaxAttempts: q.Policy.MaxAttempts, RetryKind: q.Policy.Kind,
		OccurredAtMS: q.OccurredAt.UnixMilli(), Settings: settings,
		Policy: policyRecord{Kind: q.Policy.Kind, NextDelayMS: q.NextDelay().Milliseconds()},
	}
	if !q.Deadline.IsZero() {
		r.DeadlineMS = q.Deadline.UnixMilli()
	}
	switch {
	case len(q.Result) == 0:
	case json.Valid(q.Result):
		r.Result = q.Result
	case utf8.Valid(q.Result):
		r.Result, _ = json.Marshal(string(q.Result)) // a string always encodes
	}
	out, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("classifier input: %w", err)
	}
	return out, nil
}
