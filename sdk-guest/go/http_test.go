package taskq_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	taskq "github.com/taskq-host/taskq-host/sdk-guest/go"
)

func TestCheckHTTPAppliesTheRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		status               int
		headers              map[string]string
		kind                 taskq.OutcomeKind
		permanent, retryable bool
	}{
		{"below 400 is fine", 399, nil, taskq.Succeeded, false, false},
		{"429 waits as long as it's told", 429, map[string]string{"retry-after": "3"}, taskq.RetryLater, false, false},
		{"429 without a time is retryable", 429, map[string]string{"Retry-After": "soon"}, taskq.Failed, false, true},
		{"408", 408, nil, taskq.Failed, false, true},
		{"425", 425, nil, taskq.Failed, false, true},
		{"500", 500, nil, taskq.Failed, false, true},
		{"599", 599, nil, taskq.Failed, false, true},
		{"400", 400, nil, taskq.Failed, true, false},
		{"404", 404, nil, taskq.Failed, true, false},
		{"600", 600, nil, taskq.Failed, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := taskq.CheckHTTP(c.status, c.headers)
			out := taskq.Try(t.Context(), failing(err), taskq.Trial{})
			equal(t, c.kind, out.Kind)
			if err == nil {
				return
			}
			var report *taskq.HTTPError
			equal(t, true, errors.As(err, &report))
			equal(t, c.status, report.Status)
			if c.kind == taskq.RetryLater {
				equal(t, 3*time.Second, out.Delay)
				equal(t, true, out.ConsumeBudget)
				return
			}
			equal(t, c.permanent, out.Failure.Permanent)
			equal(t, c.retryable, out.Failure.Retryable)
			equal(t, c.status, out.Failure.HTTP.Status)
		})
	}
}

// The host's own classifier is held to the same cases.
func TestRetryAfterIsReadAsTheHostReadsIt(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../testdata/vectors/retry_after.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			Headers map[string]string `json:"headers"`
			Now     time.Time         `json:"now"`
			Note    string            `json:"note"`
			Status  int               `json:"failure_http_status"`
			Expect  struct {
				DelayMS *int64 `json:"delay_ms"`
			} `json:"expect"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Cases) < 20 {
		t.Fatalf("only %d cases", len(vectors.Cases))
	}
	for _, c := range vectors.Cases {
		if c.Status != 429 {
			continue
		}
		wait, ok := taskq.RetryAfterOf(c.Headers, c.Now)
		switch {
		case c.Expect.DelayMS == nil && ok:
			t.Errorf("%v (%s): want none, got %s", c.Headers, c.Note, wait)
		case c.Expect.DelayMS != nil && wait.Milliseconds() != *c.Expect.DelayMS:
			t.Errorf("%v (%s): want %d ms, got %s", c.Headers, c.Note, *c.Expect.DelayMS, wait)
		}
	}
}
