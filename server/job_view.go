package server

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
)

// Job is a job as the API shows it. Lists leave out payload and result.
type Job struct {
	ID       string `json:"id" format:"uuid"`
	Status   string `json:"status" enum:"pending,scheduled,waiting,running,succeeded,failed,cancelled,crashed,abandoned"`
	Actor    string `json:"actor"`
	Queue    string `json:"queue"`
	Priority int    `json:"priority" doc:"0..9, 0 first."`
	Version  int    `json:"version,omitempty" doc:"Of the actor: that ran, or was asked for."`

	Attempt    int   `json:"attempt" doc:"The last one that began, from 1; 0: none has."`
	ClaimEpoch int64 `json:"claim_epoch" doc:"How often it was claimed in all its life."`

	CreatedAt      time.Time  `json:"created_at"`
	ScheduledAt    *time.Time `json:"scheduled_at,omitempty" doc:"When it is due, where that is later."`
	ScheduleReason string     `json:"schedule_reason,omitempty" enum:"delay,retry,snooze,retry_after,reclaim"`
	Deadline       *time.Time `json:"deadline,omitempty" doc:"Of the whole job."`
	StartedAt      *time.Time `json:"started_at,omitempty" doc:"When its last attempt began."`
	FinishedAt     *time.Time `json:"finished_at,omitempty"`
	Cancelling     bool       `json:"cancelling,omitempty" doc:"It runs, and its end was asked for."`

	ErrorClass string `json:"error_class,omitempty" doc:"Of its last failure."`
	Message    string `json:"message,omitempty" doc:"Of its last failure."`
	DecidedBy  string `json:"decided_by,omitempty" doc:"The rule that decided what came after its last failure."`
	DeadReason string `json:"dead_reason,omitempty" enum:"exhausted,non_retryable,deadline,crash_exhausted,payload_invalid,unroutable,version_mismatch,result_too_large,retry_budget"`

	Snoozes    int `json:"snoozes,omitempty"`
	Interrupts int `json:"interrupts,omitempty" doc:"How often a worker that stopped cut it short."`
	HostFaults int `json:"host_faults,omitempty"`
	Redrives   int `json:"redrives,omitempty"`

	Headers  map[string]string `json:"headers,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	Metadata json.RawMessage   `json:"metadata,omitempty"`

	Retry           json.RawMessage `json:"retry,omitempty" doc:"What the enqueue wanted otherwise: a retry block."`
	StartToClose    string          `json:"start_to_close,omitempty" doc:"What the enqueue wanted otherwise."`
	ScheduleToClose string          `json:"schedule_to_close,omitempty" doc:"The deadline as an interval, where it was given as one."`
	ResultTTL       string          `json:"result_ttl,omitempty"`

	ContentType       string          `json:"content_type" doc:"Of the payload."`
	Payload           json.RawMessage `json:"payload,omitempty" doc:"The payload, where it is JSON."`
	PayloadBase64     string          `json:"payload_base64,omitempty" doc:"The payload, where it isn't."`
	ResultContentType string          `json:"result_content_type,omitempty"`
	Result            json.RawMessage `json:"result,omitempty" doc:"The result, where it is JSON."`
	ResultBase64      string          `json:"result_base64,omitempty" doc:"The result, where it isn't."`
}

// summaryOf shows a job without its payload.
func summaryOf(j *store.Job) Job {
	out := Job{
		ID: j.ID.String(), Status: j.Status.String(), Actor: j.Actor, Queue: j.Queue, Priority: j.Priority, Version: j.Version,
		Attempt: j.Attempt, ClaimEpoch: j.Epoch, CreatedAt: j.CreatedAt, ScheduledAt: j.ScheduledAt, Deadline: j.Deadline,
		StartedAt: j.StartedAt, FinishedAt: j.FinishedAt, Cancelling: j.Cancelling,
		ErrorClass: j.ErrorClass, Message: j.Message, DecidedBy: j.DecidedBy,
		Snoozes: j.Extra.Snoozes, Interrupts: j.Extra.Interrupts, HostFaults: j.Extra.HostFaults, Redrives: j.Extra.Redrives,
		Headers: j.Headers, Tags: j.Tags, Metadata: j.Metadata, ContentType: j.ContentType,
		StartToClose: showMS(j.Options.StartToCloseMS), ScheduleToClose: showMS(j.Options.ScheduleToCloseMS), ResultTTL: showMS(j.Options.ResultTTLMS),
		Retry: j.Options.Retry,
	}
	if j.ScheduledAt != nil {
		out.ScheduleReason = j.Reason.String()
	}
	if j.Status.Terminal() {
		out.DeadReason = retry.DeadReason(j.DeadReason).String()
	}
	return out
}

// viewOf shows all of a job.
func viewOf(j *store.Job) Job {
	out := summaryOf(j)
	out.Payload, out.PayloadBase64 = showBytes(j.Payload, j.ContentType)
	if j.ResultType != "" {
		out.ResultContentType = j.ResultType
		out.Result, out.ResultBase64 = showBytes(j.Result, j.ResultType)
	} else if j.Status == store.Succeeded && j.Options.ResultTTLMS == 0 {
		// Nothing was pushed. With a TTL of its own it may as well be gone.
		out.Result, out.ResultContentType = json.RawMessage("null"), jsonType
	}
	return out
}

// showBytes shows JSON as it is, other bytes as base64.
func showBytes(b []byte, contentType string) (asJSON json.RawMessage, asBase64 string) {
	if isJSONType(contentType) && json.Valid(b) && utf8.Valid(b) {
		return b, ""
	}
	return nil, base64.StdEncoding.EncodeToString(b)
}

func showMS(ms int64) string {
	if ms == 0 {
		return ""
	}
	return config.FormatDuration(time.Duration(ms) * time.Millisecond)
}

// Attempt is one execution that has ended.
type Attempt struct {
	Attempt    int             `json:"attempt" doc:"Its number; one that was given back is there twice."`
	ClaimEpoch int64           `json:"claim_epoch"`
	Outcome    string          `json:"outcome" enum:"failed,snoozed,retry_after,crashed,cancelled,succeeded"`
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt time.Time       `json:"finished_at"`
	DurationMS int64           `json:"duration_ms"`
	DecidedBy  string          `json:"decided_by,omitempty" doc:"The rule that decided what came next."`
	RetryKind  string          `json:"retry_kind,omitempty"`
	DelayMS    *int64          `json:"delay_ms,omitempty" doc:"Until the next attempt, as it was chosen."`
	ErrorClass string          `json:"error_class,omitempty"`
	Ancestors  []string        `json:"ancestors,omitempty" doc:"Of the class, specific to general."`
	Message    string          `json:"message,omitempty"`
	Stack      string          `json:"stack,omitempty"`
	Trap       string          `json:"trap,omitempty"`
	Origin     string          `json:"origin,omitempty" enum:"guest,trap,exit,limit,host" doc:"Who noticed."`
	HTTPStatus int             `json:"http_status,omitempty"`
	ExitCode   *int64          `json:"exit_code,omitempty"`
	TimedOut   bool            `json:"timed_out,omitempty"`
	PreActor   bool            `json:"pre_actor,omitempty" doc:"It ended before the body began."`
	Record     json.RawMessage `json:"record,omitempty" doc:"The rest of the failure's record."`
	Policy     json.RawMessage `json:"policy,omitempty" doc:"The policy that it was claimed with."`
	Digest     string          `json:"digest,omitempty" doc:"Of the module."`
	Version    int             `json:"version,omitempty"`
	Fuel       int64           `json:"fuel,omitempty"`
	PeakMemory int64           `json:"peak_memory,omitempty" doc:"Bytes."`
	Inline     int             `json:"inline,omitempty" doc:"Quick repetitions that it had."`
}

func attemptOf(a *store.Attempt) Attempt {
	return Attempt{
		Attempt: a.Attempt, ClaimEpoch: a.Epoch, Outcome: a.Outcome.String(), StartedAt: a.StartedAt, FinishedAt: a.FinishedAt,
		DurationMS: a.FinishedAt.Sub(a.StartedAt).Milliseconds(), DecidedBy: a.DecidedBy, RetryKind: a.RetryKind, DelayMS: a.DelayMS,
		ErrorClass: a.ErrorClass, Ancestors: a.Ancestors, Message: a.Message, Stack: a.Stack, Trap: a.Trap, Origin: a.Origin,
		HTTPStatus: a.HTTPStatus, ExitCode: a.ExitCode, TimedOut: a.TimedOut, PreActor: a.PreActor, Record: a.Record, Policy: a.Policy,
		Digest: a.Digest, Version: a.Version, Fuel: a.Fuel, PeakMemory: a.PeakMemory, Inline: a.Inline,
	}
}

// Event is something that happened to a job and isn't an attempt.
type Event struct {
	At    time.Time       `json:"at"`
	Event string          `json:"event" example:"interrupted"`
	Facts json.RawMessage `json:"facts,omitempty"`
}
