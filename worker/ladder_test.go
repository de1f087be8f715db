package worker_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/retry"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

// withDefaults is quick with more of a defaults block.
func withDefaults(more string) string {
	return strings.Replace(quick, "cap: 1s}}", "cap: 1s}, "+more+"}", 1)
}

// lines is a log that tests read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) with(words ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			out = append(out, line)
		}
	}
	return out
}

// listen starts a worker whose log can be read, and which is patient with
// classifiers: the machine may be busy.
func (b *bundle) listen() (*worker.Worker, *lines) {
	b.t.Helper()
	log := &lines{}
	w, _ := b.startWith(worker.Options{
		Log: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info}), ClassifierTimeout: 2 * time.Second,
	})
	return w, log
}

func (b *bundle) pushClassifier(tenant store.Tenant, name, fixture string) {
	b.t.Helper()
	_, err := b.catalog.PushClassifier(b.ctx, tenant, name, wasmOf(b.t, fixture))
	require.NoError(b.t, err)
}

func failWith(class string, more ...string) []byte {
	return fmt.Appendf(nil, `{"class":%q,"message":"no"%s}1`, class, strings.Join(more, ""))
}

func TestEachRungDecidesAndIsNamedOnTheRow(t *testing.T) {
	t.Parallel()
	b := setup(t, withDefaults(`classification: {permanent: ["acme.Never*"], retryable: ["java.net.*"]},
  classifiers: [partner, broken, shared/common, {use: "builtin:rate_limit_aware", with: {claim_kind: transient}}, "builtin:failure_taxonomy"]`)+`
queues:
  partner: {classifiers: [gone, {use: partner, with: {kind: non_retryable}}]}
  broken: {classifiers: [{use: partner, with: {trap: 1}}, {use: partner, with: {nonsense: 1}}, {use: shared/common, with: {kind: transient, delay_ms: 3600000}}]}
tenants:
  default:
    actors:
      fail: {}
      listed: {retry_on: ["acme.Only"], non_retryable_errors: ["acme.Only"]}
      refused: {non_retryable_errors: ["acme.No"]}
      mapped: {mapper: partner, settings: {fail: {class: acme.Mapped, message: m, permanent: true}}}
      rescued: {mapper: partner, settings: {succeed: {rescued: true}}}
`)
	b.push("fail")
	for _, name := range []string{"listed", "refused", "mapped", "rescued"} {
		b.pushAs(name, "fail")
	}
	b.pushClassifier(b.tenant, "partner", "classify")
	b.pushClassifier(store.Platform, "common", "classify")
	w, log := b.listen()

	for _, c := range []struct {
		name, actor, queue string
		payload            []byte
		by, class, reason  string
		status             store.Status
		attempts           int
	}{
		{name: "always terminal", payload: failWith("PayloadValidationError"), by: "always_terminal", status: store.Failed, reason: "payload_invalid", attempts: 1},
		{name: "mapper", actor: "mapped", payload: failWith("x.Y"), by: "mapper", class: "acme.Mapped", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "mapper makes a success", actor: "rescued", payload: failWith("x.Y"), by: "mapper", status: store.Succeeded, attempts: 1},
		{name: "guest", payload: failWith("java.net.X", `,"permanent":true`), by: "guest", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "deny by retry_on", actor: "listed", payload: failWith("acme.Other"), by: "deny", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "retry_on alone counts", actor: "listed", payload: failWith("acme.Only"), by: "policy", status: store.Failed, reason: "exhausted", attempts: 3},
		{name: "deny by the actor's list", actor: "refused", payload: failWith("acme.No"), by: "deny", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "deny by the queue's, an ancestor", payload: failWith("x", `,"ancestors":["acme.NeverAgain"]`), by: "deny", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "a module", queue: "partner", payload: failWith("x.Y"), by: "classifier:partner", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "a native one", payload: failWith("x", `,"http":{"status":404}`), by: "classifier:builtin:failure_taxonomy", status: store.Failed, reason: "non_retryable", attempts: 1},
		{name: "allow", payload: failWith("java.net.Reset"), by: "allow", status: store.Failed, reason: "exhausted", attempts: 3},
		{name: "policy", payload: failWith("x.Y"), by: "policy", status: store.Failed, reason: "exhausted", attempts: 3},
	} {
		if c.actor == "" {
			c.actor = "fail"
		}
		id := b.enqueue(store.NewJob{Actor: c.actor, Queue: c.queue, Payload: c.payload})[0]
		j := b.settled(id)
		require.Equal(t, c.status, j.Status, c.name)
		require.Equal(t, c.by, j.DecidedBy, c.name)
		attempts := b.attempts(id)
		require.Len(t, attempts, c.attempts, c.name)
		if c.class != "" {
			require.Equal(t, c.class, j.ErrorClass, c.name)
		}
		if c.status == store.Failed {
			require.Equal(t, c.reason, retry.DeadReason(j.DeadReason).String(), c.name)
			require.Contains(t, string(attempts[0].Policy), `"base": "20ms"`, c.name)
			require.Equal(t, c.by, attempts[0].DecidedBy, c.name)
		}
	}

	id := b.enqueue(store.NewJob{Actor: "fail", Queue: "broken", Payload: failWith("x.Y")})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Scheduled })
	a := b.attempts(id)
	require.Equal(t, "classifier:shared/common", a[0].DecidedBy, "broken ones are skipped")
	require.EqualValues(t, time.Hour.Milliseconds(), *a[0].DelayMS, "an explicit delay is used exactly")
	for _, how := range []string{"breakage=missing", "breakage=error", "breakage=nonsense"} {
		require.NotEmpty(t, log.with("[WARN]", "is skipped", how), how)
	}
	require.Positive(t, w.Stats().BrokenClassifiers.Load())
}

