package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CancelFilter says which of a tenant's live jobs are meant. Zero fields don't
// narrow; All says that every one of them is.
type CancelFilter struct {
	Queue string
	Actor string
	Tag   string
	All   bool
}

// ErrEmptyFilter refuses a bulk cancel that names nothing: most often a
// parameter was misspelt, and every job would go.
var ErrEmptyFilter = errors.New("the filter is empty: name a queue, an actor or a tag, or say all")

// CancelCount is what a bulk cancel did.
type CancelCount struct {
	Done      int  // were queued and have ended
	Requested int  // run; their end will be cancelled
	More      bool // the limit was reached: call again
}

// What lives is in one of three places. Running jobs whose cancel was asked
// for already don't count, so that repeated calls come to an end.
const cancelMatchingSQL = `
WITH live AS (
    SELECT r.job_id FROM taskq.ready r WHERE r.shard = $1 AND r.tenant_id = $2 AND ($3::integer IS NULL OR r.queue_id = $3)
    UNION ALL
    SELECT s.job_id FROM taskq.scheduled s WHERE s.shard = $1 AND s.tenant_id = $2 AND ($3::integer IS NULL OR s.queue_id = $3)
    UNION ALL
    SELECT u.job_id FROM taskq.leases l, unnest(l.jobs, l.tenants) WITH ORDINALITY AS u(job_id, tenant_id, ix)
    WHERE l.shard = $1 AND u.tenant_id = $2 AND ($3::integer IS NULL OR l.queue_id = $3)
      AND get_bit(l.ended, (u.ix - 1)::integer) = 0 AND get_bit(l.cancel, (u.ix - 1)::integer) = 0
)
SELECT live.job_id FROM live
WHERE ($4::text IS NULL AND $5::text IS NULL) OR EXISTS (
    SELECT FROM taskq.jobs j WHERE j.shard = $1 AND j.tenant_id = $2 AND j.job_id = live.job_id
      AND ($4::text IS NULL OR j.actor = $4) AND ($5::text IS NULL OR $5 = ANY (j.tags)))
LIMIT $6`

// cancelChunk is how many jobs one statement of a bulk cancel ends.
const cancelChunk = 500

// CancelMatching cancels at most limit of a tenant's live jobs that the filter
// names, in small transactions: what it did so far stays done when it fails.
// [ErrEmptyFilter] if the filter names nothing.
func (s *Store) CancelMatching(ctx context.Context, tenant Tenant, f CancelFilter, limit int, keep time.Duration) (CancelCount, error) {
	var out CancelCount
	if f == (CancelFilter{}) {
		return out, ErrEmptyFilter
	}
	var queue *int32
	if f.Queue != "" {
		id, err := s.knownQueue(ctx, f.Queue)
		if errors.Is(err, ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		queue = &id
	}
	ids, err := s.selectIDs(ctx, cancelMatchingSQL, tenant.Shard, tenant.ID, queue, orNil(f.Actor), orNil(f.Tag), limit)
	if err != nil {
		return out, fmt.Errorf("cancel: %w", err)
	}
	for from := 0; from < len(ids); from += cancelChunk {
		results, err := s.Cancel(ctx, tenant, ids[from:min(from+cancelChunk, len(ids))], keep)
		if err != nil {
			return out, err
		}
		for _, r := range results {
			switch r {
			case CancelDone:
				out.Done++
			case CancelRequested:
				out.Requested++
			}
		}
	}
	out.More = len(ids) == limit
	return out, nil
}
