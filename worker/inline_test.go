package worker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/store"
)

func inlineDefaults(attempts, backoff string) string {
	return withDefaults("execution: {inline_retries: {attempts: " + attempts + ", backoff: " + backoff + "}}")
}

func TestQuickRepetitionsStayWithinOneAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, inlineDefaults("5", "10ms"))
	b.push("inline")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "inline"})[0]
	j := b.settled(id)
	require.Equal(t, store.Succeeded, j.Status)
	require.Equal(t, 1, j.Attempt)
	var meta abi.Meta
	require.NoError(t, json.Unmarshal(j.Result, &meta))
	require.Equal(t, 2, meta.Inline, "the guest knows which repetition it is")
	require.Equal(t, "GuestError", meta.Previous.Class)
	a := b.attempts(id)
	require.Len(t, a, 1, "only the last one is recorded")
	require.Equal(t, 2, a[0].Inline)
}

func TestWhatIsLeftAfterQuickRepetitionsIsRetriedOnTheCurve(t *testing.T) {
	t.Parallel()
	b := setup(t, inlineDefaults("1", "0s"))
	b.push("fail")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"max_attempts":2}`)})[0]
	require.Equal(t, 2, b.settled(id).Attempt)
	a := b.attempts(id)
	require.Equal(t, []int{1, 0}, []int{a[0].Inline, a[1].Inline}, "the last attempt's failure isn't one that would be retried")
}

func TestNothingIsRepeatedThatTheLadderWouldntRetryOnTheCurve(t *testing.T) {
	t.Parallel()
	b := setup(t, withDefaults(`execution: {inline_retries: {attempts: 3, backoff: 0s}}, classifiers: [{use: "builtin:rate_limit_aware", with: {claim_kind: transient}}]`))
	b.push("fail", "defer")
	b.start()
	for _, job := range []store.NewJob{
		{Actor: "fail", Payload: failWith("x", `,"permanent":true`)},
		{Actor: "fail", Payload: failWith("x", `,"http":{"status":429,"headers":{"retry-after":"60"}}`)}, // an explicit delay
		{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"kind":"indefinite","base":"1h"}`)},
		{Actor: "defer", Payload: []byte("s"), ContentType: "text/plain"},
	} {
		id := b.enqueue(job)[0]
		b.when(id, func(*store.Job) bool { return len(b.attempts(id)) > 0 })
		require.Zero(t, b.attempts(id)[0].Inline, string(job.Payload))
	}
}

func TestARepetitionNeverPassesTheAttemptsTimeOrTheDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, inlineDefaults("3", "30s"))
	b.push("fail", "loop")
	b.start()
	short := retryOptions(`{"base":"1h","cap":"2h"}`)
	short.StartToCloseMS = 20_000
	for _, job := range []store.NewJob{
		{Actor: "fail", Payload: failWith("x"), Options: short},
		{Actor: "fail", Payload: failWith("x"), ScheduleToClose: 20 * time.Second},
	} {
		began := time.Now()
		id := b.enqueue(job)[0]
		b.when(id, func(*store.Job) bool { return len(b.attempts(id)) > 0 })
		require.Zero(t, b.attempts(id)[0].Inline)
		require.Less(t, time.Since(began), 25*time.Second)
	}
}
