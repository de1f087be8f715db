package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Retained says what [Store.Retain] did.
type Retained struct {
	Dropped  []string // partitions
	Archived int      // jobs that outlived their day's partition
	Deleted  int      // rows that lay outside of the partitions
}

const (
	// retainBatch bounds what is deleted row by row in a call: only rows that
	// no partition of a day could take.
	retainBatch = 1_000
	// archiveMost is with how many jobs left a day's partition is dropped; they
	// are moved to the default partition.
	archiveMost = 10_000
)

// Partitions whose last day of keeping has passed, oldest first.
const duePartitionsSQL = `
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = ANY (ARRAY['taskq.finished'::regclass, 'taskq.results'::regclass]) AND c.relname ~ '_\d{8}$'
  AND to_date(right(c.relname, 8), 'YYYYMMDD') <= (clock_timestamp() AT TIME ZONE 'UTC')::date
ORDER BY c.relname LIMIT 10`

// The oldest day that is over for a while: its successor may still get jobs
// from clocks that are behind.
const oldestDaySQL = `
SELECT right(c.relname, 8) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'taskq.jobs'::regclass AND c.relname ~ '_\d{8}$'
  AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock_timestamp() AT TIME ZONE 'UTC')::date - 1
ORDER BY c.relname LIMIT 1`

// Retain removes what nobody is to keep any longer: it drops partitions whose
// day has come, and the oldest day's jobs once nearly none of them lives or is
// kept. It takes one bounded step, waits for no lock, and is safe to run
// beside itself; call it again later.
func (s *Store) Retain(ctx context.Context) (Retained, error) {
	var out Retained
	due, err := s.names(ctx, duePartitionsSQL)
	if err != nil {
		return out, fmt.Errorf("retention: %w", err)
	}
	for _, name := range due {
		err := s.briefly(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, s.schema.sql("DROP TABLE IF EXISTS taskq."+pgx.Identifier{name}.Sanitize()))
			return err
		})
		if err != nil {
			return out, fmt.Errorf("retention: %s: %w", name, err)
		}
		out.Dropped = append(out.Dropped, name)
	}
	if err := s.retireDay(ctx, &out); err != nil {
		return out, fmt.Errorf("retention: %w", err)
	}
	if err := s.deleteStrays(ctx, &out); err != nil {
		return out, fmt.Errorf("retention: %w", err)
	}
	return out, nil
}

// briefly runs a transaction that fails rather than wait for a lock.
func (s *Store) briefly(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, partitionLockTimeout); err != nil {
			return err
		}
		return do(tx)
	})
}

func (s *Store) names(ctx context.Context, sql string) ([]string, error) {
	rows, err := s.pool.Query(ctx, s.schema.sql(sql))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// retireDay drops the oldest day's jobs, attempts and events, if few enough of
// its jobs remain; those are moved to the default partitions in the same
// transaction. A search for more than that stops early, so a day that is still
// kept costs little.
func (s *Store) retireDay(ctx context.Context, out *Retained) error {
	days, err := s.names(ctx, oldestDaySQL)
	if err != nil || len(days) == 0 {
		return err
	}
	day := days[0]
	var left int
	return s.briefly(ctx, func(tx pgx.Tx) error {
		// Nobody adds a job to that day any more; what remains can only get less.
		if _, err := tx.Exec(ctx, s.schema.sql("LOCK TABLE taskq.jobs_"+day+" IN SHARE MODE")); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.schema.sql(fmt.Sprintf("CREATE TEMP TABLE remaining ON COMMIT DROP AS SELECT j.shard, j.tenant_id, j.job_id FROM taskq.jobs_%s j WHERE taskq.remains(j) LIMIT %d", day, archiveMost+1)))
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM remaining").Scan(&left); err != nil || left > archiveMost {
			return err
		}
		for _, table := range []string{"jobs", "attempts", "events"} {
			if err := s.retire(ctx, tx, table, day); err != nil {
				return err
			}
			out.Dropped = append(out.Dropped, table+"_"+day)
		}
		out.Archived += left
		return nil
	})
}

