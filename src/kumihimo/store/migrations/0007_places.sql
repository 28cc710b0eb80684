-- Where something is to run: the name, the id or a label of a host.
ALTER TABLE tasks ADD COLUMN host TEXT;
ALTER TABLE run_groups ADD COLUMN host TEXT;
ALTER TABLE executions ADD COLUMN host TEXT;

-- Where other doors reach a host, what it has, and the hash of its owner's token: any door opens to any owner of the board.
ALTER TABLE hosts ADD COLUMN url TEXT;
ALTER TABLE hosts ADD COLUMN memory BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosts ADD COLUMN projects TEXT NOT NULL DEFAULT '[]';
ALTER TABLE hosts ADD COLUMN token_hash TEXT;

-- Why a branch is on its host alone, where other hosts were to find it on the remote of the project.
ALTER TABLE evidence ADD COLUMN unpushed TEXT;
