// A classifier in Go: builtin:rate_limit_aware once more, as a module. It
// claims what says "too many" and waits as long as the server asked.
package main

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

//go:wasmexport taskq_v1_classify
func classify() int32 { return taskq.Classify(decide) }

func main() {}

// Settings are what a chain has under `with`.
type Settings struct {
	ClaimKind string   `json:"claim_kind"` // indefinite, transient or none
	Spread    *float64 `json:"spread"`
}

func decide(in taskq.ClassifyInput) *taskq.Override {
	settings := Settings{ClaimKind: taskq.Indefinite}
	if len(in.Settings) > 0 && json.Unmarshal(in.Settings, &settings) != nil {
		panic("settings: must be {claim_kind, spread}")
	}
	switch settings.ClaimKind {
	case taskq.Indefinite, taskq.Transient:
	case "none":
		return nil
	default:
		panic("settings: claim_kind must be indefinite, transient or none")
	}
	f := &in.Failure
	own, denied := ownDenial(f)
	throttled := f.HTTP != nil && f.HTTP.Status == 429
	named := slices.ContainsFunc(append([]string{f.Class}, f.Ancestors...), func(class string) bool { return baseName(class) == "RateLimitError" })
	if !denied && !throttled && !named {
		return nil
	}
	o := &taskq.Override{Kind: settings.ClaimKind, Reason: "rate limited"}
	wait, asked := own, own > 0
	if f.HTTP != nil {
		if d, ok := taskq.RetryAfterOf(f.HTTP.Headers, time.UnixMilli(in.OccurredAtMS)); ok {
			wait, asked = d, true
		}
	}
	if asked {
		ms := max(wait.Milliseconds(), 1)
		o.DelayMS, o.Spread = &ms, settings.Spread
	}
	return o
}

// ownDenial is the host's own limiter. A denied reservation is no rate limit.
func ownDenial(f *taskq.Failure) (time.Duration, bool) {
	var d struct {
		Source       string `json:"source"`
		RetryAfterMS int64  `json:"retry_after_ms"`
	}
	if f.Class != "LimitDenied" || json.Unmarshal(f.Details, &d) != nil || d.Source != "rate_limit" {
		return 0, false
	}
	return time.Duration(d.RetryAfterMS) * time.Millisecond, true
}

// baseName is a class without pointer marks, qualifier and type parameters.
func baseName(class string) string {
	name := strings.TrimLeft(class, "*&")
	if i := strings.IndexAny(name, "<["); i > 0 {
		name = name[:i]
	}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return name[strings.LastIndexAny(name, `./\$`)+1:]
}
