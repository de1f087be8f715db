package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/embedpg/pgtest"
	"github.com/taskq-host/taskq-host/store"
)

// written collects what a completer says became of its endings.
type written struct {
	mu       sync.Mutex
	verdicts map[store.ID]*store.Verdict
	unsure   map[store.ID]bool
}

func (w *written) settled(e *ending, v *store.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdicts[e.job.ID], w.unsure[e.job.ID] = v, e.unsure
}

func newWritten() *written {
	return &written{verdicts: map[store.ID]*store.Verdict{}, unsure: map[store.ID]bool{}}
}

func migrateForCompleter(ctx context.Context, dsn string) error {
	s, err := store.Open(ctx, store.Options{URL: dsn})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Migrate(ctx)
	return err
}

// claimedJobs are n running jobs of a worker of a fresh database.
func claimedJobs(t *testing.T, n int) (*store.Store, []*job) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, store.Options{URL: pgtest.New(t, "completer", migrateForCompleter)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	tenant, err := s.Tenant(ctx, store.DefaultTenant)
	require.NoError(t, err)
	jobs := make([]store.NewJob, n)
	for i := range jobs {
		jobs[i] = store.NewJob{Queue: "default", Actor: "noop"}
	}
	_, err = s.Enqueue(ctx, tenant, jobs)
	require.NoError(t, err)
	worker := store.NewID()
	require.NoError(t, s.Register(ctx, store.Worker{ID: worker, Name: "test", Queues: []string{"*"}}, time.Minute))
	c, err := s.Claim(ctx, store.ClaimRequest{Queue: "default", Worker: worker, Lease: store.NewID(), Limit: n})
	require.NoError(t, err)
	require.Len(t, c.Jobs, n)
	out := make([]*job, n)
	for i := range c.Jobs {
		out[i] = &job{Claimed: c.Jobs[i], worker: worker, tenant: tenant, queue: "default"}
	}
	return s, out
}

func endOf(j *job, status store.Status, message string) *ending {
	e := store.Ending{Lease: j.Lease, Index: j.Index, Action: store.End, Status: status, Message: message, Keep: time.Hour}
	if status == store.Failed {
		e.ErrorClass, e.DeadReason, e.DecidedBy = "acme.Oops", 1, "policy"
		e.Attempt = &store.AttemptRow{Outcome: store.AttemptFailed, ErrorClass: "acme.Oops", Message: message}
	}
	return &ending{Ending: e, job: j}
}

// A row that the database refuses never takes its neighbours along, and its
// job ends all the same, without the words that were refused.
func TestAPoisonousRowIsFoundByHalving(t *testing.T) {
	t.Parallel()
	s, jobs := claimedJobs(t, 37)
	w := newWritten()
	c := newCompleter(func(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error) {
		return s.End(ctx, 0, who, endings)
	}, w.settled, hclog.NewNullLogger())
	var batch []*ending
	for i, j := range jobs {
		switch {
		case i == 11:
			batch = append(batch, endOf(j, store.Failed, "a NUL \x00 in its message"))
		case i%3 == 0:
			batch = append(batch, endOf(j, store.Failed, "no"))
		default:
			batch = append(batch, endOf(j, store.Succeeded, ""))
		}
	}
	c.add(batch...)
	c.close()
	for i, j := range jobs {
		require.NotNil(t, w.verdicts[j.ID], "job %d", i)
		require.Equal(t, batch[i].Status, w.verdicts[j.ID].Status, "job %d", i)
	}
	require.Zero(t, c.count)
	poisoned, err := s.Job(t.Context(), jobs[11].tenant, jobs[11].ID)
	require.NoError(t, err)
	require.Equal(t, "HostFault", poisoned.ErrorClass)
	require.Equal(t, "the attempt's outcome could not be stored", poisoned.Message)
	neighbour, err := s.Job(t.Context(), jobs[12].tenant, jobs[12].ID)
	require.NoError(t, err)
	require.Equal(t, "acme.Oops", neighbour.ErrorClass)
}

