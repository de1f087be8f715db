package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Job is a job as the API shows it. Lists leave out payload and result.
type Job struct {
	ID                string            `json:"id"`
	Status            string            `json:"status"` // pending, scheduled, waiting, running, succeeded, failed, cancelled, crashed, abandoned
	Actor             string            `json:"actor"`
	Queue             string            `json:"queue"`
	Priority          int               `json:"priority"`
	Version           int               `json:"version,omitempty"` // of the actor; 0: not known yet
	Attempt           int               `json:"attempt"`           // the last one that began; 0: none has
	ClaimEpoch        int64             `json:"claim_epoch"`
	CreatedAt         time.Time         `json:"created_at"`
	ScheduledAt       *time.Time        `json:"scheduled_at,omitempty"` // when it is due, where that is later
	ScheduleReason    string            `json:"schedule_reason,omitempty"`
	Deadline          *time.Time        `json:"deadline,omitempty"`
	StartedAt         *time.Time        `json:"started_at,omitempty"` // its last attempt
	FinishedAt        *time.Time        `json:"finished_at,omitempty"`
	Cancelling        bool              `json:"cancelling,omitempty"`
	ErrorClass        string            `json:"error_class,omitempty"` // of the last failure
	Message           string            `json:"message,omitempty"`
	DecidedBy         string            `json:"decided_by,omitempty"`
	DeadReason        string            `json:"dead_reason,omitempty"`
	Snoozes           int               `json:"snoozes,omitempty"`
	Interrupts        int               `json:"interrupts,omitempty"`
	HostFaults        int               `json:"host_faults,omitempty"`
	Redrives          int               `json:"redrives,omitempty"`
	Headers           map[string]string `json:"headers,omitempty"`
	Tags              []string          `json:"tags,omitempty"`
	Metadata          json.RawMessage   `json:"metadata,omitempty"`
	Retry             json.RawMessage   `json:"retry,omitempty"` // what the enqueue said
	StartToClose      string            `json:"start_to_close,omitempty"`
	ScheduleToClose   string            `json:"schedule_to_close,omitempty"`
	ResultTTL         string            `json:"result_ttl,omitempty"`
	ContentType       string            `json:"content_type"`
	Payload           json.RawMessage   `json:"payload,omitempty"`        // where it is JSON
	PayloadBase64     []byte            `json:"payload_base64,omitempty"` // where it isn't, decoded
	ResultContentType string            `json:"result_content_type,omitempty"`
	Result            json.RawMessage   `json:"result,omitempty"`
	ResultBase64      []byte            `json:"result_base64,omitempty"`
}

// Ended reports whether nothing happens to the job any more by itself.
func (j *Job) Ended() bool {
	switch j.Status {
	case "succeeded", "failed", "cancelled", "crashed", "abandoned":
		return true
	}
	return false
}

