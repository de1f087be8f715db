package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
)

func (b *bundle) pushClassifier(name string, wasm []byte, query string) answer {
	b.t.Helper()
	return b.do(call{method: "PUT", path: "/v1/classifiers/" + name + query, body: string(wasm), headers: map[string]string{"Content-Type": "application/wasm"}})
}

func TestClassifiersArePushedListedTriedAndDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wasm := fixture(t, "classify.wasm")
	require.True(t, into[server.PushedActor](b.pushClassifier("partner", wasm, "?dry_run=true"), 200).DryRun)
	b.get("/v1/classifiers/partner").problem(404)
	require.Equal(t, 1, into[server.PushedActor](b.pushClassifier("partner", wasm, ""), 201).Version)
	require.True(t, into[server.PushedActor](b.pushClassifier("partner", wasm, ""), 200).Unchanged)
	require.Equal(t, []string{"classify"}, into[server.Actor](b.get("/v1/classifiers/partner"), 200).Entries)
	require.Len(t, into[struct{ Classifiers []server.Actor }](b.get("/v1/classifiers"), 200).Classifiers, 1)
	b.get("/v1/actors/partner").problem(404)

	p := b.pushClassifier("impure", fixture(t, "pure.wasm"), "").problem(422)
	require.Equal(t, "classifier.import", p.Errors[0].Rule)

	tried := into[server.TryResult](b.post("/v1/classifiers/partner/try", `{"failure":{"class":"x","message":"m"},"attempt":9,"now":"2026-03-01T12:00:00Z","settings":{"nonsense":1}}`), 200)
	require.False(t, tried.Claim)
	require.NotEmpty(t, tried.Broken)
	require.Equal(t, "exhausted", *tried.Decision.DeadReason)
	b.post("/v1/classifiers/partner/try", `{"failure":[]}`).breaks(422, "body.failure")
	b.post("/v1/classifiers/partner/try", `{"failure":{"class":"x"},"attempt":0}`).breaks(422, "body.attempt")
	b.post("/v1/classifiers/partner/try", `{"bogus":1}`).breaks(422, "body")
	b.post("/v1/classifiers/partner/try", `{`).breaks(400, "body")
	b.post("/v1/classifiers/nobody/try", `{"failure":{"class":"x"}}`).problem(404)

	require.Equal(t, 204, b.do(call{method: "DELETE", path: "/v1/classifiers/partner"}).status)
	b.do(call{method: "DELETE", path: "/v1/classifiers/partner"}).problem(404)
}

func TestStartByIsALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(`{"actor": "a", "start_by": "10m"}`)
	b.enqueue(`{"actor": "a", "delay": "1m", "start_by": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`)
	for body, places := range map[string][]string{
		`{"actor": "a", "delay": "2h", "start_by": "1h"}`:                                                      {"body.delay", "body.start_by"},
		`{"actor": "a", "delay": "2h", "start_by": "1h", "schedule_to_close": "3h"}`:                           {"body.delay", "body.start_by"},
		`{"actor": "a", "delay": "4h", "start_by": "5h", "schedule_to_close": "3h"}`:                           {"body.delay", "body.schedule_to_close"},
		`{"actor": "a", "scheduled_at": "2090-01-01T00:00:00Z", "start_by": "1h"}`:                             {"body.scheduled_at", "body.start_by"},
		`{"actor": "a", "start_by": "2001-01-01T00:00:00Z"}`:                                                   {"body.start_by"},
		`{"actor": "a", "start_by": "0s"}`:                                                                     {"body.start_by"},
		`{"actor": "a", "start_by": "soon"}`:                                                                   {"body.start_by"},
		`{"actor": "a", "retry": {"kind": "indefinite", "time_budget": "1h"}, "delay": "2h", "start_by":"3h"}`: {"body.delay", "body.retry.time_budget"},
	} {
		b.post("/v1/jobs", body).breaks(422, places...)
	}
	var starts int
	require.NoError(t, b.store.Pool().QueryRow(t.Context(), "SELECT (SELECT count(*) FROM taskq.ready WHERE start_by IS NOT NULL) + (SELECT count(*) FROM taskq.scheduled WHERE start_by IS NOT NULL)").Scan(&starts))
	require.Equal(t, 2, starts)
}
