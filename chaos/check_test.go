package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// report is what a run ends with: the figures, and what the checker found.
type report struct {
	Kills       int            `json:"kills"`
	KillsAt     map[string]int `json:"kills_at"`
	Jobs        int            `json:"jobs"`
	Attempts    int            `json:"attempts"` // guests that were let in
	Lost        int            `json:"lost"`
	Doubled     int            `json:"doubled"`
	Overlapped  int            `json:"overlapped"`
	Unexplained int            `json:"unexplained"`
	LeaseMS     int64          `json:"lease_ms"`
	HandedBack  percentiles    `json:"handed_back_ms"` // from a worker's death to the rows of what it ran
	RecoveryP99 int64          `json:"recovery_p99_ms"`
	Recovery    percentiles    `json:"recovery_ms"` // to the next attempt's beginning: with the policy's delay and the queue
	Seconds     int64          `json:"seconds"`

	findings []string
}

type percentiles struct {
	N   int   `json:"n"`
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func percentilesOf(ms []int64) percentiles {
	if len(ms) == 0 {
		return percentiles{}
	}
	slices.Sort(ms)
	at := func(p float64) int64 { return ms[min(len(ms)-1, int(p*float64(len(ms))))] }
	return percentiles{len(ms), at(0.5), at(0.99), ms[len(ms)-1]}
}

func (r *report) found(count *int, format string, args ...any) {
	*count++
	if len(r.findings) < 20 {
		r.findings = append(r.findings, fmt.Sprintf(format, args...))
	}
}

// jobFacts is all that the tables say about a job that has ended.
type jobFacts struct {
	ID          store.ID
	Places      int // rows of ready, scheduled, finished, and open members of leases
	Finished    int
	Status      store.Status
	View        string // the status that taskq.job shows
	Attempt     int
	Epoch       int64
	WorkerEnded bool // by a worker's completion or a reclaim, not in the queue
	DeadReason  int16
	HostFaults  int
	MaxAttempts int
	Kind        string
	Rows        []rowFacts // of attempts
	Interrupted []int64    // epochs
}

type rowFacts struct {
	Epoch    int64  `json:"epoch"`
	Attempt  int    `json:"attempt"`
	Outcome  int16  `json:"outcome"`
	Class    string `json:"class"`
	Finished int64  `json:"finished"` // milliseconds of wall clock
}

const factsSQL = `
WITH places AS (
    SELECT job_id FROM taskq.ready UNION ALL SELECT job_id FROM taskq.scheduled UNION ALL SELECT job_id FROM taskq.finished
    UNION ALL SELECT u.j FROM taskq.leases l, unnest(l.jobs) WITH ORDINALITY u(j, ix) WHERE get_bit(l.ended, (ix - 1)::int) = 0
), n AS (SELECT job_id, count(*) AS places FROM places GROUP BY 1),
f AS (SELECT job_id, count(*) AS n, min(status) AS status, max(attempt) AS attempt, max(claim_epoch) AS epoch, bool_or(worker_id IS NOT NULL) AS by_worker,
        max(coalesce(dead_reason, 0)) AS dead, max(coalesce((extra ->> 'host_faults')::int, 0)) AS faults FROM taskq.finished GROUP BY 1),
a AS (SELECT job_id, jsonb_agg(jsonb_build_object('epoch', claim_epoch, 'attempt', attempt, 'outcome', outcome, 'class', coalesce(error_class, ''),
        'finished', (extract(epoch FROM finished_at) * 1000)::bigint) ORDER BY claim_epoch) AS rows FROM taskq.attempts GROUP BY 1),
e AS (SELECT job_id, jsonb_agg((facts ->> 'epoch')::bigint) AS epochs FROM taskq.events WHERE event = 'interrupted' GROUP BY 1)
SELECT j.job_id::text, coalesce(n.places, 0), coalesce(f.n, 0), coalesce(f.status, 0)::smallint, v.status, coalesce(f.attempt, 0), coalesce(f.epoch, 0),
       coalesce(f.by_worker, false), coalesce(f.dead, 0)::smallint, coalesce(f.faults, 0),
       coalesce((j.options -> 'retry' ->> 'max_attempts')::int, 3), coalesce(j.options -> 'retry' ->> 'kind', 'transient'), coalesce(a.rows, '[]'), coalesce(e.epochs, '[]')
FROM taskq.jobs j JOIN taskq.job v ON v.id = j.job_id
LEFT JOIN n USING (job_id) LEFT JOIN f USING (job_id) LEFT JOIN a USING (job_id) LEFT JOIN e USING (job_id)`

func (r *run) facts() map[store.ID]*jobFacts {
	r.t.Helper()
	rows, err := r.store.Pool().Query(r.ctx, factsSQL)
	require.NoError(r.t, err)
	out := map[store.ID]*jobFacts{}
	var id string
	var attempts, epochs []byte
	var f jobFacts
	_, err = pgx.ForEachRow(rows, []any{&id, &f.Places, &f.Finished, (*int16)(&f.Status), &f.View, &f.Attempt, &f.Epoch, &f.WorkerEnded, &f.DeadReason, &f.HostFaults,
		&f.MaxAttempts, &f.Kind, &attempts, &epochs}, func() error {
		g := f
		g.Rows, g.Interrupted = nil, nil
		if err := json.Unmarshal(attempts, &g.Rows); err != nil {
			return err
		}
		if err := json.Unmarshal(epochs, &g.Interrupted); err != nil {
			return err
		}
		var err error
		g.ID, err = store.ParseID(id)
		out[g.ID] = &g
		return err
	})
	require.NoError(r.t, err)
	return out
}

// check reads what became of every job, beside what the workers' ledgers say.
func (r *run) check() *report {
	r.t.Helper()
	out := &report{KillsAt: r.kills, LeaseMS: lease.Milliseconds()}
	for _, n := range r.kills {
		out.Kills += n
	}
	facts := r.facts()
	out.Jobs = len(r.enqueued)
	for _, id := range r.enqueued {
		if f := facts[id]; f == nil || f.Places == 0 {
			out.found(&out.Lost, "job %s is nowhere", id)
		}
	}
	for _, f := range facts {
		r.checkJob(out, f)
	}
	var leases int
	require.NoError(r.t, r.store.Pool().QueryRow(r.ctx, "SELECT count(*) FROM taskq.leases").Scan(&leases))
	if leases > 0 {
		out.found(&out.Unexplained, "%d leases are left", leases)
	}
	r.checkExecutions(out, facts)
	return out
}

// checkJob: it ended once, everybody says the same, and its attempts add up.
func (r *run) checkJob(out *report, f *jobFacts) {
	switch {
	case f.Places > 1 || f.Finished > 1:
		out.found(&out.Doubled, "job %s is in %d places, finished %d times", f.ID, f.Places, f.Finished)
	case f.Finished == 0:
		out.found(&out.Lost, "job %s has not ended: the view says %s", f.ID, f.View)
		return
	}
	if f.View != f.Status.String() {
		out.found(&out.Unexplained, "job %s: the view says %s, its row %s", f.ID, f.View, f.Status)
	}
	if f.Kind == "transient" && f.Attempt > f.MaxAttempts {
		out.found(&out.Doubled, "job %s spent %d attempts of %d", f.ID, f.Attempt, f.MaxAttempts)
	}
	if f.Kind == "non_retryable" && f.Attempt > 1 {
		out.found(&out.Doubled, "job %s may run once and spent %d attempts", f.ID, f.Attempt)
	}
	spent, last := len(f.Interrupted), f.WorkerEnded
	for _, a := range f.Rows {
		if a.Outcome != int16(store.AttemptSnoozed) {
			spent++
		}
		last = last && a.Epoch != f.Epoch
	}
	spent -= min(f.HostFaults, 3)
	if last && !slices.Contains(f.Interrupted, f.Epoch) { // a success, or a cancel of one, has no row
		spent++
	}
	if spent != f.Attempt {
		out.found(&out.Unexplained, "job %s (%s, epoch %d) counts %d attempts, its rows %d: %+v, interrupted %v", f.ID, f.Status, f.Epoch, f.Attempt, spent, f.Rows, f.Interrupted)
	}
}

// checkExecutions: one for each claim at most, none beside another of the same
// job, and a row for each that died.
func (r *run) checkExecutions(out *report, facts map[store.ID]*jobFacts) {
	byJob := map[store.ID][]execution{}
	for _, e := range readLedgers(r.t, r.dir) {
		byJob[e.job] = append(byJob[e.job], e)
		out.Attempts++
	}
	var back, again []int64
	for id, runs := range byJob {
		slices.SortFunc(runs, func(a, b execution) int { return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.start, b.start)) })
		f := facts[id]
		if f == nil {
			out.found(&out.Unexplained, "job %s ran and isn't there", id)
			continue
		}
		for i, e := range runs {
			p := &process{} // this one, which lives
			if e.process < len(r.processes) {
				p = r.processes[e.process]
			}
			until := cmp.Or(e.end, p.died)
			if i+1 < len(runs) {
				next := runs[i+1]
				if next.epoch == e.epoch {
					out.found(&out.Doubled, "job %s ran twice under epoch %d", id, e.epoch)
				}
				if next.start < until && !p.thawedWithin(e) {
					out.found(&out.Overlapped, "job %s: epoch %d began %s before epoch %d had ended", id, next.epoch, time.Duration(until-next.start), e.epoch)
				}
				if e.end == 0 {
					again = append(again, (next.start-p.died)/1e6)
				}
			}
			row := rowOf(f, e.epoch)
			if why := unexplained(f, e, row); why != "" {
				out.found(&out.Unexplained, "job %s, epoch %d: %s", id, e.epoch, why)
			}
			if e.end == 0 && row != nil {
				late := row.Finished - p.when.UnixMilli()
				if back = append(back, late); late > 2*lease.Milliseconds() {
					r.t.Logf("job %s, epoch %d: process %d died at %s, its row says %s (+%d ms)", id, e.epoch, e.process, p.when.Format(time.TimeOnly), row.Class, late)
				}
			}
		}
	}
	out.HandedBack, out.Recovery = percentilesOf(back), percentilesOf(again)
	out.RecoveryP99 = out.Recovery.P99
}

// thawedWithin: a process that was frozen past its lease can't know; its guest
// must be stopped as soon as it wakes.
func (p *process) thawedWithin(e execution) bool {
	return e.start < p.thawed && p.thawed < e.end && e.end-p.thawed < int64(time.Second)
}

func rowOf(f *jobFacts, epoch int64) *rowFacts {
	for i := range f.Rows {
		if f.Rows[i].Epoch == epoch {
			return &f.Rows[i]
		}
	}
	return nil
}

// unexplained says what is missing about an execution.
func unexplained(f *jobFacts, e execution, row *rowFacts) string {
	switch {
	case e.end == 0 && row == nil:
		return "its worker died and there is no row that says so"
	case e.end == 0 && row.Outcome != int16(store.AttemptCrashed):
		return fmt.Sprintf("its worker died and its row says %s", store.AttemptOutcome(row.Outcome))
	case row != nil && row.Attempt != e.attempt:
		return fmt.Sprintf("it ran as attempt %d and its row says %d", e.attempt, row.Attempt)
	case row == nil && f.Epoch != e.epoch && !slices.Contains(f.Interrupted, e.epoch):
		return "it ran to its end and nothing says what became of it"
	}
	return ""
}
