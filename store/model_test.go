package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/store"
)

// The store beside a model that a page holds: jobs in a map, each in one
// place. Random operations go to both; after each every job must look the same.

type modelJob struct {
	id       store.ID
	status   store.Status // Pending: ready. Scheduled: see due
	due      bool         // scheduled, and its time has come: shown as pending
	priority int
	order    int // among those that are ready
	attempt  int
	epoch    int64
	late     bool // its deadline has passed

	lease     store.ID // running
	index     int
	worker    store.ID
	cancelled bool
}

type model struct {
	b       *bundle
	queue   string
	jobs    []*modelJob
	workers []store.ID
	dead    []store.ID // buried: nothing that they write counts
	clock   int
	stale   []store.Ending // that counted once already
	staleBy []store.ID
}

func (m *model) tick() int { m.clock++; return m.clock }

func (m *model) in(s store.Status) (out []*modelJob) {
	for _, j := range m.jobs {
		if j.status == s {
			out = append(out, j)
		}
	}
	return out
}

// ready are the jobs that a claim may take, in its order.
func (m *model) ready() (out []*modelJob) {
	for _, j := range m.in(store.Pending) {
		if !j.late {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *modelJob) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.order, b.order))
	})
	return out
}

func (m *model) enqueue(t *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(t, "n")
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = store.NewJob{Queue: m.queue, Actor: "noop", Priority: rapid.IntRange(0, 2).Draw(t, "priority")}
		if rapid.IntRange(0, 3).Draw(t, "delayed") == 0 {
			jobs[i].Delay = time.Hour
		}
	}
	out, err := m.b.Enqueue(m.b.ctx, m.b.tenant, jobs)
	require.NoError(t, err)
	for i, e := range out {
		j := &modelJob{id: e.ID, status: store.Pending, priority: jobs[i].Priority, order: m.tick()}
		if jobs[i].Delay > 0 {
			j.status = store.Scheduled
		}
		m.jobs = append(m.jobs, j)
	}
}

func (m *model) register(t *rapid.T) {
	if len(m.workers) < 3 {
		m.workers = append(m.workers, m.b.register(time.Hour))
	}
}

func (m *model) claim(t *rapid.T) {
	if len(m.workers) == 0 {
		return
	}
	worker := rapid.SampledFrom(m.workers).Draw(t, "worker")
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	c, err := m.b.Claim(m.b.ctx, store.ClaimRequest{Queue: m.queue, Worker: worker, Lease: store.NewID(), Limit: limit})
	require.NoError(t, err)
	want := m.ready()
	want = want[:min(limit, len(want))]
	require.Len(t, c.Jobs, len(want))
	for i, j := range want {
		got := c.Jobs[i]
		require.Equal(t, j.id, got.ID, "the order is by priority, then age")
		j.attempt++
		j.epoch++
		require.Equal(t, j.attempt, got.Attempt)
		require.Equal(t, j.epoch, got.Epoch)
		j.status, j.lease, j.index, j.worker, j.cancelled = store.Running, got.Lease, got.Index, worker, false
	}
}

var modelActions = []store.Ending{
	{Action: store.End, Status: store.Succeeded},
	{Action: store.End, Status: store.Failed, DeadReason: 1, ErrorClass: "X", DecidedBy: "policy", Attempt: &store.AttemptRow{Outcome: store.AttemptFailed}},
	{Action: store.Reschedule, Reason: store.ReasonRetry, Attempt: &store.AttemptRow{Outcome: store.AttemptFailed}},
	{Action: store.Reschedule, Reason: store.ReasonRetry, Delay: time.Hour, Attempt: &store.AttemptRow{Outcome: store.AttemptFailed}},
	{Action: store.Reschedule, Reason: store.ReasonSnooze, GiveBack: true, Attempt: &store.AttemptRow{Outcome: store.AttemptSnoozed}},
	{Action: store.Release},
	{Action: store.Interrupt},
}

// apply is what the ending does to the model's job.
func (m *model) apply(j *modelJob, e store.Ending) store.Status {
	switch {
	case j.cancelled:
		j.status = store.Cancelled
	case e.Action == store.End:
		j.status = e.Status
	case e.Action == store.Reschedule:
		j.status, j.due = store.Scheduled, e.Delay == 0
		if e.GiveBack {
			j.attempt--
		}
	default:
		j.status, j.order = store.Pending, m.tick()
		if e.Action == store.Release {
			j.attempt--
		}
	}
	return j.status
}

// end ends some running jobs of one worker, and repeats an ending that counted.
func (m *model) end(t *rapid.T) {
	running := m.in(store.Running)
	if len(running) == 0 {
		return
	}
	worker := rapid.SampledFrom(running).Draw(t, "of").worker
	var endings []store.Ending
	var jobs []*modelJob
	for _, j := range running {
		if j.worker != worker || !rapid.Bool().Draw(t, "ends") {
			continue
		}
		e := rapid.SampledFrom(modelActions).Draw(t, "action")
		e.Lease, e.Index, e.Keep, e.FailKeep = j.lease, j.index, time.Hour, time.Hour
		endings, jobs = append(endings, e), append(jobs, j)
	}
	verdicts, err := m.b.End(m.b.ctx, 0, worker, endings)
	require.NoError(t, err)
	require.Len(t, verdicts, len(endings))
	got := map[string]store.Status{}
	for _, v := range verdicts {
		got[fmt.Sprint(v.Lease, v.Index)] = v.Status
	}
	// What goes back to ready goes in the order of the statement; which of
	// those is first is the store's to say.
	for i, j := range jobs {
		require.Equal(t, m.apply(j, endings[i]), got[fmt.Sprint(endings[i].Lease, endings[i].Index)])
		m.stale, m.staleBy = append(m.stale, endings[i]), append(m.staleBy, worker)
	}
	m.reorder(t)
}

