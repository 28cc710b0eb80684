-- The board: projects, agents, tasks and everything that hangs on them.
-- Times are microseconds since 1970 in UTC. Lists and values inside a row are JSON text.
-- @id@, @serial@: see `Dialect` in sqlite.py and postgres.py. One statement ends with a semicolon at the end of a line.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE projects (
    id @id@ PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    working_directory TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    worktrees INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    next_task_number BIGINT NOT NULL DEFAULT 1,
    next_session_number BIGINT NOT NULL DEFAULT 1
);

CREATE TABLE agents (
    id @id@ PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT,
    role TEXT NOT NULL,
    system_prompt TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    dod TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Apart from the agents, so that no list of agents and no event can carry one.
CREATE TABLE passkeys (
    agent_id @id@ PRIMARY KEY REFERENCES agents (id),
    hash TEXT NOT NULL
);

CREATE TABLE project_agents (
    project_id @id@ NOT NULL REFERENCES projects (id),
    agent_id @id@ NOT NULL REFERENCES agents (id),
    position INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_id)
);
CREATE INDEX project_agents_by_agent ON project_agents (agent_id);

CREATE TABLE tasks (
    id @id@ PRIMARY KEY,
    number BIGINT NOT NULL,
    project_id @id@ NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    status_reason TEXT,
    priority TEXT NOT NULL,
    type TEXT NOT NULL,
    assignee_id @id@ REFERENCES agents (id),
    assignee_type TEXT,
    parent_id @id@ REFERENCES tasks (id),
    dod TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    assigned_at BIGINT,
    UNIQUE (project_id, number)
);
CREATE INDEX tasks_by_status ON tasks (project_id, status, number);
CREATE INDEX tasks_by_assignee ON tasks (assignee_id, status, number);
CREATE INDEX tasks_by_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE task_dependencies (
    task_id @id@ NOT NULL REFERENCES tasks (id),
    depends_on_id @id@ NOT NULL REFERENCES tasks (id),
    position INTEGER NOT NULL,
    PRIMARY KEY (task_id, depends_on_id)
);
CREATE INDEX task_dependencies_by_target ON task_dependencies (depends_on_id);

CREATE TABLE context_entries (
    seq @serial@,
    id @id@ NOT NULL UNIQUE,
    project_id @id@ NOT NULL REFERENCES projects (id),
    task_id @id@ NOT NULL REFERENCES tasks (id),
    agent_id @id@ REFERENCES agents (id),
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX context_entries_by_task ON context_entries (task_id, kind, seq);

CREATE TABLE handoffs (
    seq @serial@,
    id @id@ NOT NULL UNIQUE,
    project_id @id@ NOT NULL REFERENCES projects (id),
    task_id @id@ NOT NULL REFERENCES tasks (id),
    from_agent_id @id@ NOT NULL REFERENCES agents (id),
    to_agent_id @id@ REFERENCES agents (id),
    summary TEXT NOT NULL,
    context TEXT,
    recommendations TEXT,
    next_steps TEXT NOT NULL,
    warnings TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    accepted_at BIGINT,
    accepted_by @id@ REFERENCES agents (id)
);
CREATE INDEX handoffs_by_task ON handoffs (task_id, seq);
CREATE INDEX handoffs_pending ON handoffs (project_id, seq) WHERE accepted_at IS NULL;

CREATE TABLE memories (
    id @id@ PRIMARY KEY,
    project_id @id@ NOT NULL REFERENCES projects (id),
    slug @id@ NOT NULL,
    category TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    content TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX memories_by_project ON memories (project_id, slug);

CREATE TABLE sessions (
    id @id@ PRIMARY KEY,
    agent_id @id@ NOT NULL REFERENCES agents (id),
    project_id @id@ NOT NULL REFERENCES projects (id),
    status TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT,
    summary TEXT,
    process TEXT,
    token_hash TEXT NOT NULL UNIQUE
);
-- The promise that nobody logs in twice is this line.
CREATE UNIQUE INDEX sessions_one_live ON sessions (agent_id, project_id) WHERE status = 'live';

CREATE TABLE run_groups (
    id @id@ PRIMARY KEY,
    project_id @id@ REFERENCES projects (id),
    description TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE INDEX run_groups_by_time ON run_groups (created_at, id);

CREATE TABLE executions (
    id @id@ PRIMARY KEY,
    number BIGINT,
    project_id @id@ REFERENCES projects (id),
    task_id @id@ REFERENCES tasks (id),
    agent_id @id@ NOT NULL REFERENCES agents (id),
    group_id @id@ REFERENCES run_groups (id),
    session_id @id@ REFERENCES sessions (id),
    origin TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT,
    prompt TEXT NOT NULL,
    working_directory TEXT,
    timeout_ms BIGINT,
    status TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    exit_code BIGINT,
    signal TEXT,
    failure_reason TEXT,
    error TEXT,
    dod_result TEXT,
    artifacts TEXT NOT NULL,
    log_path TEXT,
    duration_ms BIGINT,
    report TEXT,
    owner TEXT,
    lease_until BIGINT,
    fence BIGINT NOT NULL
);
CREATE UNIQUE INDEX executions_by_number ON executions (project_id, number) WHERE number IS NOT NULL;
-- One running session for a task, whatever races.
CREATE UNIQUE INDEX executions_one_live_session ON executions (task_id)
    WHERE status IN ('queued', 'starting', 'running') AND origin IN ('session', 'worker');
CREATE INDEX executions_queued ON executions (queued_at, id) WHERE status = 'queued';
CREATE INDEX executions_leased ON executions (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX executions_by_project ON executions (project_id, queued_at, id);
CREATE INDEX executions_by_task ON executions (task_id, queued_at, id) WHERE task_id IS NOT NULL;
CREATE INDEX executions_by_agent ON executions (agent_id, queued_at, id);
CREATE INDEX executions_by_group ON executions (group_id, queued_at, id) WHERE group_id IS NOT NULL;
CREATE INDEX executions_by_time ON executions (queued_at, id);

CREATE TABLE events (
    seq @serial@,
    kind TEXT NOT NULL,
    subject @id@ NOT NULL,
    project_id @id@,
    actor TEXT NOT NULL,
    at BIGINT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_by_subject ON events (subject, seq);
