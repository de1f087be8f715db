package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Somebody froze in the middle of a transaction that locks what everybody reads.
func TestATransactionWhoseClientSaysNothingLosesItsLocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx, err := b.Pool().Begin(b.ctx)
	require.NoError(t, err)
	_, err = tx.Exec(b.ctx, "LOCK TABLE taskq.jobs IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	began := time.Now()
	_, err = b.Jobs(b.ctx, b.tenant, nil) // waits for the lock
	require.NoError(t, err)
	require.Less(t, time.Since(began), 20*time.Second)
	require.Error(t, tx.Commit(b.ctx), "the server has ended the session")
}
