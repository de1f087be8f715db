package chaos

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The disk is full for a while. Nothing that was acknowledged is lost, and
// work goes on when there is room again.
func TestTheDiskIsFull(t *testing.T) {
	if testing.Short() {
		t.Skip("takes twenty seconds")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "taskq-chaos")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=200m,mode=0755"); err != nil {
		t.Skipf("needs a small disk of its own, and may not mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := runOn(t, postgresIn(ctx, t, dir, map[string]string{"max_wal_size": "48MB", "min_wal_size": "48MB"}))
	balloon := filepath.Join(dir, "balloon")
	r.underLoad(100, func() {
		workers := []*process{r.spawn(r.dsn, doom{}), r.spawn(r.dsn, doom{})}
		<-time.After(time.Second)
		inflate(t, balloon)
		full := false
		for began := time.Now(); time.Since(began) < 5*time.Second; <-time.After(20 * time.Millisecond) {
			_, err := r.store.Pool().Exec(r.ctx, "INSERT INTO taskq.events (shard, tenant_id, job_id, at, event, facts) SELECT 0, 1, gen_random_uuid(), now(), 'ballast', to_jsonb(repeat(md5(g::text), 100)) FROM generate_series(1, 500) g")
			full = full || err != nil
		}
		require.True(t, full, "the disk never was full")
		require.NoError(t, os.Remove(balloon))
		require.Eventually(t, func() bool { return r.finishedSince(300*time.Millisecond) > 0 }, 20*time.Second, 20*time.Millisecond)
		r.stopAll(workers...)
	})
}

// inflate takes all the room that is left.
func inflate(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	chunk := make([]byte, 64<<10)
	for {
		if _, err := f.Write(chunk); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return
		}
	}
}
