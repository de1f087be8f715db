package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Queued rows whose deadline has passed end here; a running attempt is never
// ended by its job's deadline.
const expireReadySQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS MATERIALIZED (
    SELECT r.queue_id, r.tenant_id, r.lane_id, r.priority, r.seq FROM taskq.ready r
    WHERE r.shard = $1 AND r.deadline IS NOT NULL AND r.deadline <= (SELECT now FROM t)
    ORDER BY r.deadline LIMIT $2 FOR UPDATE SKIP LOCKED
),
g AS (
    DELETE FROM taskq.ready r USING p
    WHERE r.shard = $1 AND r.queue_id = p.queue_id AND r.tenant_id = p.tenant_id AND r.lane_id = p.lane_id AND r.priority = p.priority AND r.seq = p.seq
    RETURNING r.*
)` + expiredToFinishedSQL

const expireScheduledSQL = `
WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS MATERIALIZED (
    SELECT s.tenant_id, s.job_id FROM taskq.scheduled s
    WHERE s.shard = $1 AND s.deadline IS NOT NULL AND s.deadline <= (SELECT now FROM t)
    ORDER BY s.deadline LIMIT $2 FOR UPDATE SKIP LOCKED
),
g AS (
    DELETE FROM taskq.scheduled s USING p WHERE s.shard = $1 AND s.tenant_id = p.tenant_id AND s.job_id = p.job_id
    RETURNING s.*
)` + expiredToFinishedSQL

const expiredToFinishedSQL = `
INSERT INTO taskq.finished (shard, status, dead_reason, queue_id, tenant_id, attempt, keep_until, job_id, claim_epoch, finished_at, error_class, message, decided_by, extra)
SELECT g.shard, 11, 3, g.queue_id, g.tenant_id, g.attempt, ((t.now + $3 * interval '1 millisecond') AT TIME ZONE 'UTC')::date + 1, g.job_id, g.claim_epoch, t.now,
       'DeadlineExceeded', 'schedule_to_close reached before next dispatch', 'deadline', g.extra
FROM g, t`

// ExpireDeadlines ends at most limit queued jobs whose deadline has passed, and
// keeps them as dead letters for so long. It answers how many there were.
func (s *Store) ExpireDeadlines(ctx context.Context, shard int16, limit int, keep time.Duration) (int, error) {
	total := 0
	for _, sql := range []string{expireReadySQL, expireScheduledSQL} {
		tag, err := s.hot.Exec(ctx, s.schema.sql(sql), shard, limit, keep.Milliseconds())
		if err != nil {
			return total, fmt.Errorf("expire deadlines: %w", err)
		}
		total += int(tag.RowsAffected())
	}
	return total, nil
}

// partitionLockTimeout bounds how long partitions wait for a lock: behind it
// every claim and completion would wait too. A long transaction that somebody
// holds open makes it fail; there are days left to try again.
const partitionLockTimeout = "SET LOCAL lock_timeout = '250ms'"

// EnsurePartitions makes the partitions that the coming days need. It fails
// quickly rather than wait for a lock; call it again later.
func (s *Store) EnsurePartitions(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, partitionLockTimeout); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.schema.sql("SELECT taskq.ensure_partitions(3, 32)"))
		return err
	})
	if err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	return nil
}