// A result that can't be stored isn't a success.
func TestASuccessWhoseResultIsRefusedIsAHostFault(t *testing.T) {
	t.Parallel()
	s, jobs := claimedJobs(t, 2)
	w := newWritten()
	c := newCompleter(func(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error) {
		return s.End(ctx, 0, who, endings)
	}, w.settled, hclog.NewNullLogger())
	bad := endOf(jobs[0], store.Succeeded, "")
	bad.Result, bad.ContentType = []byte("1"), "text/\x00"
	c.add(bad, endOf(jobs[1], store.Succeeded, ""))
	c.close()
	require.Equal(t, store.Failed, w.verdicts[jobs[0].ID].Status)
	require.Equal(t, store.Succeeded, w.verdicts[jobs[1].ID].Status)
}

// flaky fails as told, one error a call, then asks the real store.
type flaky struct {
	s     *store.Store
	after bool // the statement runs before the error

	mu    sync.Mutex
	errs  []error
	calls []time.Time
}

func (f *flaky) end(ctx context.Context, who store.ID, endings []store.Ending) ([]store.Verdict, error) {
	f.mu.Lock()
	f.calls = append(f.calls, time.Now())
	var err error
	if len(f.errs) > 0 {
		err, f.errs = f.errs[0], f.errs[1:]
	}
	f.mu.Unlock()
	if err != nil && !f.after {
		return nil, err
	}
	v, real := f.s.End(ctx, 0, who, endings)
	if err != nil {
		return nil, err
	}
	return v, real
}

func down(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = fmt.Errorf("end: %w", &pgconn.PgError{Code: "57P03", Message: "starting up"})
	}
	return errs
}

func TestATerminalWriteThatFailsIsTriedAgainAfter50Then200Then800Milliseconds(t *testing.T) {
	t.Parallel()
	s, jobs := claimedJobs(t, 3)
	w := newWritten()
	f := &flaky{s: s, errs: down(3)}
	c := newCompleter(f.end, w.settled, hclog.NewNullLogger())
	for _, j := range jobs {
		c.add(endOf(j, store.Succeeded, ""))
	}
	c.close()
	require.GreaterOrEqual(t, len(f.calls), 4)
	for i, want := range flushRetries {
		require.GreaterOrEqual(t, f.calls[i+1].Sub(f.calls[i]), want)
	}
	for _, j := range jobs {
		require.NotNil(t, w.verdicts[j.ID])
	}
}

// An outcome isn't dropped because the database was away for longer than the
// retries last: as long as the lease is ours, its verdict holds.
func TestAnOutcomeThatCantBeWrittenWaitsForTheNextHeartbeat(t *testing.T) {
	t.Parallel()
	s, jobs := claimedJobs(t, 1)
	w := newWritten()
	f := &flaky{s: s, errs: down(4)}
	c := newCompleter(f.end, w.settled, hclog.NewNullLogger())
	c.add(endOf(jobs[0], store.Succeeded, ""))
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.parked) == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 1, c.count, "it still counts against what may be unwritten")
	require.Empty(t, w.verdicts)
	c.resume() // what a heartbeat that came through does
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.verdicts[jobs[0].ID] != nil
	}, 10*time.Second, 10*time.Millisecond)
	c.close()
	require.Zero(t, c.count)
}

// The first write took effect and its answer was lost: the second finds
// nothing to end, which is no loss of ownership.
func TestALostAnswerIsNoLostJob(t *testing.T) {
	t.Parallel()
	s, jobs := claimedJobs(t, 2)
	w := newWritten()
	f := &flaky{s: s, after: true, errs: []error{context.DeadlineExceeded}}
	c := newCompleter(f.end, w.settled, hclog.NewNullLogger())
	c.add(endOf(jobs[0], store.Succeeded, ""), endOf(jobs[1], store.Failed, "no"))
	c.close()
	for i, want := range []store.Status{store.Succeeded, store.Failed} {
		require.Nil(t, w.verdicts[jobs[i].ID])
		require.True(t, w.unsure[jobs[i].ID])
		j, err := s.Job(t.Context(), jobs[i].tenant, jobs[i].ID)
		require.NoError(t, err)
		require.Equal(t, want, j.Status)
	}
}

func TestSoMuchUnwrittenStopsClaiming(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	c := newCompleter(func(_ context.Context, _ store.ID, endings []store.Ending) ([]store.Verdict, error) {
		<-block
		return nil, nil
	}, func(*ending, *store.Verdict) {}, hclog.NewNullLogger())
	for range maxUnflushed - 1 {
		c.add(&ending{job: &job{}})
	}
	require.False(t, c.full())
	c.add(&ending{job: &job{}})
	require.True(t, c.full())
	close(block)
	c.close()
	require.False(t, c.full())
}
