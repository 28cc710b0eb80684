-- Workers: runs on tasks in places of their own, and the evidence that decides what came of them.

ALTER TABLE executions ADD COLUMN base TEXT;
ALTER TABLE executions ADD COLUMN host_id @id@;
ALTER TABLE executions ADD COLUMN auto INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN skip_checks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN unverified INTEGER NOT NULL DEFAULT 0;
CREATE INDEX executions_unverified ON executions (queued_at, id) WHERE unverified = 1;
CREATE INDEX executions_by_branch ON executions (task_id, queued_at, id) WHERE branch IS NOT NULL;

-- A worker whose place is still being made holds its task too.
DROP INDEX executions_one_live_session;
CREATE UNIQUE INDEX executions_one_live_session ON executions (task_id)
    WHERE status IN ('planned', 'queued', 'starting', 'running') AND origin IN ('session', 'worker');

-- Where an instance was told to work.
ALTER TABLE instances ADD COLUMN worktree TEXT;
ALTER TABLE instances ADD COLUMN branch TEXT;

CREATE TABLE evidence (
    id @id@ PRIMARY KEY REFERENCES executions (id),
    base TEXT,
    head TEXT,
    updated_at BIGINT NOT NULL,
    commits TEXT NOT NULL,
    diffstat TEXT NOT NULL,
    uncommitted TEXT NOT NULL,
    violations TEXT NOT NULL,
    checks TEXT NOT NULL,
    checks_skipped INTEGER NOT NULL,
    conflicts TEXT NOT NULL,
    merged TEXT,
    left_by_checks TEXT NOT NULL
);
