-- Makes the partitions that the days around now need; idempotent. What lies in
-- the default partition and belongs to a new one (kept for longer than there
-- were partitions, or made by a clock that is days off) is moved into it.
CREATE OR REPLACE FUNCTION taskq.ensure_partitions(days_ahead integer, keep_days integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    day   date;
    made  integer := 0;
    tab   text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('taskq.partitions', 0));
    FOR day IN SELECT today + g FROM generate_series(-1, days_ahead) g LOOP
        FOREACH tab IN ARRAY ARRAY['jobs', 'attempts', 'events'] LOOP
            made := made + taskq.ensure_partition(tab, day, 'job_id', quote_literal(taskq.uuid_floor(day::timestamp AT TIME ZONE 'UTC')),
                quote_literal(taskq.uuid_floor((day + 1)::timestamp AT TIME ZONE 'UTC')));
        END LOOP;
    END LOOP;
    FOR day IN SELECT today + g FROM generate_series(1, keep_days) g LOOP
        FOREACH tab IN ARRAY ARRAY['finished', 'results'] LOOP
            made := made + taskq.ensure_partition(tab, day, 'keep_until', quote_literal(day), quote_literal(day + 1));
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;

CREATE FUNCTION taskq.ensure_partition(tab text, day date, key text, low text, high text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    name text := tab || '_' || to_char(day, 'YYYYMMDD');
    inside boolean;
BEGIN
    IF to_regclass('taskq.' || name) IS NOT NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM taskq.%I WHERE %I >= %s AND %I < %s)', tab || '_other', key, low, key, high) INTO inside;
    IF inside THEN
        EXECUTE format('CREATE TABLE taskq.%I (LIKE taskq.%I INCLUDING DEFAULTS)', name, tab);
        EXECUTE format('WITH m AS (DELETE FROM taskq.%I WHERE %I >= %s AND %I < %s RETURNING *) INSERT INTO taskq.%I SELECT * FROM m', tab || '_other', key, low, key, high, name);
        EXECUTE format('ALTER TABLE taskq.%I ATTACH PARTITION taskq.%I FOR VALUES FROM (%s) TO (%s)', tab, name, low, high);
    ELSE
        EXECUTE format('CREATE TABLE taskq.%I PARTITION OF taskq.%I FOR VALUES FROM (%s) TO (%s)', name, tab, low, high);
    END IF;
    RETURN 1;
END
$$;

-- Whether anything is left of a job: it lives, or its end is still kept. Once
-- false it stays false.
CREATE FUNCTION taskq.remains(j taskq.jobs) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM taskq.finished f WHERE f.shard = j.shard AND f.tenant_id = j.tenant_id AND f.job_id = j.job_id)
        OR EXISTS (SELECT FROM taskq.scheduled s WHERE s.shard = j.shard AND s.tenant_id = j.tenant_id AND s.job_id = j.job_id)
        OR EXISTS (SELECT FROM taskq.ready r WHERE r.shard = j.shard AND r.queue_id = j.queue_id AND r.tenant_id = j.tenant_id AND r.lane_id = j.lane_id
                   AND r.priority = j.priority AND r.seq = j.seq)
        OR EXISTS (SELECT FROM taskq.ready r WHERE r.moved AND r.shard = j.shard AND r.tenant_id = j.tenant_id AND r.job_id = j.job_id)
        OR EXISTS (SELECT FROM taskq.leases l WHERE l.shard = j.shard AND l.jobs @> ARRAY[j.job_id])
$$;

-- A job of which nothing remains isn't pending: its row waits for its
-- partition to be dropped.
CREATE OR REPLACE VIEW taskq.job AS
SELECT j.job_id AS id, t.name AS tenant, q.name AS queue, j.actor, j.priority,
       CASE
           WHEN f.job_id IS NOT NULL THEN (ARRAY['succeeded', 'failed', 'cancelled', 'crashed', 'abandoned'])[f.status - 9]
           WHEN l.job_id IS NOT NULL THEN 'running'
           WHEN s.job_id IS NOT NULL AND s.due_at > clock_timestamp() THEN 'scheduled'
           ELSE 'pending'
       END AS status,
       coalesce(f.attempt, l.attempt, s.attempt, m.attempt, 0) AS attempt,
       coalesce(f.claim_epoch, l.epoch, s.claim_epoch, m.claim_epoch, 0) AS claim_epoch,
       taskq.as_json(j.content_type, j.payload) AS payload,
       coalesce(j.content_type, 'application/json') AS content_type,
       taskq.as_json(r.content_type, r.result) AS result,
       j.tags, j.headers, j.metadata, j.created_at,
       s.due_at AS scheduled_at, coalesce(l.deadline, s.deadline, m.deadline, fr.deadline) AS deadline,
       coalesce(f.started_at, l.claimed_at) AS started_at, f.finished_at,
       (ARRAY['exhausted', 'non_retryable', 'deadline', 'crash_exhausted', 'payload_invalid', 'unroutable', 'version_mismatch', 'result_too_large', 'retry_budget'])[f.dead_reason] AS dead_reason,
       coalesce(f.error_class, a.error_class) AS error_class, coalesce(f.message, a.message) AS message
FROM taskq.jobs j
JOIN taskq.tenants t USING (tenant_id)
JOIN taskq.queues q USING (queue_id)
LEFT JOIN LATERAL (SELECT f.* FROM taskq.finished f WHERE f.shard = j.shard AND f.tenant_id = j.tenant_id AND f.job_id = j.job_id LIMIT 1) f ON true
LEFT JOIN taskq.scheduled s ON s.shard = j.shard AND s.tenant_id = j.tenant_id AND s.job_id = j.job_id
LEFT JOIN taskq.ready m ON m.moved AND m.shard = j.shard AND m.tenant_id = j.tenant_id AND m.job_id = j.job_id
LEFT JOIN taskq.ready fr ON fr.shard = j.shard AND fr.queue_id = j.queue_id AND fr.tenant_id = j.tenant_id AND fr.lane_id = j.lane_id AND fr.priority = j.priority AND fr.seq = j.seq
LEFT JOIN LATERAL (
    SELECT u.job_id, u.attempt, u.epoch, l.claimed_at, l.deadlines[u.ix] AS deadline
    FROM taskq.leases l, unnest(l.jobs, l.tenants, l.attempts, l.epochs) WITH ORDINALITY AS u(job_id, tenant_id, attempt, epoch, ix)
    WHERE l.shard = j.shard AND u.job_id = j.job_id AND u.tenant_id = j.tenant_id AND get_bit(l.ended, (u.ix - 1)::integer) = 0
    LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT r.content_type, r.result FROM taskq.results r WHERE r.shard = j.shard AND r.tenant_id = j.tenant_id AND r.job_id = j.job_id LIMIT 1) r ON true
LEFT JOIN LATERAL (SELECT a.error_class, a.message FROM taskq.attempts a WHERE a.shard = j.shard AND a.tenant_id = j.tenant_id AND a.job_id = j.job_id ORDER BY a.claim_epoch DESC LIMIT 1) a ON true
WHERE f.job_id IS NOT NULL OR l.job_id IS NOT NULL OR s.job_id IS NOT NULL OR m.job_id IS NOT NULL OR fr.job_id IS NOT NULL;
