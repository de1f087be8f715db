package taskq

import (
	"context"
	"encoding/json"
	"runtime/debug"
)

// Kinds of a policy and of an [Override].
const (
	Transient    = "transient"
	Indefinite   = "indefinite"
	NonRetryable = "non_retryable"
)

// ClassifyInput is a failed attempt as a classifier sees it. There is nothing
// else to look at: no clock, no randomness, no network.
type ClassifyInput struct {
	Failure      Failure         `json:"failure"`
	Attempt      int             `json:"attempt"`
	MaxAttempts  int             `json:"max_attempts"`
	RetryKind    string          `json:"retry_kind"`
	DeadlineMS   int64           `json:"deadline_ms"`    // Unix milliseconds; 0: none
	OccurredAtMS int64           `json:"occurred_at_ms"` // Unix milliseconds
	Policy       ClassifyPolicy  `json:"policy"`
	Settings     json.RawMessage `json:"settings"` // what the operator wrote under `with`
}

// ClassifyPolicy is what would come without an override.
type ClassifyPolicy struct {
	Kind        string `json:"kind"`
	NextDelayMS int64  `json:"next_delay_ms"`
}

// Override is a classifier's answer. A field that is left out keeps the
// policy's.
type Override struct {
	Kind    string   `json:"kind,omitempty"`
	DelayMS *int64   `json:"delay_ms,omitempty"` // used exactly, within the host's limits
	Spread  *float64 `json:"spread,omitempty"`   // 0..1: the host draws from [delay, delay·(1+spread)]
	Reason  string   `json:"reason,omitempty"`   // for the operator
}

const returnAnswer = 1

// Classify asks decide about one failure and returns what the entry has to
// return. Nil means no opinion: the next classifier is asked.
//
//	//go:wasmexport taskq_v1_classify
//	func classify() int32 { return taskq.Classify(decide) }
//
// An input that can't be read, and a panic, are a broken classifier: the host
// skips it.
func Classify(decide func(in ClassifyInput) *Override) int32 {
	return classify(current(), decide)
}

const returnBroken = -1

func classify(h host, decide func(ClassifyInput) *Override) (code int32) {
	defer func() {
		if v := recover(); v != nil {
			h.died(textOf(v), sinceThePanic(debug.Stack()))
			code = returnBroken
		}
	}()
	var in ClassifyInput
	if err := json.Unmarshal(h.input(), &in); err != nil {
		newLog(h).ErrorContext(context.Background(), "the classifier's input can't be read", "error", err)
		return returnBroken
	}
	answer := decide(in)
	if answer == nil {
		return returnOK
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		newLog(h).ErrorContext(context.Background(), "the answer can't be encoded", "error", err)
		return returnBroken
	}
	h.push(raw)
	return returnAnswer
}
