-- Whether a run on a task that did not end well is followed by another, and which of these a run is. An older version, which
-- would write a task without its policy into the log and leave two agents on one task, is not to work on with this.
ALTER TABLE tasks ADD COLUMN retry TEXT NOT NULL DEFAULT '{"times":0,"on":["lost"]}';
ALTER TABLE executions ADD COLUMN attempt BIGINT NOT NULL DEFAULT 0;

-- Retries whose place is to be made by whoever can, or was made by a host that is gone: looked for often, and nearly never there.
CREATE INDEX executions_retries ON executions (status, queued_at, id) WHERE attempt > 0;
