package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/store"
	"github.com/taskq-host/taskq-host/worker"
)

const hookConfig = `
tenants:
  default:
    actors:
      hook: {hooks: {success: self, cancel: self, retry_exhausted: self}}
      loop: {hooks: {cancel: hook}}
      fail: {hooks: {retry_exhausted: hook}}
      defer: {hooks: {retry_exhausted: hook, success: hook}}
      breaks: {hooks: {success: hook-breaks, retry_exhausted: hook-breaks, timeout: 100ms}}
      lost: {hooks: {success: nobody}}
`

// told finds what a hook was told about a job.
func (l *lines) told(t *testing.T, id store.ID) (told []abi.HookInput) {
	t.Helper()
	for _, line := range l.with("guest: ", `"id":"`+id.String()) {
		_, record, _ := strings.Cut(line, `{"event"`)
		var in abi.HookInput
		require.NoError(t, json.NewDecoder(strings.NewReader(`{"event"`+record)).Decode(&in))
		told = append(told, in)
	}
	return told
}

func TestAHookIsToldEachEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, quick+hookConfig)
	b.push("hook", "loop", "fail", "defer")
	w, log := b.listen()
	b.enqueue(store.NewJob{Actor: "hook"})
	success := b.enqueue(store.NewJob{Actor: "hook", Tags: []string{"t"}, Headers: map[string]string{"k": "v"}})[0]
	exhausted := b.enqueue(store.NewJob{Actor: "hook", Payload: []byte(`{"class":"acme.Oops","message":"no"}`), Options: retryOptions(`{"max_attempts":2}`)})[0]
	permanent := b.enqueue(store.NewJob{Actor: "fail", Payload: failWith("acme.No", `,"permanent":true`)})[0]
	late := b.enqueue(store.NewJob{Actor: "defer", Payload: []byte("s"), ContentType: "text/plain", ScheduleToClose: 2 * time.Second})[0]
	cancelled := b.enqueue(store.NewJob{Actor: "loop"})[0]
	b.when(cancelled, func(j *store.Job) bool { return j.Status == store.Running })
	_, err := b.store.Cancel(b.ctx, b.tenant, []store.ID{cancelled}, time.Hour)
	require.NoError(t, err)
	require.NoError(t, b.store.NotifyCancel(b.ctx))

	for id, want := range map[store.ID]struct {
		event          abi.HookEvent
		status, reason string
		class          string
		attempt        int
	}{
		success:   {event: abi.HookSuccess, status: "succeeded", attempt: 1},
		exhausted: {event: abi.HookRetryExhausted, status: "failed", reason: "exhausted", class: "acme.Oops", attempt: 2},
		permanent: {event: abi.HookRetryExhausted, status: "failed", reason: "non_retryable", class: "acme.No", attempt: 1},
		late:      {event: abi.HookRetryExhausted, status: "failed", reason: "deadline", attempt: 1},
		cancelled: {event: abi.HookCancel, status: "cancelled", attempt: 1},
	} {
		var told []abi.HookInput
		require.Eventually(t, func() bool { told = log.told(t, id); return len(told) > 0 }, 20*time.Second, 10*time.Millisecond, want.event)
		require.Len(t, told, 1, "once, at the end")
		in := told[0]
		require.Equal(t, want.event, in.Event)
		require.Equal(t, want.status, in.Job.Status)
		require.Equal(t, want.reason, in.DeadReason)
		require.Equal(t, want.attempt, in.Job.Attempt)
		if want.class != "" {
			require.Equal(t, want.class, in.Failure.Class)
		}
		require.True(t, b.job(id).Status.Terminal(), "after the commit")
	}
	in := log.told(t, success)[0]
	require.Equal(t, []string{"t"}, in.Job.Tags)
	require.Equal(t, map[string]string{"k": "v"}, in.Job.Headers)
	require.Zero(t, w.Stats().BrokenHooks.Load())
}

func TestABrokenHookAltersNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, quick+hookConfig)
	b.pushAs("breaks", "hook")
	b.pushAs("lost", "hook")
	p, err := b.catalog.Push(b.ctx, b.tenant, "hook-breaks", wasmOf(t, "hook-breaks"))
	require.NoError(t, err)
	require.Contains(t, p.Warnings[0], "hooks only")
	w, log := b.listen()
	trapped := b.enqueue(store.NewJob{Actor: "breaks"})[0]
	looped := b.enqueue(store.NewJob{Actor: "breaks", Payload: []byte(`{"class":"x","message":"m","permanent":true}`)})[0]
	missing := b.enqueue(store.NewJob{Actor: "lost"})[0]
	require.Eventually(t, func() bool { return w.Stats().BrokenHooks.Load() == 3 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, store.Succeeded, b.job(trapped).Status)
	require.Equal(t, store.Succeeded, b.job(missing).Status)
	j := b.job(looped)
	require.Equal(t, store.Failed, j.Status)
	require.Equal(t, "guest", j.DecidedBy)
	require.Len(t, b.attempts(looped), 1)
	require.Len(t, log.with("[WARN]", "a hook failed", "GuestTrap.Unreachable"), 1)
	require.Len(t, log.with("[WARN]", "a hook failed", "TimeoutError"), 1)
	require.Len(t, log.with("[WARN]", "a hook failed", "nobody"), 1)
	require.Zero(t, w.Stats().Hooks.Load())
}

func TestAStopWaitsForHooks(t *testing.T) {
	t.Parallel()
	b := setup(t, quick+hookConfig)
	b.pushAs("breaks", "hook")
	b.push("hook-breaks")
	w, stop := b.start()
	id := b.enqueue(store.NewJob{Actor: "breaks", Payload: []byte(`{"class":"x","message":"m","permanent":true}`)})[0]
	b.settled(id)
	stop()
	require.EqualValues(t, 1, w.Stats().BrokenHooks.Load(), "it ran to its timeout, and nothing is left behind")
}

func TestNoHookIsToldOfALostOwnership(t *testing.T) {
	t.Parallel()
	b := setup(t, quick+hookConfig)
	b.push("hook")
	log := &lines{}
	w, _ := b.startWith(worker.Options{
		Log: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info}),
		Checkpoint: func(at worker.Point, _ *store.Claimed) {
			if at == worker.Ran {
				_, err := b.store.Pool().Exec(context.Background(), "DELETE FROM taskq.leases")
				assert.NoError(t, err)
			}
		},
	})
	id := b.enqueue(store.NewJob{Actor: "hook"})[0]
	require.Eventually(t, func() bool { return w.Stats().Lost.Load() == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Empty(t, log.told(t, id))
	require.NotEmpty(t, log.with("WorkerOwnershipMismatch"))
	require.Zero(t, w.Stats().Succeeded.Load())
}
