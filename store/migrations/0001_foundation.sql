-- The shape: a job's state is where its row is. A job is in exactly one of
-- ready, scheduled, a lease's members or finished at any commit. See doc.go.

CREATE TABLE taskq.tenants (
    tenant_id  integer     PRIMARY KEY,
    name       text        NOT NULL UNIQUE,
    shard      smallint    NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO taskq.tenants (tenant_id, name) VALUES (1, 'default');

CREATE TABLE taskq.tokens (
    tenant_id  integer     NOT NULL REFERENCES taskq.tenants,
    name       text        NOT NULL,
    hash       bytea       NOT NULL UNIQUE,   -- SHA-256 of the bearer token
    role       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, name)
);

-- A queue's name is shared by all tenants: a claim walks the tenants of one
-- queue, so the queue comes before the tenant in the ready key.
CREATE TABLE taskq.queues (
    queue_id   integer     PRIMARY KEY,
    name       text        NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Bytes once, whoever uploads them.
CREATE TABLE taskq.modules (
    digest     bytea       PRIMARY KEY,       -- SHA-256 of wasm
    wasm       bytea       NOT NULL,
    report     jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE taskq.actors (
    tenant_id  integer     NOT NULL REFERENCES taskq.tenants,
    actor      text        NOT NULL,
    current    integer     NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, actor)
);

CREATE TABLE taskq.actor_versions (
    tenant_id  integer     NOT NULL,
    actor      text        NOT NULL,
    version    integer     NOT NULL,
    digest     bytea       NOT NULL REFERENCES taskq.modules,
    manifest   jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, actor, version),
    FOREIGN KEY (tenant_id, actor) REFERENCES taskq.actors ON DELETE CASCADE
);
CREATE INDEX actor_versions_digest ON taskq.actor_versions (digest);

-- Written once, never updated. Partitioned by day of the id, which is a
-- UUIDv7 and so begins with its time.
CREATE TABLE taskq.jobs (
    shard        smallint    NOT NULL,
    priority     smallint    NOT NULL,
    tenant_id    integer     NOT NULL,
    queue_id     integer     NOT NULL,
    version      integer,                     -- the actor's version that it was made for
    job_id       uuid        NOT NULL,
    created_at   timestamptz NOT NULL,
    seq          bigint,                      -- of its first ready row; null if it began as scheduled
    lane_id      bigint      NOT NULL DEFAULT 0,
    actor        text        NOT NULL,
    content_type text,                        -- null: application/json
    payload      bytea,
    options      jsonb,                       -- what the enqueue overrode
    headers      jsonb,
    tags         text[],
    metadata     jsonb,
    PRIMARY KEY (shard, tenant_id, job_id)
) PARTITION BY RANGE (job_id);

