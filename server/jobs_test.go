package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/server"
	"github.com/taskq-host/taskq-host/store"
)

// claim takes one due job as a worker would.
func (b *bundle) claim(queue string) (worker store.ID, job store.Claimed) {
	b.t.Helper()
	worker = store.NewID()
	require.NoError(b.t, b.store.Register(b.ctx, store.Worker{ID: worker, Name: "w", Version: "test", Concurrency: 1, Queues: []string{"*"}}, time.Minute))
	c, err := b.store.Claim(b.ctx, store.ClaimRequest{Queue: queue, Worker: worker, Lease: store.NewID(), Limit: 1})
	require.NoError(b.t, err)
	require.Len(b.t, c.Jobs, 1)
	return worker, c.Jobs[0]
}

func (b *bundle) end(worker store.ID, j store.Claimed, e store.Ending) {
	b.t.Helper()
	e.Lease, e.Index, e.Keep = j.Lease, j.Index, time.Hour
	verdicts, err := b.store.End(b.ctx, 0, worker, []store.Ending{e})
	require.NoError(b.t, err)
	require.Len(b.t, verdicts, 1)
}

func TestShowJob(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("a result that is JSON", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "queue": "own", "payload": 1}`)
		worker, j := b.claim("own")
		require.Equal(t, "running", into[server.Job](b.get("/v1/jobs/"+e.ID), 200).Status)
		b.end(worker, j, store.Ending{Action: store.End, Status: store.Succeeded, Result: []byte(`{"sum": 3}`)})
		got := into[server.Job](b.get("/v1/jobs/"+e.ID), 200)
		require.Equal(t, "succeeded", got.Status)
		require.JSONEq(t, `{"sum": 3}`, string(got.Result))
		require.Equal(t, "application/json", got.ResultContentType)
		require.Equal(t, 1, got.Attempt)
		attempts := into[struct{ Attempts []server.Attempt }](b.get("/v1/jobs/"+e.ID+"/attempts"), 200).Attempts
		require.Len(t, attempts, 1)
		require.Equal(t, "succeeded", attempts[0].Outcome)
	})
	t.Run("a result that isn't, and none", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "queue": "own"}`)
		worker, j := b.claim("own")
		b.end(worker, j, store.Ending{Action: store.End, Status: store.Succeeded, Result: []byte("hi"), ContentType: "text/plain"})
		got := into[server.Job](b.get("/v1/jobs/"+e.ID), 200)
		require.Equal(t, "aGk=", got.ResultBase64)
		require.Empty(t, got.Result)
		e = b.enqueue(`{"actor": "a", "queue": "own"}`)
		worker, j = b.claim("own")
		b.end(worker, j, store.Ending{Action: store.End, Status: store.Succeeded})
		require.Equal(t, "null", string(into[server.Job](b.get("/v1/jobs/"+e.ID), 200).Result))
	})
	t.Run("a failure with its reasons", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "queue": "own"}`)
		worker, j := b.claim("own")
		b.end(worker, j, store.Ending{
			Action: store.End, Status: store.Failed, DeadReason: int16(retry.Exhausted), ErrorClass: "GuestPanic", Message: "boom", DecidedBy: "policy",
			Attempt: &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "GuestPanic", Ancestors: []string{"GuestDeath"}, Message: "boom", DecidedBy: "policy", Origin: "guest"},
		})
		got := into[server.Job](b.get("/v1/jobs/"+e.ID), 200)
		require.Equal(t, "failed", got.Status)
		require.Equal(t, "exhausted", got.DeadReason)
		require.Equal(t, "GuestPanic", got.ErrorClass)
		a := into[struct{ Attempts []server.Attempt }](b.get("/v1/jobs/"+e.ID+"/attempts"), 200).Attempts[0]
		require.Equal(t, []string{"GuestDeath"}, a.Ancestors)
		require.Equal(t, "guest", a.Origin)
	})
	t.Run("nothing has happened yet", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "delay": "1h"}`)
		require.Empty(t, into[struct{ Attempts []server.Attempt }](b.get("/v1/jobs/"+e.ID+"/attempts"), 200).Attempts)
		require.Empty(t, into[struct{ Events []server.Event }](b.get("/v1/jobs/"+e.ID+"/events"), 200).Events)
	})
	for _, path := range []string{"", "/attempts", "/events"} {
		t.Run("no such job "+path, func(t *testing.T) {
			b := b.in(t)
			b.get("/v1/jobs/" + store.NewID().String() + path).problem(404)
			require.Equal(t, "must be a UUID", b.get("/v1/jobs/nonsense"+path).breaks(422, "path.id").Errors[0].Rule)
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waited := make(chan answer, 1)

	t.Run("answers at the end of the job", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "queue": "own"}`)
		worker, j := b.claim("own")
		go func() { waited <- b.get("/v1/jobs/" + e.ID + "?wait=1m") }()
		eventually(t, b.api.SomebodyWaits)
		b.end(worker, j, store.Ending{Action: store.End, Status: store.Succeeded})
		require.Equal(t, "succeeded", into[server.Job](<-waited, 200).Status)
	})
	t.Run("answers when the time is over", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "delay": "1h"}`)
		require.Equal(t, "scheduled", into[server.Job](b.get("/v1/jobs/"+e.ID+"?wait=20ms"), 200).Status)
	})
	t.Run("needs a duration that is bounded", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "delay": "1h"}`)
		for _, wait := range []string{"2m", "-1s", "30", "soon"} {
			b.in(t).get("/v1/jobs/"+e.ID+"?wait="+wait).breaks(422, "query.wait")
		}
	})
	t.Run("answers when the server stops", func(t *testing.T) {
		e := b.enqueue(`{"actor": "a", "delay": "1h"}`)
		go func() { waited <- b.get("/v1/jobs/" + e.ID + "?wait=1m") }()
		eventually(t, b.api.SomebodyWaits)
		b.api.Close()
		require.Equal(t, "scheduled", into[server.Job](<-waited, 200).Status)
	})
}

func TestListJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []string
	for i := range 7 {
		ids = append(ids, b.enqueue(fmt.Sprintf(`{"actor": "a%d", "queue": "q%d", "tags": ["t%d"], "payload": "p"}`, i%2, i%3, i)).ID)
	}
	scheduled := b.enqueue(`{"actor": "late", "delay": "1h"}`).ID
	list := func(query string) server.JobList {
		t.Helper()
		return into[server.JobList](b.get("/v1/jobs"+query), 200)
	}

	all := list("")
	require.Len(t, all.Jobs, 8)
	require.Equal(t, scheduled, all.Jobs[0].ID, "newest first")
	require.Empty(t, all.Jobs[0].Payload, "a list holds no payloads")
	require.Empty(t, all.Next)

	require.Equal(t, scheduled, list("?status=scheduled").Jobs[0].ID)
	require.Len(t, list("?status=scheduled,pending").Jobs, 8)
	require.Empty(t, list("?status=failed").Jobs)
	require.Len(t, list("?actor=a1").Jobs, 3)
	require.Len(t, list("?queue=q0").Jobs, 3)
	require.Empty(t, list("?queue=never").Jobs)
	require.Equal(t, ids[4], list("?tag=t4").Jobs[0].ID)

	var walked []string
	for cursor := ""; ; {
		page := list("?limit=3" + cursor)
		for _, j := range page.Jobs {
			walked = append(walked, j.ID)
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	require.Len(t, walked, 8)
	require.Equal(t, all.Jobs[7].ID, walked[7])

	for query, place := range map[string]string{
		"?limit=0": "query.limit", "?limit=1001": "query.limit", "?limit=x": "query.limit", "?status=done": "query.status[0]", "?queue=A": "query.queue",
		"?cursor=x": "query.cursor", "?bogus=1": "query.bogus", "?tag=%00": "query.tag", "?tag=%ff": "query.tag", "?tenant=other": "query.tenant",
	} {
		t.Run(query, func(t *testing.T) { b.in(t).get("/v1/jobs"+query).breaks(422, place) })
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cancel := func(id string) string {
		t.Helper()
		return into[server.Cancelled](b.do(call{method: "POST", path: "/v1/jobs/" + id + "/cancel"}), 200).Result
	}
	queued := b.enqueue(`{"actor": "a", "delay": "1h"}`).ID
	require.Equal(t, "cancelled", cancel(queued))
	require.Equal(t, "cancelled", into[server.Job](b.get("/v1/jobs/"+queued), 200).Status)
	require.Equal(t, "finished", cancel(queued), "it is safe to repeat")

	heard := make(chan string, 10)
	ctx, stop := context.WithCancel(b.ctx)
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		b.store.Listen(ctx, "", func(queue string) { heard <- queue })
	}()
	defer func() { stop(); <-listened }()
	require.Empty(t, <-heard)
	running := b.enqueue(`{"actor": "a", "queue": "own"}`).ID
	b.claim("own")
	require.Equal(t, "requested", cancel(running))
	require.True(t, into[server.Job](b.get("/v1/jobs/"+running), 200).Cancelling)
	for queue := range heard {
		if queue == store.WakeBeat {
			break
		}
	}

	b.do(call{method: "POST", path: "/v1/jobs/" + store.NewID().String() + "/cancel"}).problem(404)
	b.post("/v1/jobs/"+running+"/cancel", `{"reason": "x"}`).breaks(422, "body.reason")
	require.Equal(t, "requested", into[server.Cancelled](b.post("/v1/jobs/"+running+"/cancel", `{}`), 200).Result)
	b.do(call{method: "POST", path: "/v1/jobs/" + running + "/cancel", token: b.issue(b.tenant, "submitter")}).problem(403)
}

func TestTenantsDontSeeEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.enqueue(`{"actor": "a", "tags": ["x"]}`).ID
	require.Equal(t, 201, b.push("mine", fixture(t, "noop.wasm"), "").status)
	as := func(method, path string) answer {
		return b.do(call{method: method, path: path, token: b.otherToken})
	}
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/jobs/" + id}, {"GET", "/v1/jobs/" + id + "/attempts"}, {"GET", "/v1/jobs/" + id + "/events"}, {"POST", "/v1/jobs/" + id + "/cancel"},
		{"GET", "/v1/actors/mine"}, {"DELETE", "/v1/actors/mine"},
	} {
		theirs := as(c.method, c.path)
		theirs.problem(404)
		none := as(c.method, map[bool]string{true: "/v1/actors/none", false: "/v1/jobs/" + store.NewID().String()}[c.path == "/v1/actors/mine"])
		if c.method == "GET" || c.method == "DELETE" {
			require.Equal(t, string(none.body), string(theirs.body), "a foreign id reads as one that isn't there")
		}
	}
	require.Empty(t, into[server.JobList](as("GET", "/v1/jobs"), 200).Jobs)
	require.Empty(t, into[server.JobList](as("GET", "/v1/jobs?tag=x"), 200).Jobs)
	require.Empty(t, into[struct{ Actors []server.Actor }](as("GET", "/v1/actors"), 200).Actors)
	names := func(a answer) (out []string) {
		for _, q := range into[struct{ Queues []server.Queue }](a, 200).Queues {
			out = append(out, q.Name)
		}
		return out
	}
	require.Equal(t, []string{"big", "default", "own", "payments.charge", "slow"}, names(b.get("/v1/queues")))
	require.Equal(t, []string{"big", "default", "slow"}, names(as("GET", "/v1/queues")))

	require.Equal(t, "pending", into[server.Job](b.get("/v1/jobs/"+id), 200).Status, "and nobody else's call changed it")
	same := into[server.EnqueuedJob](b.do(call{method: "POST", path: "/v1/jobs", body: `{"actor": "charge"}`, token: b.otherToken}), 201)
	require.Equal(t, "default", same.Queue, "another tenant's configuration says nothing")
	require.Len(t, into[server.JobList](as("GET", "/v1/jobs"), 200).Jobs, 1)
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(`{"actor": "a", "queue": "own"}`)
	id, _ := b.claim("own")
	workers := into[struct{ Workers []server.Worker }](b.get("/v1/admin/workers"), 200).Workers
	require.Len(t, workers, 1)
	require.Equal(t, id.String(), workers[0].ID)
	b.do(call{method: "GET", path: "/v1/admin/workers", token: b.issue(b.tenant, "operator")}).problem(403)
}

func TestMetadataIsKeptAsJSON(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enqueue(`{"actor": "a", "metadata": {"n": 12345678901234567890, "s": "\ud83d\ude00"}}`)
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(into[server.Job](b.get("/v1/jobs/"+e.ID), 200).Metadata, &m))
	require.Equal(t, "12345678901234567890", string(m["n"]))
}