func TestAClassifierThatLoopsCostsTheJobItsLimitAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, withDefaults(`classifiers: [{use: partner, with: {loop: 1}}]`))
	b.push("fail")
	b.pushClassifier(b.tenant, "partner", "classify")
	w, _ := b.start()
	j := b.settled(b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"max_attempts":1}`)})[0])
	require.Equal(t, "policy", j.DecidedBy)
	require.EqualValues(t, 1, w.Stats().BrokenClassifiers.Load())
}

func TestALiveChangeOfAPolicyHoldsFromTheNextClaim(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("fail")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"base":"1h"}`)})[0]
	b.when(id, func(j *store.Job) bool { return j.Status == store.Scheduled })
	b.reload(quick + "queues: {default: {retry: {kind: non_retryable, cap: 2h}}}\n")
	b.dueNow()
	j := b.settled(id)
	require.Equal(t, "MaxAttemptsExceeded", j.ErrorClass, "one attempt is all that the new policy gives")
	a := b.attempts(id)
	require.Contains(t, string(a[0].Policy), `"kind": "transient"`, "the attempt keeps the policy that it ran under")
	require.Contains(t, string(a[1].Policy), `"kind": "non_retryable"`)
}

func TestWhatAnEnqueueSaidIsCorrectedWithAnEventOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	b.push("fail")
	b.reload(quick + "tenants: {default: {ceilings: {max_attempts: 2}}}\n")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"max_attempts":9}`)})[0]
	j := b.settled(id)
	require.Equal(t, 2, j.Attempt)
	require.Equal(t, []string{"job.dead", "policy_adjusted"}, b.eventNames(id))
}

func TestARateLimitWithAndWithoutADeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, withDefaults(`classifiers: ["builtin:rate_limit_aware"]`))
	b.push("fail")
	b.start()
	payload := failWith("HttpError", `,"http":{"status":429,"headers":{"retry-after":"3600"}}`)
	const storm = 50
	jobs := make([]store.NewJob, 2*storm)
	for i := range jobs {
		jobs[i] = store.NewJob{Actor: "fail", Payload: payload, Options: retryOptions(`{"max_attempts":1}`)}
		if i < storm {
			jobs[i].ScheduleToClose = 2 * time.Hour
		}
	}
	ids := b.enqueue(jobs...)
	for round := 1; round <= 2; round++ {
		for _, id := range ids {
			b.when(id, func(j *store.Job) bool { return j.Status == store.Scheduled && j.Attempt == round })
		}
		if round == 1 {
			b.dueNow()
		}
	}
	for i, id := range ids {
		a := b.attempts(id)
		require.Equal(t, "indefinite", a[0].RetryKind)
		require.EqualValues(t, 3_600_000, *a[0].DelayMS)
		if i < storm {
			require.Empty(t, b.eventNames(id))
		} else {
			require.Equal(t, []string{"indefinite_without_deadline"}, b.eventNames(id), "once, not at each attempt")
		}
	}
	// What has a deadline before the server's wish ends now.
	late := b.enqueue(store.NewJob{Actor: "fail", Payload: payload, ScheduleToClose: time.Minute})[0]
	j := b.settled(late)
	require.Equal(t, "DeadlineExceeded", j.ErrorClass)
	require.Equal(t, "schedule_to_close reached before next dispatch", j.Message)
}

func TestMaxIndefiniteAgeEndsWhatNothingElseWould(t *testing.T) {
	t.Parallel()
	b := setup(t, "host: {max_indefinite_age: 1h}\n"+quick)
	b.push("fail")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("x"), Options: retryOptions(`{"kind":"indefinite","base":"2h","cap":"2h"}`)})[0]
	j := b.settled(id)
	require.Equal(t, "max_indefinite_age reached before next dispatch", j.Message)
	require.Equal(t, []string{"job.dead"}, b.eventNames(id), "it has a deadline, so no event says that it hasn't")
}

func TestAThousandSnoozesExhaustNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, "host: {min_deferral: 1ms}\n"+quick)
	b.push("snooze-thousand")
	b.start()
	id := b.enqueue(store.NewJob{Actor: "snooze-thousand", Options: retryOptions(`{"max_attempts":1}`)})[0]
	j := b.settled(id)
	require.Equal(t, store.Succeeded, j.Status)
	require.Equal(t, 1, j.Attempt)
	require.Equal(t, 1000, j.Extra.Snoozes)
	require.EqualValues(t, 1001, j.Epoch)
}

func TestASignalIsFlooredAndShortened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host string
		want int64
	}{
		{"{min_deferral: 20s}", 20_000},
		{"{min_deferral: 1ms, max_deferral: 2s}", 2_000},
		{"{max_retry_backoff: 3s}", 5_000}, // no matter of signals
	} {
		b := setup(t, "host: "+c.host+"\n"+quick)
		b.push("defer")
		_, log := b.listen()
		id := b.enqueue(store.NewJob{Actor: "defer", Payload: []byte("s"), ContentType: "text/plain"})[0]
		b.when(id, func(j *store.Job) bool { return len(b.attempts(id)) == 1 })
		require.EqualValues(t, c.want, *b.attempts(id)[0].DelayMS, c.host)
		require.Equal(t, c.want == 2_000, len(log.with("a deferral is shortened")) == 1)
	}
}

// reload gives the worker another configuration.
func (b *bundle) reload(yaml string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(b.file, []byte(yaml), 0o600))
	require.NoError(b.t, b.config.Reload())
}

// dueNow makes everything that is scheduled due.
func (b *bundle) dueNow() {
	b.t.Helper()
	_, err := b.store.Pool().Exec(b.ctx, "UPDATE taskq.scheduled SET due_at = clock_timestamp()")
	require.NoError(b.t, err)
}

func (b *bundle) eventNames(id store.ID) []string {
	b.t.Helper()
	events, err := b.store.Events(b.ctx, b.tenant, id)
	require.NoError(b.t, err)
	names := []string{}
	for _, e := range events {
		names = append(names, e.Event)
	}
	slices.Sort(names)
	return names
}
