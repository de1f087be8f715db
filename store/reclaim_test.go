package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/store"
)

// The ninth invariant for what brings back the dead: planned while there were
// no statistics, as on a new database, it must not read the backlog.
func TestAReclaimReadsOnlyWhatItGivesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dying := b.register(time.Minute)
	pages := func() int {
		return b.buffersOf("members_under_test (smallint, uuid[], bigint)", store.MembersSQL, fmt.Sprintf("0::smallint, '{%s}', 50", dying))
	}
	b.enqueue(make1(60)...)
	for range 3 {
		require.Len(t, b.claimAs(dying, 20), 20)
	}
	shallow := pages()
	for range 6 {
		b.enqueue(make1(2_000)...)
	}
	deep := pages()
	require.Less(t, float64(deep), 1.5*float64(shallow)+100, "pages touched beside 60 and beside 12,060 jobs")
}

// The same for endings, which look up a job's lane and priority.
func TestAnEndingReadsOnlyWhatItEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 6 {
		b.enqueue(make1(2_000)...)
	}
	c := b.claim(100)
	endings := make([]store.Ending, len(c))
	for i, j := range c {
		endings[i] = store.Ending{Lease: j.Lease, Index: j.Index, Action: store.Release, Keep: time.Hour, FailKeep: time.Hour}
	}
	b.pagesOf("jobs")
	_, _, err := b.Promote(b.ctx, 0, 1) // its connection now tells what the claim touched
	require.NoError(t, err)
	before := b.pagesOf("jobs")
	require.Len(t, b.end(endings...), 100)
	b.pagesOf("jobs")
	_, _, err = b.Promote(b.ctx, 0, 1)
	require.NoError(t, err)
	require.Less(t, b.pagesOf("jobs")-before, int64(3_000), "pages of jobs that 100 endings touched")
}

// pagesOf counts the pages of a table and its indexes that were touched so far.
func (b *bundle) pagesOf(table string) (n int64) {
	b.t.Helper()
	_, err := b.Pool().Exec(b.ctx, "SELECT pg_sleep(1.5)") // the server tells its statistics once a second
	require.NoError(b.t, err)
	require.NoError(b.t, b.Pool().QueryRow(b.ctx, `SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint
		FROM pg_statio_user_tables WHERE relname ~ ('^' || $1 || '_')`, table).Scan(&n))
	return n
}
