-- What a host has, as it says itself: for who decides where something is to run.
ALTER TABLE hosts ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE hosts ADD COLUMN clients TEXT NOT NULL DEFAULT '[]';
ALTER TABLE hosts ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;

-- What a host that came back knows of a run that had been given up.
ALTER TABLE executions ADD COLUMN returned TEXT;
CREATE INDEX executions_lost ON executions (host_id, queued_at, id) WHERE status = 'lost' AND returned IS NULL;
