-- What a run may write, as it was declared when its place was made. Who does not know it lets two runs write the same.
ALTER TABLE executions ADD COLUMN writes TEXT NOT NULL DEFAULT '[]';