-- Present = due. The primary key is the only index that every job pays for;
-- the second one holds rows that were moved here, whose seq jobs doesn't know.
CREATE SEQUENCE taskq.ready_seq AS bigint;
CREATE TABLE taskq.ready (
    shard       smallint NOT NULL,
    priority    smallint NOT NULL,
    queue_id    integer  NOT NULL,
    tenant_id   integer  NOT NULL,
    attempt     integer  NOT NULL,
    lane_id     bigint   NOT NULL,
    seq         bigint   NOT NULL,
    claim_epoch bigint   NOT NULL,
    job_id      uuid     NOT NULL,
    moved       boolean  NOT NULL DEFAULT false,
    deadline    timestamptz,
    extra       jsonb,
    PRIMARY KEY (shard, queue_id, tenant_id, lane_id, priority, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE INDEX ready_moved ON taskq.ready (shard, tenant_id, job_id) WHERE moved;
CREATE INDEX ready_deadline ON taskq.ready (shard, deadline) WHERE deadline IS NOT NULL;

CREATE TABLE taskq.scheduled (
    shard       smallint    NOT NULL,
    priority    smallint    NOT NULL,
    queue_id    integer     NOT NULL,
    tenant_id   integer     NOT NULL,
    attempt     integer     NOT NULL,
    lane_id     bigint      NOT NULL,
    claim_epoch bigint      NOT NULL,
    due_at      timestamptz NOT NULL,
    job_id      uuid        NOT NULL,
    reason      smallint    NOT NULL,         -- store.ScheduleReason
    deadline    timestamptz,
    extra       jsonb,
    PRIMARY KEY (shard, tenant_id, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE INDEX scheduled_due ON taskq.scheduled (shard, due_at);
CREATE INDEX scheduled_deadline ON taskq.scheduled (shard, deadline) WHERE deadline IS NOT NULL;

CREATE TABLE taskq.workers (
    worker_id    uuid        PRIMARY KEY,     -- random per boot
    name         text        NOT NULL,
    version      text        NOT NULL,
    concurrency  integer     NOT NULL,
    queues       text[]      NOT NULL,
    started_at   timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,        -- and with it every lease of the worker
    draining     boolean     NOT NULL DEFAULT false
);

-- One row a claimed block, unchanging but for the two bit strings. Arrays are
-- kept in the row, uncompressed: a block lives for milliseconds.
CREATE TABLE taskq.leases (
    shard      smallint    NOT NULL,
    queue_id   integer     NOT NULL,
    worker_id  uuid        NOT NULL,
    lease_id   uuid        NOT NULL,          -- chosen by the worker before it claims
    claimed_at timestamptz NOT NULL,
    ended      varbit      NOT NULL,
    cancel     varbit      NOT NULL,
    jobs       uuid[]      NOT NULL,
    tenants    integer[]   NOT NULL,
    attempts   integer[]   NOT NULL,
    epochs     bigint[]    NOT NULL,
    deadlines  timestamptz[],                 -- null: no member has one
    extras     jsonb[],                       -- null: no member has one
    PRIMARY KEY (shard, worker_id, lease_id)
) WITH (toast_tuple_target = 8160, fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- One row a failed, deferred or crashed attempt; a success is told by finished.
CREATE TABLE taskq.attempts (
    shard       smallint    NOT NULL,
    outcome     smallint    NOT NULL,         -- store.AttemptOutcome
    tenant_id   integer     NOT NULL,
    attempt     integer     NOT NULL,
    version     integer,
    http_status integer,
    exit_code   bigint,
    job_id      uuid        NOT NULL,
    claim_epoch bigint      NOT NULL,
    worker_id   uuid        NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    delay_ms    bigint,                       -- the delay that was chosen
    fuel        bigint,
    peak_memory bigint,
    timed_out   boolean     NOT NULL DEFAULT false,
    pre_actor   boolean     NOT NULL DEFAULT false,
    retry_kind  text,
    decided_by  text,
    error_class text,
    ancestors   text[],
    message     text,
    stack       text,
    trap        text,
    origin      text,
    record      text,                         -- JSON: http headers, details, cause, truncated
    policy      jsonb,                        -- the snapshot it was claimed with
    digest      bytea,
    PRIMARY KEY (shard, tenant_id, job_id, claim_epoch)
) PARTITION BY RANGE (job_id);

-- One row a job at its end, in the partition of the day until which it is kept.
CREATE TABLE taskq.finished (
    shard       smallint    NOT NULL,
    status      smallint    NOT NULL,         -- store.Status
    dead_reason smallint,
    queue_id    integer     NOT NULL,
    tenant_id   integer     NOT NULL,
    attempt     integer     NOT NULL,
    version     integer,
    keep_until  date        NOT NULL,
    job_id      uuid        NOT NULL,
    claim_epoch bigint      NOT NULL,
    worker_id   uuid,
    started_at  timestamptz,                  -- of the last attempt
    finished_at timestamptz NOT NULL,
    error_class text,
    message     text,
    decided_by  text,
    extra       jsonb
) PARTITION BY RANGE (keep_until);
CREATE INDEX finished_job ON taskq.finished (shard, tenant_id, job_id);
CREATE INDEX finished_dead ON taskq.finished (shard, tenant_id, finished_at) WHERE dead_reason IS NOT NULL;

CREATE TABLE taskq.results (
    shard        smallint NOT NULL,
    tenant_id    integer  NOT NULL,
    keep_until   date     NOT NULL,
    job_id       uuid     NOT NULL,
    content_type text,                        -- null: application/json
    result       bytea    NOT NULL
) PARTITION BY RANGE (keep_until);
CREATE INDEX results_job ON taskq.results (shard, tenant_id, job_id);

CREATE TABLE taskq.events (
    shard     smallint    NOT NULL,
    tenant_id integer     NOT NULL,
    job_id    uuid        NOT NULL,
    at        timestamptz NOT NULL,
    event     text        NOT NULL,
    facts     jsonb
) PARTITION BY RANGE (job_id);
CREATE INDEX events_job ON taskq.events (shard, tenant_id, job_id, at);

-- The smallest UUIDv7 of an instant: the bound of a day's partition.
CREATE FUNCTION taskq.uuid_floor(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Makes the partitions that the days around now need; idempotent. The default
-- partitions take what falls outside (an id from a clock that is days off).
CREATE FUNCTION taskq.ensure_partitions(days_ahead integer, keep_days integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    day   date;
    name  text;
    made  integer := 0;
    tab   text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('taskq.partitions', 0));
    FOR day IN SELECT today + g FROM generate_series(-1, days_ahead) g LOOP
        FOREACH tab IN ARRAY ARRAY['jobs', 'attempts', 'events'] LOOP
            name := tab || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('taskq.' || name) IS NULL THEN
                EXECUTE format('CREATE TABLE taskq.%I PARTITION OF taskq.%I FOR VALUES FROM (%L) TO (%L)', name, tab,
                    taskq.uuid_floor(day::timestamp AT TIME ZONE 'UTC'), taskq.uuid_floor((day + 1)::timestamp AT TIME ZONE 'UTC'));
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    FOR day IN SELECT today + g FROM generate_series(0, keep_days) g LOOP
        FOREACH tab IN ARRAY ARRAY['finished', 'results'] LOOP
            name := tab || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('taskq.' || name) IS NULL THEN
                EXECUTE format('CREATE TABLE taskq.%I PARTITION OF taskq.%I FOR VALUES FROM (%L) TO (%L)', name, tab, day, day + 1);
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
CREATE TABLE taskq.jobs_other PARTITION OF taskq.jobs DEFAULT;
CREATE TABLE taskq.attempts_other PARTITION OF taskq.attempts DEFAULT;
CREATE TABLE taskq.events_other PARTITION OF taskq.events DEFAULT;
CREATE TABLE taskq.finished_other PARTITION OF taskq.finished DEFAULT;
CREATE TABLE taskq.results_other PARTITION OF taskq.results DEFAULT;
SELECT taskq.ensure_partitions(3, 32);

-- JSON where it is JSON, else null: never an error, whatever the bytes are.
CREATE FUNCTION taskq.as_json(content_type text, body bytea) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF body IS NULL OR coalesce(content_type, 'application/json') !~* '^application/(.*\+)?json' THEN
        RETURN NULL;
    END IF;
    RETURN convert_from(body, 'UTF8')::jsonb;
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;

-- A job as people see it: one row, wherever its parts are.
CREATE VIEW taskq.job AS
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
LEFT JOIN LATERAL (SELECT a.error_class, a.message FROM taskq.attempts a WHERE a.shard = j.shard AND a.tenant_id = j.tenant_id AND a.job_id = j.job_id ORDER BY a.claim_epoch DESC LIMIT 1) a ON true;
