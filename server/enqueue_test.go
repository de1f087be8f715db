package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	show := func(id string) server.Job {
		t.Helper()
		return into[server.Job](b.get("/v1/jobs/"+id), 200)
	}

	t.Run("the least that is needed", func(t *testing.T) {
		a := b.post("/v1/jobs", `{"actor": "noop"}`)
		e := into[server.EnqueuedJob](a, 201)
		require.Equal(t, "/v1/jobs/"+e.ID, a.header.Get("Location"))
		require.Equal(t, "pending", e.Status)
		require.Equal(t, "default", e.Queue)
		j := show(e.ID)
		require.Equal(t, 5, j.Priority)
		require.Equal(t, "application/json", j.ContentType)
		require.JSONEq(t, "null", string(j.Payload))
		require.Zero(t, j.Attempt)
	})
	t.Run("everything that can be said comes back", func(t *testing.T) {
		e := b.enqueue(`{"actor": "charge", "payload": {"a": [1, "ü", null]}, "priority": 0, "delay": "1d", "schedule_to_close": "2d", "start_to_close": "30s",
			"retry": {"max_retries": 4, "base": "1s", "cap": "10s", "jitter": 0}, "version": 3, "headers": {"traceparent": "00-x", "empty": ""}, "tags": ["x", "y"],
			"metadata": {"who": "me"}, "result_ttl": "7d"}`)
		require.Equal(t, "scheduled", e.Status)
		require.Equal(t, "payments.charge", e.Queue, "the actor's configured queue")
		require.WithinDuration(t, e.CreatedAt.Add(24*time.Hour), e.DueAt, 0)
		j := show(e.ID)
		require.Equal(t, "scheduled", j.Status)
		require.Equal(t, "delay", j.ScheduleReason)
		require.JSONEq(t, `{"a": [1, "ü", null]}`, string(j.Payload))
		require.JSONEq(t, `{"max_attempts": 5, "base": "1s", "cap": "10s", "jitter": 0}`, string(j.Retry))
		require.Equal(t, "30s", j.StartToClose)
		require.Equal(t, "2d", j.ScheduleToClose)
		require.Equal(t, "7d", j.ResultTTL)
		require.WithinDuration(t, e.CreatedAt.Add(48*time.Hour), *j.Deadline, 0)
		require.Equal(t, map[string]string{"traceparent": "00-x", "empty": ""}, j.Headers)
		require.Equal(t, []string{"x", "y"}, j.Tags)
		require.JSONEq(t, `{"who": "me"}`, string(j.Metadata))
		require.Equal(t, 3, j.Version)
	})
	t.Run("bytes that aren't JSON", func(t *testing.T) {
		payload := base64.StdEncoding.EncodeToString([]byte{0, 0xff, 1})
		e := b.enqueue(fmt.Sprintf(`{"actor": "noop", "payload_base64": %q}`, payload))
		j := show(e.ID)
		require.Equal(t, "application/octet-stream", j.ContentType)
		require.Equal(t, payload, j.PayloadBase64)
		require.Empty(t, j.Payload)
	})
	t.Run("NUL inside of a JSON payload is the guest's", func(t *testing.T) {
		e := b.enqueue(`{"actor": "noop", "payload": "a\u0000b"}`)
		require.Equal(t, `"a\u0000b"`, string(show(e.ID).Payload))
	})
	t.Run("a payload of 1 MiB fits", func(t *testing.T) {
		e := b.enqueue(`{"actor": "noop", "payload": "` + strings.Repeat("x", 1<<20-2) + `"}`)
		require.Len(t, show(e.ID).Payload, 1<<20)
	})
	t.Run("a queue may allow more", func(t *testing.T) {
		b.enqueue(`{"actor": "noop", "queue": "big", "payload": "` + strings.Repeat("x", 1<<21-2) + `"}`)
	})
	t.Run("a time in the past means now", func(t *testing.T) {
		require.Equal(t, "pending", b.enqueue(`{"actor": "noop", "scheduled_at": "2001-02-03T04:05:06+01:00"}`).Status)
	})
	t.Run("an indefinite policy's budget is the deadline", func(t *testing.T) {
		e := b.enqueue(`{"actor": "noop", "retry": {"kind": "indefinite", "time_budget": "1h"}}`)
		require.WithinDuration(t, e.CreatedAt.Add(time.Hour), *show(e.ID).Deadline, 0)
	})
	t.Run("an explicit deadline wins over the budget", func(t *testing.T) {
		e := b.enqueue(`{"actor": "noop", "schedule_to_close": "2h", "retry": {"kind": "indefinite", "time_budget": "1h"}}`)
		require.WithinDuration(t, e.CreatedAt.Add(2*time.Hour), *show(e.ID).Deadline, 0)
	})
	t.Run("what a ceiling cuts down is said", func(t *testing.T) {
		e := b.enqueue(`{"actor": "noop", "start_to_close": "1h", "retry": {"max_attempts": 50}}`)
		require.Len(t, e.Warnings, 2)
		require.Contains(t, strings.Join(e.Warnings, "\n"), "10m")
	})
}

