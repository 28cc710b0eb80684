-- oldest: 9
-- What every host asks with every lease, and what is nearly never there: not to be looked for among all that is planned or under way.
CREATE INDEX executions_unplaced ON executions (host) WHERE status = 'planned' AND origin = 'worker';
CREATE INDEX executions_in_worktrees ON executions (host_id) WHERE status IN ('starting', 'running') AND worktree IS NOT NULL;
CREATE INDEX executions_attended ON executions (host_id) WHERE status = 'running' AND origin = 'session';
