-- Repair stores of early versions, whose migrations 1 and 4 were edited afterwards. Lineage is derived: it is replayed.

DROP INDEX IF EXISTS record_at;
CREATE INDEX record_at ON record (at_ns);
DROP INDEX IF EXISTS traced_file_at;
CREATE INDEX traced_file_at ON traced_file (at_ns);

DROP TABLE lineage_state;
DROP TABLE lineage_line;
DROP TABLE lineage_version;
DELETE FROM state WHERE view IN ('lineage', 'adopted');

-- States of files after captured calls, with the origin of each line.
CREATE TABLE lineage_state (
    id       {int} NOT NULL,   -- increasing, never reused
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    store_id {text} NOT NULL,  -- the chain of its record
    seq      {int} NOT NULL,   -- and its position
    n        {int} NOT NULL,   -- which of the record's views
    observed {text} NOT NULL,  -- the subject of the observation: agent, session and call
    agent    {text} NOT NULL,  -- the agent of the call
    session  {text},           -- in which session
    call     {text},           -- the agent's own call id
    revision {text},           -- HEAD at that time
    kind     {text} NOT NULL,  -- the record's kind, which shows who reported it
    text     {blob},           -- the lines, compressed, if the record alone does not have them
    hashes   {blob} NOT NULL,  -- the hash of every line without white space, 8 bytes each
    origins  {blob} NOT NULL,  -- line ranges and their origins
    PRIMARY KEY (id)
) {clustered};
CREATE INDEX lineage_state_path ON lineage_state (path, at_ns);
CREATE INDEX lineage_state_at ON lineage_state (at_ns);
CREATE INDEX lineage_state_record ON lineage_state (store_id, seq, n);

-- The states that added a line; trivial lines are left out.
CREATE TABLE lineage_line (
    hash  {int} NOT NULL,  -- hash of the line without white space
    state {int} NOT NULL,  -- the state after the call that added it
    PRIMARY KEY (hash, state)
) {clustered};
CREATE INDEX lineage_line_state ON lineage_line (state);

-- Origins of a file's lines at a commit: a cache for the next blame.
CREATE TABLE lineage_version (
    path       {blob} NOT NULL,  -- the file, as bytes
    commit_sha {text} NOT NULL,  -- the commit
    rules      {text} NOT NULL,  -- digest of the rules and version of the engine
    seen       {int} NOT NULL,   -- the newest state at that time
    origins    {blob} NOT NULL,  -- line ranges and their origins
    PRIMARY KEY (path, commit_sha, rules)
) {clustered};
