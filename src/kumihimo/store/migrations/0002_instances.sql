-- Instances that Runners start, the orders that started them, and tokens that open less than everything.

CREATE TABLE instances (
    id @id@ PRIMARY KEY,
    agent_id @id@ NOT NULL REFERENCES agents (id),
    project_id @id@ NOT NULL REFERENCES projects (id),
    state TEXT NOT NULL,
    working_directory TEXT,
    exit_code BIGINT,
    signal TEXT,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ended_at BIGINT,
    outcome TEXT
);
CREATE INDEX instances_by_pair ON instances (agent_id, project_id, started_at);

-- Which pair was told to start, and when. Gone once it has logged in.
CREATE TABLE start_orders (
    agent_id @id@ NOT NULL REFERENCES agents (id),
    project_id @id@ NOT NULL REFERENCES projects (id),
    told_at BIGINT NOT NULL,
    PRIMARY KEY (agent_id, project_id)
);

CREATE TABLE tokens (
    hash TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    agent_id @id@ REFERENCES agents (id),
    project_id @id@ REFERENCES projects (id),
    execution_id @id@ REFERENCES executions (id),
    instance_id @id@ REFERENCES instances (id),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX tokens_by_instance ON tokens (instance_id) WHERE instance_id IS NOT NULL;
CREATE INDEX tokens_by_execution ON tokens (execution_id) WHERE execution_id IS NOT NULL;

-- The run that says it has done the task, while the facts are still to come.
ALTER TABLE tasks ADD COLUMN claimed_by @id@ REFERENCES executions (id);

CREATE INDEX tasks_in_progress ON tasks (assignee_id, project_id) WHERE status = 'in_progress';
CREATE INDEX executions_by_session ON executions (session_id) WHERE session_id IS NOT NULL;

-- Lists that are asked for by something rare must not walk everything else.
CREATE INDEX executions_by_status ON executions (status, queued_at, id);
CREATE INDEX handoffs_all_pending ON handoffs (seq) WHERE accepted_at IS NULL;
CREATE INDEX tasks_of_assignee ON tasks (project_id, assignee_id, number);
