package taskq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// maxResult is the host's limit of a result, in bytes.
const maxResult = 64 << 10

// Trial is one attempt in memory, for a handler's tests. The zero value is a
// first attempt with the payload null.
type Trial struct {
	Payload any // encoded as JSON, unless it is Raw or json.RawMessage
	Facts   Facts
	// Heartbeat answers the handler's heartbeats. Nil answers 0.
	Heartbeat func() Signals
}

// OutcomeKind says how an attempt ended.
type OutcomeKind string

// How an attempt ends; the names are those of the host.
const (
	Succeeded  OutcomeKind = "succeeded"
	Failed     OutcomeKind = "failed"
	Snoozed    OutcomeKind = "snoozed"
	RetryLater OutcomeKind = "retry_after"
)

// Outcome is what the host would have recorded.
type Outcome struct {
	Kind          OutcomeKind
	Result        json.RawMessage // Succeeded
	Failure       *Failure        // Failed
	Delay         time.Duration   // Snoozed, RetryLater
	ConsumeBudget bool            // RetryLater
	Logs          []LogLine
	Progress      []json.RawMessage
}

// LogLine is one line of the log; Fields has all of its attributes.
type LogLine struct {
	Level   string // trace, debug, info, warn, error
	Message string
	Fields  map[string]any
}

// Try runs handle once, in memory, the way the host would: with the payload
// encoded and decoded, errors turned into records, panics recovered. The
// handler's context is derived from ctx. A payload that can't be encoded is
// the test's mistake, and panics.
func Try[In, Out any](ctx context.Context, handle func(context.Context, In) (Out, error), t Trial) Outcome {
	h := &memory{payload: encodePayload(t.Payload), trial: t}
	serve(ctx, h, jsonBody(handle))
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out
}

func encodePayload(payload any) []byte {
	switch p := payload.(type) {
	case Raw:
		return p
	case json.RawMessage:
		return p
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("taskq.Try: the payload can't be encoded: %v", err))
	}
	return raw
}

// memory is a host that only remembers.
type memory struct {
	payload []byte
	trial   Trial

	mu  sync.Mutex // a handler may log from several goroutines
	out Outcome
}

func (m *memory) input() []byte { return bytes.Clone(m.payload) }

func (m *memory) meta() []byte {
	facts := m.trial.Facts
	if facts.Kind == "" {
		facts.Kind = "run"
	}
	facts.Attempt = max(facts.Attempt, 1)
	facts.MaxAttempts = max(facts.MaxAttempts, facts.Attempt)
	raw, err := json.Marshal(facts)
	if err != nil {
		panic(fmt.Sprintf("taskq.Try: the facts can't be encoded: %v", err))
	}
	return raw
}

func (m *memory) end(out Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Logs, out.Progress = m.out.Logs, m.out.Progress
	m.out = out
}

func (m *memory) push(result []byte) {
	if len(result) > maxResult {
		m.end(Outcome{Kind: Failed, Failure: &Failure{
			Class: "ResultTooLarge", Ancestors: []string{"AlwaysTerminal"},
			Message: fmt.Sprintf("the result is longer than %d bytes", maxResult), Origin: "limit",
		}})
		return
	}
	m.end(Outcome{Kind: Succeeded, Result: result})
}

func (m *memory) fail(record []byte) {
	f := &Failure{}
	if err := json.Unmarshal(record, f); err != nil {
		panic(fmt.Sprintf("taskq: a failure record that can't be read: %v", err))
	}
	f.Origin = "guest"
	m.end(Outcome{Kind: Failed, Failure: f})
}

func (m *memory) snooze(ms int64) {
	m.end(Outcome{Kind: Snoozed, Delay: time.Duration(ms) * time.Millisecond})
}

func (m *memory) retryAfter(ms int64, consume bool) {
	m.end(Outcome{Kind: RetryLater, Delay: time.Duration(ms) * time.Millisecond, ConsumeBudget: consume})
}

func (m *memory) log(level int32, text []byte) {
	line := LogLine{Level: levelNames[level], Fields: map[string]any{}}
	if err := json.Unmarshal(text, &line.Fields); err != nil {
		line.Message = string(text)
	} else if message, ok := line.Fields["msg"].(string); ok {
		line.Message = message
		delete(line.Fields, "msg")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out.Logs = append(m.out.Logs, line)
}

func (m *memory) heartbeat() uint32 {
	if m.trial.Heartbeat == nil {
		return 0
	}
	return uint32(m.trial.Heartbeat())
}

func (m *memory) progress(record []byte) int32 {
	if len(record) > 16<<10 {
		return codeTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out.Progress = append(m.out.Progress, bytes.Clone(record))
	return 0
}

// panicked comes after fail: the record gets what the host adds.
func (m *memory) panicked(string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.out.Failure
	f.Origin = "trap"
	f.Ancestors = append(f.Ancestors, "GuestPanic", "GuestDeath")
}

func (m *memory) died(text string, goroutine []byte) {
	m.end(Outcome{Kind: Failed, Failure: &Failure{
		Class: "GuestPanic", Ancestors: []string{"GuestDeath"}, Message: text, Stack: string(goroutine), Origin: "exit",
	}})
}