func (s *Store) retire(ctx context.Context, tx pgx.Tx, table, day string) error {
	for _, sql := range []string{
		"ALTER TABLE taskq.%[1]s DETACH PARTITION taskq.%[1]s_%[2]s",
		"INSERT INTO taskq.%[1]s SELECT p.* FROM taskq.%[1]s_%[2]s p JOIN remaining USING (shard, tenant_id, job_id)",
		"DROP TABLE taskq.%[1]s_%[2]s",
	} {
		if _, err := tx.Exec(ctx, s.schema.sql(fmt.Sprintf(sql, table, day))); err != nil {
			return err
		}
	}
	return nil
}

// What lies in the default partitions is deleted row by row: ends that were
// kept for longer than there were partitions, and archived jobs of which
// nothing remains.
var strayDeletes = []string{
	`DELETE FROM taskq.finished_other WHERE ctid = ANY (ARRAY(SELECT ctid FROM taskq.finished_other WHERE keep_until <= (clock_timestamp() AT TIME ZONE 'UTC')::date LIMIT $1))`,
	`DELETE FROM taskq.results_other WHERE ctid = ANY (ARRAY(SELECT ctid FROM taskq.results_other WHERE keep_until <= (clock_timestamp() AT TIME ZONE 'UTC')::date LIMIT $1))`,
	`DELETE FROM taskq.jobs_other WHERE ctid = ANY (ARRAY(SELECT j.ctid FROM taskq.jobs_other j WHERE NOT taskq.remains(j) AND j.created_at < clock_timestamp() - interval '1 day' LIMIT $1))`,
	`DELETE FROM taskq.attempts_other WHERE ctid = ANY (ARRAY(SELECT a.ctid FROM taskq.attempts_other a WHERE NOT EXISTS (
		SELECT FROM taskq.jobs j WHERE j.shard = a.shard AND j.tenant_id = a.tenant_id AND j.job_id = a.job_id) LIMIT $1))`,
	`DELETE FROM taskq.events_other WHERE ctid = ANY (ARRAY(SELECT e.ctid FROM taskq.events_other e WHERE NOT EXISTS (
		SELECT FROM taskq.jobs j WHERE j.shard = e.shard AND j.tenant_id = e.tenant_id AND j.job_id = e.job_id) LIMIT $1))`,
}

func (s *Store) deleteStrays(ctx context.Context, out *Retained) error {
	for _, sql := range strayDeletes {
		tag, err := s.pool.Exec(ctx, s.schema.sql(sql), retainBatch)
		if err != nil {
			return err
		}
		out.Deleted += int(tag.RowsAffected())
	}
	return nil
}

// Table is how a table that moves jobs is doing, for doctor.
type Table struct {
	Name       string     `json:"name"`
	Live       int64      `json:"live"` // rows, as the server estimates them
	Dead       int64      `json:"dead"`
	Bytes      int64      `json:"bytes"` // with its indexes
	Vacuumed   *time.Time `json:"vacuumed"`
	OldestXact float64    `json:"oldest_xact"` // seconds that the oldest transaction of the database is open
}

const bloatSQL = `
SELECT t.relname, t.n_live_tup, t.n_dead_tup, pg_total_relation_size(t.relid), greatest(t.last_autovacuum, t.last_vacuum),
       coalesce((SELECT max(extract(epoch FROM clock_timestamp() - a.xact_start)) FROM pg_stat_activity a
                 WHERE a.datname = current_database() AND a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid()), 0)::float8
FROM pg_stat_user_tables t WHERE t.schemaname = $1 AND t.relname = ANY (ARRAY['ready', 'scheduled', 'leases', 'workers']) ORDER BY t.relname`

// Bloat reports on the tables whose rows come and go, and on the transaction
// that keeps the server from cleaning them.
func (s *Store) Bloat(ctx context.Context) ([]Table, error) {
	rows, err := s.pool.Query(ctx, bloatSQL, s.schema.name)
	if err != nil {
		return nil, fmt.Errorf("bloat: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Table])
	if err != nil {
		return nil, fmt.Errorf("bloat: %w", err)
	}
	return out, nil
}