// reorder takes the order of the ready rows from the store: a batch that
// comes back at once has no order of its own.
func (m *model) reorder(t *rapid.T) {
	rows, err := m.b.Pool().Query(m.b.ctx, "SELECT job_id::text FROM taskq.ready WHERE queue_id = (SELECT queue_id FROM taskq.queues WHERE name = $1) ORDER BY seq", m.queue)
	require.NoError(t, err)
	at := map[string]int{}
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		at[id] = m.tick()
	}
	require.NoError(t, rows.Err())
	for _, j := range m.in(store.Pending) {
		require.Contains(t, at, j.id.String())
		j.order = at[j.id.String()]
	}
}

// late repeats what has counted: nothing may come of it.
func (m *model) late(t *rapid.T) {
	if len(m.stale) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.stale)-1).Draw(t, "stale")
	verdicts, err := m.b.End(m.b.ctx, 0, m.staleBy[i], m.stale[i:i+1])
	require.NoError(t, err)
	require.Empty(t, verdicts)
}

func (m *model) cancel(t *rapid.T) {
	if len(m.jobs) == 0 {
		return
	}
	j := rapid.SampledFrom(m.jobs).Draw(t, "job")
	got, err := m.b.Cancel(m.b.ctx, m.b.tenant, []store.ID{j.id}, time.Hour)
	require.NoError(t, err)
	want := store.CancelDone
	switch {
	case j.status.Terminal():
		want = store.CancelTooLate
	case j.status == store.Running:
		want, j.cancelled = store.CancelRequested, true
	default:
		j.status = store.Cancelled
	}
	require.Equal(t, want, got[j.id])
}

func (m *model) promote(t *rapid.T) {
	_, _, err := m.b.Promote(m.b.ctx, 0, 1000)
	require.NoError(t, err)
	for _, j := range m.in(store.Scheduled) {
		if j.due {
			j.status, j.due, j.order = store.Pending, false, m.tick()
		}
	}
	m.reorder(t)
}

// die ends a worker's lease and gives back what it held.
func (m *model) die(t *rapid.T) {
	if len(m.workers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.workers)-1).Draw(t, "dies")
	worker := m.workers[i]
	m.workers = slices.Delete(m.workers, i, i+1)
	m.b.exec("UPDATE taskq.workers SET expires_at = clock_timestamp() WHERE worker_id = $1", worker.String())
	n, err := m.b.Reclaim(m.b.ctx, 0, 1000, crashed)
	require.NoError(t, err)
	back := 0
	for _, j := range m.in(store.Running) {
		if j.worker == worker {
			back++
			e := store.Ending{Lease: j.lease, Index: j.index, Action: store.Reschedule}
			m.apply(j, e)
			m.stale, m.staleBy = append(m.stale, e), append(m.staleBy, worker)
		}
	}
	require.Equal(t, back, n)
	m.dead = append(m.dead, worker)
}

// expire lets the deadline of a queued job pass, and sweeps.
func (m *model) expire(t *rapid.T) {
	queued := append(m.in(store.Pending), m.in(store.Scheduled)...)
	if len(queued) == 0 {
		return
	}
	j := rapid.SampledFrom(queued).Draw(t, "late")
	j.late = true
	for _, table := range []string{"ready", "scheduled"} {
		m.b.exec("UPDATE taskq."+table+" SET deadline = clock_timestamp() WHERE job_id = $1", j.id.String())
	}
	if rapid.Bool().Draw(t, "sweep") {
		_, err := m.b.ExpireDeadlines(m.b.ctx, 0, 1000, time.Hour)
		require.NoError(t, err)
		for _, j := range m.jobs {
			if j.late && (j.status == store.Pending || j.status == store.Scheduled) {
				j.status = store.Failed
			}
		}
	}
}

// same compares every job.
func (m *model) same(t *rapid.T) {
	ids := make([]store.ID, len(m.jobs))
	for i, j := range m.jobs {
		ids[i] = j.id
	}
	found, err := m.b.Jobs(m.b.ctx, m.b.tenant, ids)
	require.NoError(t, err)
	require.Len(t, found, len(ids))
	by := map[store.ID]*store.Job{}
	for i := range found {
		by[found[i].ID] = &found[i]
	}
	for _, j := range m.jobs {
		got, want := by[j.id], j.status
		if want == store.Scheduled && j.due {
			want = store.Pending // nobody has moved it yet
		}
		require.Equal(t, want, got.Status, "job %s", j.id)
		require.Equal(t, j.attempt, got.Attempt, "job %s", j.id)
		require.Equal(t, j.epoch, got.Epoch, "job %s", j.id)
	}
}

func TestTheStoreDoesWhatItsModelDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &model{b: b, queue: fmt.Sprintf("model-%d", n)}
		m.register(t)
		t.Repeat(map[string]func(*rapid.T){
			"":         m.same,
			"enqueue":  m.enqueue,
			"enqueue2": m.enqueue,
			"register": m.register,
			"claim":    m.claim,
			"claim2":   m.claim,
			"end":      m.end,
			"late":     m.late,
			"cancel":   m.cancel,
			"promote":  m.promote,
			"die":      m.die,
			"expire":   m.expire,
		})
	})
	b.requireOnePlaceEach()
}