func TestBadEnqueues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, body string
		status     int
		places     []string
	}{
		{"no actor", `{}`, 422, []string{"body.actor"}},
		{"not JSON", `{"actor": "a",}`, 400, []string{"body"}},
		{"something behind it", `{"actor": "a"} {}`, 400, []string{"body"}},
		{"not an object", `["a"]`, 422, []string{"body"}},
		{"an unknown field", `{"actor": "a", "payloads": 1}`, 422, []string{"body.payloads"}},
		{"a field in capitals", `{"actor": "a", "Priority": 1}`, 422, []string{"body.Priority"}},
		{"a field with an odd name", `{"actor": "a", "x\u0000 y": 1}`, 422, []string{`body["x\x00 y"]`}},
		{"a field twice", `{"actor": "a", "priority": 1, "priority": 2}`, 422, []string{"body"}},
		{"a name with capitals", `{"actor": "Charge"}`, 422, []string{"body.actor"}},
		{"a name with a slash", `{"actor": "a", "queue": "a/b"}`, 422, []string{"body.queue"}},
		{"a name that is too long", `{"actor": "` + long + `"}`, 422, []string{"body.actor"}},
		{"null for a name", `{"actor": null}`, 422, []string{"body.actor"}},
		{"a number for a name", `{"actor": 7}`, 422, []string{"body.actor"}},
		{"a priority outside", `{"actor": "a", "priority": 10}`, 422, []string{"body.priority"}},
		{"a priority with a fraction", `{"actor": "a", "priority": 1.5}`, 422, []string{"body.priority"}},
		{"a priority as a string", `{"actor": "a", "priority": "1"}`, 422, []string{"body.priority"}},
		{"version 0", `{"actor": "a", "version": 0}`, 422, []string{"body.version"}},
		{"both payloads", `{"actor": "a", "payload": 1, "payload_base64": "MQ=="}`, 422, []string{"body.payload", "body.payload_base64"}},
		{"base64 without padding", `{"actor": "a", "payload_base64": "MQ"}`, 422, []string{"body.payload_base64"}},
		{"a payload that isn't JSON although it says so", `{"actor": "a", "payload_base64": "eyJhIjo=", "content_type": "application/json"}`, 422, []string{"body.payload_base64"}},
		{"JSON of other kinds counts too", `{"actor": "a", "payload_base64": "eyJhIjo=", "content_type": "application/cloudevents+json; charset=utf-8"}`, 422, []string{"body.payload_base64"}},
		{"JSON with invalid UTF-8 in base64", `{"actor": "a", "payload_base64": "Iv8i", "content_type": "application/json"}`, 422, []string{"body.payload_base64"}},
		{"invalid UTF-8 in a payload", "{\"actor\": \"a\", \"payload\": \"\xff\"}", 422, []string{"body.payload"}},
		{"a payload that isn't what its type says", `{"actor": "a", "payload": "x", "content_type": "text/plain"}`, 422, []string{"body.payload"}},
		{"a type that is none", `{"actor": "a", "content_type": "json"}`, 422, []string{"body.content_type"}},
		{"2 MiB of payload", `{"actor": "a", "payload": "` + strings.Repeat("x", 2<<20) + `"}`, 413, []string{"body.payload"}},
		{"a byte too many of base64", `{"actor": "a", "payload_base64": "` + base64.StdEncoding.EncodeToString(make([]byte, 1<<20+1)) + `"}`, 413, []string{"body.payload_base64"}},
		{"a body that is longer than any job", `{"actor": "a", "payload": "` + strings.Repeat("x", 5<<20) + `"}`, 413, []string{"body"}},
		{"both times", `{"actor": "a", "delay": "1s", "scheduled_at": "1s"}`, 422, []string{"body.delay", "body.scheduled_at"}},
		{"a negative delay", `{"actor": "a", "delay": "-1s"}`, 422, []string{"body.delay"}},
		{"a delay without a unit", `{"actor": "a", "delay": "5"}`, 422, []string{"body.delay"}},
		{"a delay as a number", `{"actor": "a", "delay": 5}`, 422, []string{"body.delay"}},
		{"a delay of a thousand years", `{"actor": "a", "delay": "40000d"}`, 422, []string{"body.delay"}},
		{"a time without a zone", `{"actor": "a", "scheduled_at": "2031-01-02T03:04:05"}`, 422, []string{"body.scheduled_at"}},
		{"a day that isn't one", `{"actor": "a", "scheduled_at": "2031-02-30T03:04:05Z"}`, 422, []string{"body.scheduled_at"}},
		{"a delay past its deadline", `{"actor": "a", "delay": "2h", "schedule_to_close": "1h"}`, 422, []string{"body.delay", "body.schedule_to_close"}},
		{"a time past its deadline", `{"actor": "a", "scheduled_at": "2090-01-01T00:00:00Z", "schedule_to_close": "2089-01-01T00:00:00Z"}`, 422, []string{"body.scheduled_at", "body.schedule_to_close"}},
		{"a time past a deadline from now", `{"actor": "a", "scheduled_at": "2090-01-01T00:00:00Z", "schedule_to_close": "1h"}`, 422, []string{"body.scheduled_at", "body.schedule_to_close"}},
		{"a delay past a budget", `{"actor": "a", "delay": "2h", "retry": {"kind": "indefinite", "time_budget": "1h"}}`, 422, []string{"body.delay", "body.retry.time_budget"}},
		{"a deadline that is past", `{"actor": "a", "schedule_to_close": "2001-01-01T00:00:00Z"}`, 422, []string{"body.schedule_to_close"}},
		{"start_to_close none", `{"actor": "a", "start_to_close": "none"}`, 422, []string{"body.start_to_close"}},
		{"start_to_close too short", `{"actor": "a", "start_to_close": "1ms"}`, 422, []string{"body.start_to_close"}},
		{"base 0", `{"actor": "a", "retry": {"base": "0s"}}`, 422, []string{"body.retry.base"}},
		{"cap below base", `{"actor": "a", "retry": {"base": "10s", "cap": "5s"}}`, 422, []string{"body.retry.cap"}},
		{"base above the cap of its queue", `{"actor": "a", "queue": "slow", "retry": {"base": "2m"}}`, 422, []string{"body.retry.base"}},
		{"jitter 1.5", `{"actor": "a", "retry": {"jitter": 1.5}}`, 422, []string{"body.retry.jitter"}},
		{"max_attempts 0", `{"actor": "a", "retry": {"max_attempts": 0}}`, 422, []string{"body.retry.max_attempts"}},
		{"max_attempts 32767", `{"actor": "a", "retry": {"max_attempts": 32767}}`, 422, []string{"body.retry.max_attempts"}},
		{"an unknown key of retry", `{"actor": "a", "retry": {"max_attempt": 1}}`, 422, []string{"body.retry.max_attempt"}},
		{"a key of retry under both names", `{"actor": "a", "retry": {"base": "1s", "initial_backoff": "1s"}}`, 422, []string{"body.retry"}},
		{"retry that is no object", `{"actor": "a", "retry": 3}`, 422, []string{"body.retry"}},
		{"33 headers", `{"actor": "a", "headers": {` + numbered(33, `"h%d": "x"`) + `}}`, 422, []string{"body.headers"}},
		{"headers of 9 KiB", `{"actor": "a", "headers": {` + numbered(3, `"h%d": "`+strings.Repeat("x", 3<<10)+`"`) + `}}`, 422, []string{"body.headers"}},
		{"a header with a line break", `{"actor": "a", "headers": {"h": "a\nb"}}`, 422, []string{`body.headers["h"]`}},
		{"a header with NUL", `{"actor": "a", "headers": {"h": "a\u0000b"}}`, 422, []string{`body.headers["h"]`}},
		{"a header without a name", `{"actor": "a", "headers": {"": "a"}}`, 422, []string{`body.headers[""]`}},
		{"a header that is a number", `{"actor": "a", "headers": {"h": 1}}`, 422, []string{`body.headers["h"]`}},
		{"17 tags", `{"actor": "a", "tags": [` + numbered(17, `"t%d"`) + `]}`, 422, []string{"body.tags"}},
		{"a tag twice", `{"actor": "a", "tags": ["x", "x"]}`, 422, []string{"body.tags[1]"}},
		{"a tag with NUL", `{"actor": "a", "tags": ["x", "\u0000"]}`, 422, []string{"body.tags[1]"}},
		{"a tag with half a surrogate", `{"actor": "a", "tags": ["\ud800"]}`, 422, []string{"body.tags[0]"}},
		{"a tag that isn't UTF-8", "{\"actor\": \"a\", \"tags\": [\"\xc3\"]}", 422, []string{"body.tags[0]"}},
		{"a tag that is too long", `{"actor": "a", "tags": ["` + long + `"]}`, 422, []string{"body.tags[0]"}},
		{"metadata with NUL", `{"actor": "a", "metadata": {"x": "\u0000"}}`, 422, []string{"body.metadata"}},
		{"metadata with a huge number", `{"actor": "a", "metadata": {"x": 1e400}}`, 422, []string{"body.metadata"}},
		{"metadata that is too deep", `{"actor": "a", "metadata": {"x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, 422, []string{"body.metadata"}},
		{"metadata that is an array", `{"actor": "a", "metadata": []}`, 422, []string{"body.metadata"}},
		{"result_ttl 0", `{"actor": "a", "result_ttl": "0s"}`, 422, []string{"body.result_ttl"}},
		{"several at once", `{"actor": "A", "priority": 11, "bogus": 1}`, 422, []string{"body.actor", "body.priority", "body.bogus"}},
		{"what later releases offer", `{"actor": "a", "idempotency_key": "x", "unique_key": "x", "identity_key": "x", "concurrency_key": "x", "depends_on": [], "batch": "x"}`, 422,
			[]string{"body.idempotency_key", "body.unique_key", "body.identity_key", "body.concurrency_key", "body.depends_on", "body.batch"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := b.in(t)
			b.post("/v1/jobs", c.body).breaks(c.status, c.places...)
		})
	}
	list := into[server.JobList](b.get("/v1/jobs"), 200)
	require.Empty(t, list.Jobs, "nothing of it was stored")
}

func numbered(n int, format string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(out, ", ")
}

func TestAnswersNeverRepeatThePayload(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const secret = "hunter2"
	for _, body := range []string{
		`{"actor": "a", "payload": "` + secret + `", "bogus": 1}`,
		`{"actor": "a", "payload": "` + secret + `"`,
		`{"actor": "a", "payload": ` + secret + `}`,
		`{"actor": "a", "payload": "` + secret + `", "content_type": "text/plain"}`,
		`{"actor": "a", "payload": "` + strings.Repeat(secret, 1<<18) + `"}`,
	} {
		a := b.post("/v1/jobs", body)
		require.GreaterOrEqual(t, a.status, 400)
		require.NotContains(t, string(a.body), secret)
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		headers map[string]string
		status  int
		place   string
	}{
		"a form's":          {map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "header.Content-Type"},
		"none":              {map[string]string{"Content-Type": ""}, 415, "header.Content-Type"},
		"another charset":   {map[string]string{"Content-Type": "application/json; charset=latin1"}, 415, "header.Content-Type"},
		"another encoding":  {map[string]string{"Content-Encoding": "br"}, 415, "header.Content-Encoding"},
		"an idempotent one": {map[string]string{"Idempotency-Key": "x"}, 422, "header.Idempotency-Key"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			b.do(call{method: "POST", path: "/v1/jobs", body: `{"actor": "a"}`, headers: c.headers}).breaks(c.status, c.place)
		})
	}
	t.Run("utf-8 is said by some", func(t *testing.T) {
		a := b.do(call{method: "POST", path: "/v1/jobs", body: `{"actor": "a"}`, headers: map[string]string{"Content-Type": "application/json; charset=utf-8"}})
		require.Equal(t, 201, a.status)
	})
	t.Run("no body", func(t *testing.T) {
		b.do(call{method: "POST", path: "/v1/jobs", headers: map[string]string{"Content-Type": "application/json"}}).breaks(422, "body")
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("each job is judged alone", func(t *testing.T) {
		r := into[server.BatchResult](b.post("/v1/jobs/batch", `{"jobs": [
			{"actor": "a"}, {"actor": "A"}, {"actor": "b", "scheduled_at": "2090-01-01T00:00:00Z", "schedule_to_close": "1h"},
			{"actor": "c", "schedule_to_close": "2001-01-01T00:00:00Z"}, {"actor": "d", "delay": "1h"}, 7]}`), 200)
		require.Equal(t, 2, r.Accepted)
		require.Equal(t, 4, r.Refused)
		require.Equal(t, "pending", r.Results[0].Job.Status)
		require.Equal(t, "body.jobs[1].actor", r.Results[1].Error.Errors[0].Location)
		require.Len(t, r.Results[2].Error.Errors, 2)
		require.Equal(t, "body.jobs[3].schedule_to_close", r.Results[3].Error.Errors[0].Location)
		require.Equal(t, "scheduled", r.Results[4].Job.Status)
		require.Equal(t, "body.jobs[5]", r.Results[5].Error.Errors[0].Location)
		require.Equal(t, 5, r.Results[5].Index)
	})
	t.Run("or all together", func(t *testing.T) {
		before := len(into[server.JobList](b.get("/v1/jobs?limit=1000"), 200).Jobs)
		b.post("/v1/jobs/batch", `{"atomic": true, "jobs": [{"actor": "a"}, {"actor": "A"}]}`).breaks(422, "body.jobs[1].actor")
		b.post("/v1/jobs/batch", `{"atomic": true, "jobs": [{"actor": "a"}, {"actor": "b", "schedule_to_close": "2001-01-01T00:00:00Z"}]}`).breaks(422, "body.jobs[1].schedule_to_close")
		require.Len(t, into[server.JobList](b.get("/v1/jobs?limit=1000"), 200).Jobs, before)
		r := into[server.BatchResult](b.post("/v1/jobs/batch", `{"atomic": true, "jobs": [{"actor": "a"}, {"actor": "b"}]}`), 200)
		require.Equal(t, 2, r.Accepted)
	})
	t.Run("many that the database finds late", func(t *testing.T) {
		var jobs []map[string]any
		for i := range 300 {
			at := time.Now().Add(time.Hour + time.Duration(i)*time.Second).Format(time.RFC3339)
			jobs = append(jobs, map[string]any{"actor": "a", "scheduled_at": at, "schedule_to_close": "30m"})
		}
		jobs = append(jobs, map[string]any{"actor": "a"})
		body, err := json.Marshal(map[string]any{"jobs": jobs})
		require.NoError(t, err)
		r := into[server.BatchResult](b.post("/v1/jobs/batch", string(body)), 200)
		require.Equal(t, 1, r.Accepted)
		require.Equal(t, 300, r.Refused)
	})
	t.Run("ten thousand and no more", func(t *testing.T) {
		r := into[server.BatchResult](b.post("/v1/jobs/batch", `{"jobs": [`+numbered(10_000, `{"actor": "a", "payload": %d}`)+`]}`), 200)
		require.Equal(t, 10_000, r.Accepted)
		b.post("/v1/jobs/batch", `{"jobs": [`+numbered(10_001, `{"actor": "a", "payload": %d}`)+`]}`).breaks(422, "body.jobs")
	})
	for name, c := range map[string]struct {
		body, place string
		status      int
	}{
		"no jobs":          {`{"jobs": []}`, "body.jobs", 422},
		"jobs missing":     {`{}`, "body.jobs", 422},
		"jobs no array":    {`{"jobs": {}}`, "body.jobs", 422},
		"an unknown field": {`{"jobs": [{"actor": "a"}], "x": 1}`, "body.x", 422},
		"atomic a string":  {`{"jobs": [{"actor": "a"}], "atomic": "yes"}`, "body.atomic", 422},
		"not JSON":         {`{"jobs": [}`, "body", 400},
		"an array":         {`[]`, "body", 422},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			b.post("/v1/jobs/batch", c.body).breaks(c.status, c.place)
		})
	}
}

func TestEnqueueWakesWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := make(chan string, 100)
	listening := make(chan struct{})
	done := make(chan struct{})
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	go func() {
		defer close(done)
		b.store.Listen(ctx, "", func(queue string) {
			if queue == "" {
				close(listening)
				return
			}
			heard <- queue
		})
	}()
	<-listening
	b.enqueue(`{"actor": "a", "queue": "later", "delay": "1h"}`)
	b.enqueue(`{"actor": "a", "queue": "own"}`)
	require.Equal(t, "own", <-heard, "a job that isn't due wakes nobody")
	stop()
	<-done
}
