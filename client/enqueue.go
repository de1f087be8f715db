package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// NewJob is a job to be. Only Actor is needed; what is zero isn't said, and
// the actor's and queue's configuration decides.
type NewJob struct {
	Actor string
	Queue string

	// Payload is encoded as JSON; a json.RawMessage goes as it is.
	Payload any
	// PayloadBytes are sent as they are, in place of Payload.
	PayloadBytes []byte
	ContentType  string // of PayloadBytes; "": application/octet-stream

	Priority *int // 0..9, 0 first; nil: 5

	Delay       time.Duration
	ScheduledAt time.Time // in place of Delay

	ScheduleToClose time.Duration // deadline of the whole job, from now
	Deadline        time.Time     // in place of ScheduleToClose
	StartBy         time.Duration // not started by then, not started at all; from now
	StartByAt       time.Time     // in place of StartBy
	StartToClose    time.Duration // of one attempt

	Retry     *Retry
	Version   int
	Headers   map[string]string
	Tags      []string
	Metadata  map[string]any
	ResultTTL time.Duration
}

// Retry is what a job wants otherwise than its actor and queue. What is zero
// isn't said.
type Retry struct {
	Kind        string // transient, indefinite, non_retryable
	MaxAttempts int
	TimeBudget  time.Duration
	Backoff     string // exponential, linear, fixed
	Base        time.Duration
	Multiplier  float64
	Cap         time.Duration
	Jitter      *float64
}

// Enqueued is a job that was stored.
type Enqueued struct {
	ID        string    `json:"id"`
	Status    string    `json:"status"` // pending or scheduled
	Queue     string    `json:"queue"`
	CreatedAt time.Time `json:"created_at"`
	DueAt     time.Time `json:"due_at"`
	Warnings  []string  `json:"warnings"`
}

// Enqueue stores one job.
func (c *Client) Enqueue(ctx context.Context, j NewJob) (*Enqueued, error) {
	w, err := j.wire()
	if err != nil {
		return nil, err
	}
	var out Enqueued
	if err := c.doJSON(ctx, http.MethodPost, "jobs", w, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// EnqueueManyOptions of [Client.EnqueueMany].
type EnqueueManyOptions struct {
	Atomic bool // all or none; otherwise each job is judged alone
}

// BatchResult says what became of each job, in their order.
type BatchResult struct {
	Accepted int         `json:"accepted"`
	Refused  int         `json:"refused"`
	Results  []BatchItem `json:"results"`
}

// BatchItem is what became of one job: Job or Error is set.
type BatchItem struct {
	Index int       `json:"index"`
	Job   *Enqueued `json:"job"`
	Error *Problem  `json:"error"`
}

// EnqueueMany stores jobs, at most 10,000 and 64 MiB. Jobs that break a rule
// are no error of the call, unless it is atomic: look at the results.
func (c *Client) EnqueueMany(ctx context.Context, jobs []NewJob, o EnqueueManyOptions) (*BatchResult, error) {
	in := struct {
		Jobs   []*wireJob `json:"jobs"`
		Atomic bool       `json:"atomic,omitempty"`
	}{Jobs: make([]*wireJob, len(jobs)), Atomic: o.Atomic}
	for i := range jobs {
		w, err := jobs[i].wire()
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", i, err)
		}
		in.Jobs[i] = w
	}
	var out BatchResult
	if err := c.doJSON(ctx, http.MethodPost, "jobs/batch", in, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// wireJob is a job as the API reads it.
type wireJob struct {
	Actor           string            `json:"actor"`
	Queue           string            `json:"queue,omitempty"`
	Payload         json.RawMessage   `json:"payload,omitempty"`
	PayloadBase64   *string           `json:"payload_base64,omitempty"`
	ContentType     string            `json:"content_type,omitempty"`
	Priority        *int              `json:"priority,omitempty"`
	Delay           string            `json:"delay,omitempty"`
	ScheduledAt     string            `json:"scheduled_at,omitempty"`
	ScheduleToClose string            `json:"schedule_to_close,omitempty"`
	StartBy         string            `json:"start_by,omitempty"`
	StartToClose    string            `json:"start_to_close,omitempty"`
	Retry           *wireRetry        `json:"retry,omitempty"`
	Version         int               `json:"version,omitempty"`
	Headers         map[string]string `json:"headers,omitempty"`
	Tags            []string          `json:"tags,omitempty"`
	Metadata        map[string]any    `json:"metadata,omitempty"`
	ResultTTL       string            `json:"result_ttl,omitempty"`
}

type wireRetry struct {
	Kind        string   `json:"kind,omitempty"`
	MaxAttempts int      `json:"max_attempts,omitempty"`
	TimeBudget  string   `json:"time_budget,omitempty"`
	Backoff     string   `json:"backoff,omitempty"`
	Base        string   `json:"base,omitempty"`
	Multiplier  float64  `json:"multiplier,omitempty"`
	Cap         string   `json:"cap,omitempty"`
	Jitter      *float64 `json:"jitter,omitempty"`
}

func (j *NewJob) wire() (*wireJob, error) {
	w := &wireJob{
		Actor: j.Actor, Queue: j.Queue, ContentType: j.ContentType, Priority: j.Priority,
		Delay: duration(j.Delay), ScheduledAt: moment(j.ScheduledAt), StartToClose: duration(j.StartToClose),
		ScheduleToClose: duration(j.ScheduleToClose), StartBy: duration(j.StartBy), Version: j.Version, Headers: j.Headers, Tags: j.Tags, Metadata: j.Metadata, ResultTTL: duration(j.ResultTTL),
	}
	if !j.Deadline.IsZero() {
		if w.ScheduleToClose != "" {
			return nil, errors.New("the fields ScheduleToClose and Deadline exclude each other")
		}
		w.ScheduleToClose = moment(j.Deadline)
	}
	if !j.StartByAt.IsZero() {
		if w.StartBy != "" {
			return nil, errors.New("StartBy and StartByAt exclude each other")
		}
		w.StartBy = moment(j.StartByAt)
	}
	if r := j.Retry; r != nil {
		w.Retry = &wireRetry{
			Kind: r.Kind, MaxAttempts: r.MaxAttempts, TimeBudget: duration(r.TimeBudget), Backoff: r.Backoff,
			Base: duration(r.Base), Multiplier: r.Multiplier, Cap: duration(r.Cap), Jitter: r.Jitter,
		}
	}
	switch {
	case j.Payload != nil && j.PayloadBytes != nil:
		return nil, errors.New("the fields Payload and PayloadBytes exclude each other")
	case j.PayloadBytes != nil:
		text := base64.StdEncoding.EncodeToString(j.PayloadBytes)
		w.PayloadBase64 = &text
	case j.Payload != nil:
		payload, err := json.Marshal(j.Payload)
		if err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
		w.Payload = payload
	}
	return w, nil
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
