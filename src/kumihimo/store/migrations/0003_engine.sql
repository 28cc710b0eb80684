-- The engine: stages of groups, how a run goes on from another and is stopped, and what its stream has shown.

ALTER TABLE run_groups ADD COLUMN stages BIGINT;
ALTER TABLE run_groups ADD COLUMN stage BIGINT;
ALTER TABLE run_groups ADD COLUMN on_failure TEXT;

ALTER TABLE executions ADD COLUMN stage BIGINT;
ALTER TABLE executions ADD COLUMN previous_id @id@;
ALTER TABLE executions ADD COLUMN conversation TEXT;
ALTER TABLE executions ADD COLUMN stopping TEXT;
ALTER TABLE executions ADD COLUMN survivors TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN branch TEXT;
ALTER TABLE executions ADD COLUMN worktree TEXT;
CREATE INDEX executions_owned ON executions (owner) WHERE owner IS NOT NULL;
CREATE INDEX executions_by_stage ON executions (group_id, stage) WHERE stage IS NOT NULL;

-- What a stream has shown. Written often, and not part of the log: it can be made again from the capture.
CREATE TABLE observations (
    execution_id @id@ PRIMARY KEY REFERENCES executions (id),
    position BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    seen TEXT NOT NULL,
    at BIGINT NOT NULL
);

-- Whether the program behind an agent is there and answers, as last looked at.
CREATE TABLE health_checks (
    agent_id @id@ PRIMARY KEY REFERENCES agents (id),
    status TEXT NOT NULL,
    reason TEXT,
    response_time_ms BIGINT,
    checked_at BIGINT,
    model_status TEXT NOT NULL,
    model_message TEXT,
    model_checked_at BIGINT,
    program TEXT,
    version TEXT
);

-- Clients whose account may not be used until then.
CREATE TABLE parked_clients (
    client TEXT PRIMARY KEY,
    until BIGINT NOT NULL,
    reason TEXT NOT NULL
);

-- Where runs happen. Who has not renewed its lease is gone.
CREATE TABLE hosts (
    id @id@ PRIMARY KEY,
    name TEXT NOT NULL,
    slots BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);
