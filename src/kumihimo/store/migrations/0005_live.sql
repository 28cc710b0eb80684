-- What is under way, for who watches: a handful of rows among very many.
CREATE INDEX executions_live ON executions (queued_at, id) WHERE status IN ('planned', 'queued', 'starting', 'running');
CREATE INDEX tasks_open ON tasks (created_at, id) WHERE status NOT IN ('done', 'cancelled');
CREATE INDEX tasks_ended ON tasks (updated_at, id) WHERE status IN ('done', 'cancelled');
-- Calls through the hub are read by themselves, and a log has many other events.
CREATE INDEX events_of_hub ON events (seq) WHERE kind = 'hub.called';
