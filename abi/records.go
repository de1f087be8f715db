package abi

import (
	"encoding/json"
	"time"
)

// Origin says who noticed a failure.
type Origin string

// Origins of failures.
const (
	OriginGuest Origin = "guest" // the guest said so itself
	OriginTrap  Origin = "trap"  // the engine stopped it
	OriginExit  Origin = "exit"  // it ended its process
	OriginLimit Origin = "limit" // a limit stopped it
	OriginHost  Origin = "host"  // the host, whose fault it may be
)

// HTTP is the response that a failure reports. Header names keep the guest's
// spelling and are compared without case.
type HTTP struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Failure is what an attempt ended with when it neither succeeded nor asked
// to be deferred. The first block is the guest's or the host's account of
// it; the second is filled in by the host alone, and ignored when a guest
// sends it.
type Failure struct {
	Class     string          `json:"class"`
	Ancestors []string        `json:"ancestors,omitempty"` // specific to general
	Message   string          `json:"message"`
	Permanent bool            `json:"permanent,omitempty"`
	Retryable bool            `json:"retryable,omitempty"`
	HTTP      *HTTP           `json:"http,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
	Stack     string          `json:"stack,omitempty"`
	Cause     *Failure        `json:"cause,omitempty"`

	Origin    Origin   `json:"origin,omitempty"`
	ExitCode  *int     `json:"exit_code,omitempty"`
	Trap      string   `json:"trap,omitempty"`
	TimedOut  bool     `json:"timed_out,omitempty"`
	PreActor  bool     `json:"pre_actor,omitempty"` // before the body began
	Truncated []string `json:"truncated,omitempty"` // names of fields that were cut
}

// Meta is what meta_read answers. Times are Unix milliseconds of the
// database's clock; 0 and absent mean that there is none.
type Meta struct {
	JobID          string            `json:"job_id"`
	Tenant         string            `json:"tenant"`
	Queue          string            `json:"queue"`
	Actor          string            `json:"actor"`
	Version        int               `json:"version,omitempty"`
	Digest         string            `json:"digest,omitempty"`
	Kind           Kind              `json:"kind"`
	Attempt        int               `json:"attempt"`
	MaxAttempts    int               `json:"max_attempts"`
	RetryKind      string            `json:"retry_kind"`
	ClaimEpoch     int64             `json:"claim_epoch"`
	RedriveCount   int               `json:"redrive_count,omitempty"`
	SnoozeCount    int               `json:"snooze_count,omitempty"`
	EnqueuedAtMS   int64             `json:"enqueued_at_ms"`
	ScheduledAtMS  int64             `json:"scheduled_at_ms,omitempty"`
	NowMS          int64             `json:"now_ms"`
	StartToCloseMS int64             `json:"start_to_close_ms,omitempty"`
	DeadlineMS     int64             `json:"deadline_ms,omitempty"`
	ContentType    string            `json:"content_type,omitempty"`
	Inline         int               `json:"inline,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Tags           []string          `json:"tags,omitempty"`
	Previous       *PreviousFailure  `json:"previous_failure,omitempty"`
	Config         json.RawMessage   `json:"config,omitempty"`
}

// PreviousFailure is the last failed attempt, as far as a guest may know it.
type PreviousFailure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Progress is what a guest says about how far it is.
type Progress struct {
	Step    string          `json:"step,omitempty"`
	Percent *float64        `json:"percent,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// LogLine is one line of a guest's log after the host bounded it.
type LogLine struct {
	At      time.Time      `json:"at"`
	Level   Level          `json:"level"`
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
}

// Manifest is what taskq_v1_describe pushes: the module's own defaults. The
// operator's and the tenant's configuration win over it, and a capability is
// granted by them, never by the module.
type Manifest struct {
	Name              string          `json:"name,omitempty"`
	Entries           []string        `json:"entries,omitempty"`
	PayloadSchema     json.RawMessage `json:"payload_schema,omitempty"`
	ResultSchema      json.RawMessage `json:"result_schema,omitempty"`
	ResultContentType string          `json:"result_content_type,omitempty"`
	Retry             json.RawMessage `json:"retry,omitempty"`
	StartToClose      string          `json:"start_to_close,omitempty"`
	Classifiers       []string        `json:"classifiers,omitempty"`
	Hooks             json.RawMessage `json:"hooks,omitempty"`
	Capabilities      []string        `json:"capabilities,omitempty"`
	HTTPHosts         []string        `json:"http_hosts,omitempty"`
	Limits            json.RawMessage `json:"limits,omitempty"`
	SettingsSchema    json.RawMessage `json:"settings_schema,omitempty"`
}

// Control is a line of a command's stderr that begins with ControlPrefix.
// Exactly one field is set.
type Control struct {
	SnoozeMS      *int64          `json:"snooze_ms,omitempty"`
	RetryAfterMS  *int64          `json:"retry_after_ms,omitempty"`
	ConsumeBudget *bool           `json:"consume_budget,omitempty"` // with retry_after_ms; true unless said
	Fail          *Failure        `json:"fail,omitempty"`
	Progress      json.RawMessage `json:"progress,omitempty"`
	Log           *ControlLog     `json:"log,omitempty"`
}

// ControlLog is a log line of a command.
type ControlLog struct {
	Level   string         `json:"level,omitempty"` // trace, debug, info, warn, error
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
}