// Attempt is one execution that has ended.
type Attempt struct {
	Attempt    int             `json:"attempt"`
	ClaimEpoch int64           `json:"claim_epoch"`
	Outcome    string          `json:"outcome"` // failed, snoozed, retry_after, crashed, cancelled, succeeded
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt time.Time       `json:"finished_at"`
	DurationMS int64           `json:"duration_ms"`
	DecidedBy  string          `json:"decided_by,omitempty"`
	RetryKind  string          `json:"retry_kind,omitempty"`
	DelayMS    *int64          `json:"delay_ms,omitempty"`
	ErrorClass string          `json:"error_class,omitempty"`
	Ancestors  []string        `json:"ancestors,omitempty"`
	Message    string          `json:"message,omitempty"`
	Stack      string          `json:"stack,omitempty"`
	Trap       string          `json:"trap,omitempty"`
	Origin     string          `json:"origin,omitempty"`
	HTTPStatus int             `json:"http_status,omitempty"`
	ExitCode   *int64          `json:"exit_code,omitempty"`
	TimedOut   bool            `json:"timed_out,omitempty"`
	PreActor   bool            `json:"pre_actor,omitempty"`
	Record     json.RawMessage `json:"record,omitempty"`
	Policy     json.RawMessage `json:"policy,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	Version    int             `json:"version,omitempty"`
	Fuel       int64           `json:"fuel,omitempty"`
	PeakMemory int64           `json:"peak_memory,omitempty"` // bytes
	Inline     int             `json:"inline,omitempty"`      // quick repetitions that it had
}

// Event is something that happened to a job and isn't an attempt.
type Event struct {
	At    time.Time       `json:"at"`
	Event string          `json:"event"`
	Facts json.RawMessage `json:"facts,omitempty"`
}

// Get finds a job with its payload and result.
func (c *Client) Get(ctx context.Context, id string) (*Job, error) {
	return c.get(ctx, id, nil)
}

func (c *Client) get(ctx context.Context, id string, query url.Values) (*Job, error) {
	var out Job
	if err := c.do(ctx, request{method: http.MethodGet, path: "jobs/" + url.PathEscape(id), query: query}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// longPoll is how long the host is asked to wait at a time.
const longPoll = 30 * time.Second

// Wait gives a job when it has ended. It asks again for as long as ctx allows,
// also when the host was busy or unavailable; one that can't be reached is an
// error.
func (c *Client) Wait(ctx context.Context, id string) (*Job, error) {
	for {
		j, err := c.get(ctx, id, url.Values{"wait": {longPoll.String()}})
		if err == nil && j.Ended() {
			return j, nil
		}
		pause := 50 * time.Millisecond // for a host that is stopping and answers at once
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable && p.Status != http.StatusTooManyRequests {
				return nil, err
			}
			pause = max(p.RetryAfter, time.Second)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("wait for job %s: %w", id, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// ListOptions narrow a list of jobs. Zero fields don't.
type ListOptions struct {
	Status []string
	Queue  string
	Actor  string
	Tag    string
	Cursor string // of a page; "": the first
	Limit  int    // of a page, at most 1000; 0: 50
}

// JobPage is one page of jobs.
type JobPage struct {
	Jobs []Job  `json:"jobs"`
	Next string `json:"next"` // cursor of the next page; "" at the end
}

// Page gives one page of the tenant's jobs, newest first. It may hold fewer
// than Limit and still have a next one.
func (c *Client) Page(ctx context.Context, o ListOptions) (*JobPage, error) {
	q := url.Values{}
	for name, value := range map[string]string{"status": strings.Join(o.Status, ","), "queue": o.Queue, "actor": o.Actor, "tag": o.Tag, "cursor": o.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if o.Limit != 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	var out JobPage
	if err := c.do(ctx, request{method: http.MethodGet, path: "jobs", query: q}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// List walks over the tenant's jobs, newest first, page by page as it goes.
// An error ends it.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for {
			page, err := c.Page(ctx, o)
			if err != nil {
				yield(Job{}, err)
				return
			}
			for _, j := range page.Jobs {
				if !yield(j, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			o.Cursor = page.Next
		}
	}
}

// Attempts lists a job's attempts that have ended, oldest first.
func (c *Client) Attempts(ctx context.Context, id string) ([]Attempt, error) {
	var out struct {
		Attempts []Attempt `json:"attempts"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "jobs/" + url.PathEscape(id) + "/attempts"}, &out)
	return out.Attempts, err
}

// Events lists what else happened to a job, oldest first.
func (c *Client) Events(ctx context.Context, id string) ([]Event, error) {
	var out struct {
		Events []Event `json:"events"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "jobs/" + url.PathEscape(id) + "/events"}, &out)
	return out.Events, err
}

// Cancel ends a job that is queued, and asks for the end of one that runs. It
// says which: cancelled, requested, or finished for one that had ended before.
func (c *Client) Cancel(ctx context.Context, id string) (result string, err error) {
	var out struct {
		Result string `json:"result"`
	}
	err = c.do(ctx, request{method: http.MethodPost, path: "jobs/" + url.PathEscape(id) + "/cancel"}, &out)
	return out.Result, err
}
