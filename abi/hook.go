package abi

import "encoding/json"

// HookEvent says which end a hook is told.
type HookEvent string

// The ends that have hooks.
const (
	HookSuccess        HookEvent = "success"
	HookCancel         HookEvent = "cancel"
	HookRetryExhausted HookEvent = "retry_exhausted"
)

// HookInput is what a hook reads. Its answer is ignored.
type HookInput struct {
	Event      HookEvent       `json:"event"`
	Job        HookJob         `json:"job"`
	Result     json.RawMessage `json:"result,omitempty"` // a text's as a JSON string; other bytes are left out
	Failure    *Failure        `json:"failure,omitempty"`
	DeadReason string          `json:"dead_reason,omitempty"` // of retry_exhausted
}

// HookJob is the job whose end a hook is told.
type HookJob struct {
	ID      string            `json:"id"`
	Tenant  string            `json:"tenant"`
	Queue   string            `json:"queue"`
	Actor   string            `json:"actor"`
	Version int               `json:"version,omitempty"`
	Status  string            `json:"status"`
	Attempt int               `json:"attempt"`
	Headers map[string]string `json:"headers,omitempty"`
	Tags    []string          `json:"tags,omitempty"`
}
