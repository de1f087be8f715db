package server

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// EnqueueRequest is a job to be. The struct is the schema of /openapi.json;
// the reader in enqueue_read.go is what reads it.
type EnqueueRequest struct {
	Actor           string            `json:"actor" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" example:"charge" doc:"Who does it. An actor that isn't there when the job is due makes it a dead letter, reason unroutable."`
	Payload         json.RawMessage   `json:"payload,omitempty" doc:"Any JSON, kept byte by byte. Absent: null. At most limits.max_payload (1 MiB as shipped)."`
	PayloadBase64   string            `json:"payload_base64,omitempty" contentEncoding:"base64" example:"aGVsbG8=" doc:"Any bytes, in place of payload."`
	ContentType     string            `json:"content_type,omitempty" maxLength:"255" example:"application/json" doc:"Of the payload: application/json, or application/octet-stream for payload_base64, unless said. What says it is JSON must be."`
	Queue           string            `json:"queue,omitempty" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" example:"payments.charge" doc:"Default: the actor's, else default."`
	Priority        int               `json:"priority,omitempty" minimum:"0" maximum:"9" default:"5" doc:"0 is first."`
	Delay           string            `json:"delay,omitempty" example:"15m" doc:"Not before: a duration (Go's, plus d) from now, or a time (RFC 3339 with a zone)."`
	ScheduledAt     string            `json:"scheduled_at,omitempty" example:"2031-01-02T03:04:05Z" doc:"The same as delay under its other name. A time in the past means now."`
	ScheduleToClose string            `json:"schedule_to_close,omitempty" example:"2h" doc:"Deadline of the whole job, all attempts: a duration from now, or a time with a zone."`
	StartBy         string            `json:"start_by,omitempty" example:"10m" doc:"Not started by then, not started at all: a duration from now, or a time with a zone. It counts until the first attempt begins."`
	StartToClose    string            `json:"start_to_close,omitempty" example:"30s" doc:"Time limit of one attempt: a duration, 10ms to 365d."`
	Retry           *RetryRequest     `json:"retry,omitempty" doc:"What this job wants otherwise than its actor and queue; a key that is absent inherits."`
	Version         int               `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"The actor's version that it was made for."`
	Headers         map[string]string `json:"headers,omitempty" maxProperties:"32" doc:"For the guest and for tracing (traceparent). At most 32, and 8 KiB together."`
	Tags            []string          `json:"tags,omitempty" maxItems:"16" maxLength:"128" uniqueItems:"true" example:"[\"invoice\"]" doc:"To find it by."`
	Metadata        json.RawMessage   `json:"metadata,omitempty" doc:"A JSON object for people and tools; the guest doesn't see it. At most 16 KiB."`
	ResultTTL       string            `json:"result_ttl,omitempty" example:"7d" doc:"How long the result is kept, where that is shorter than the job is: a duration, 1s to 36500d."`
}

// RetryRequest is a retry block, as in a configuration file.
type RetryRequest struct {
	Kind        string  `json:"kind,omitempty" enum:"transient,indefinite,non_retryable"`
	MaxAttempts int     `json:"max_attempts,omitempty" minimum:"1" maximum:"32766" doc:"Executions, the first included."`
	TimeBudget  string  `json:"time_budget,omitempty" example:"1d" doc:"Of kind indefinite: deadline from now."`
	Backoff     string  `json:"backoff,omitempty" enum:"exponential,linear,fixed"`
	Base        string  `json:"base,omitempty" example:"5s" doc:"Delay after the first failure."`
	Multiplier  float64 `json:"multiplier,omitempty" minimum:"1"`
	Cap         string  `json:"cap,omitempty" example:"1h" doc:"The longest delay; at least base."`
	Jitter      float64 `json:"jitter,omitempty" minimum:"0" maximum:"1"`
}

// BatchRequest is many jobs to be.
type BatchRequest struct {
	Jobs   []EnqueueRequest `json:"jobs" minItems:"1" maxItems:"10000"`
	Atomic bool             `json:"atomic,omitempty" doc:"All or none. Otherwise each job is judged alone, and the answer says per job what became of it."`
}

// notOffered are fields of the design whose feature isn't in this release: the
// one place where a release that brings a feature takes its fields out.
var notOffered = map[string]bool{
	"idempotency_key": true, "idempotency_ttl": true, "unique_key": true, "identity_key": true, "concurrency_key": true,
	"depends_on": true, "batch": true,
}

const ruleNotOffered = "isn't offered by this release"

// documentBody says in the document what a route's body is. It comes after
// huma.Register, which would read and check the body itself.
func (s *Server) documentBody(op *huma.Operation, body any) {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(body), true, "")
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {Schema: schema}}}
}
