-- Classifiers are modules with names and versions of their own, beside the
-- actors: a tenant may have one of either kind under one name. Tenant 0 is the
-- platform, whose classifiers are everybody's as shared/name; it isn't a
-- tenant, so nothing here refers to taskq.tenants.
CREATE TABLE taskq.classifiers (
    tenant_id  integer     NOT NULL,
    classifier text        NOT NULL,
    current    integer     NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, classifier)
);

CREATE TABLE taskq.classifier_versions (
    tenant_id  integer     NOT NULL,
    classifier text        NOT NULL,
    version    integer     NOT NULL,
    digest     bytea       NOT NULL REFERENCES taskq.modules,
    manifest   jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, classifier, version),
    FOREIGN KEY (tenant_id, classifier) REFERENCES taskq.classifiers ON DELETE CASCADE
);
CREATE INDEX classifier_versions_digest ON taskq.classifier_versions (digest);

-- Not started by then, not started at all. The column is gone from the row
-- with the first claim, so it never ends a job that has begun.
ALTER TABLE taskq.ready ADD COLUMN start_by timestamptz;
ALTER TABLE taskq.scheduled ADD COLUMN start_by timestamptz;
CREATE INDEX ready_start_by ON taskq.ready (shard, start_by) WHERE start_by IS NOT NULL;
CREATE INDEX scheduled_start_by ON taskq.scheduled (shard, start_by) WHERE start_by IS NOT NULL;

-- How many quick repetitions the attempt had.
ALTER TABLE taskq.attempts ADD COLUMN inline smallint;
