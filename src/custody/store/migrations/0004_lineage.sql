-- What attribution needs beyond single records: traces of other tools, commits as git's hooks saw them, and lineage.

-- That a trace of another tool touched a file; it brings places and hashes, no text.
CREATE TABLE traced_file (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's place
    n        {int} NOT NULL,   -- which of the record's views
    session  {text} NOT NULL,  -- the trace's own id
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    revision {text},           -- HEAD at that moment, perhaps abbreviated
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX traced_file_path ON traced_file (path, at_ns);
CREATE INDEX traced_file_at ON traced_file (at_ns);
CREATE INDEX traced_file_revision ON traced_file (revision);
CREATE INDEX traced_file_session ON traced_file (session);

-- That a session spoke of a pull request.
CREATE TABLE pull_request_fact (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's place
    n        {int} NOT NULL,   -- which of the record's views
    number   {int} NOT NULL,   -- the pull request's number
    session  {text} NOT NULL,  -- in which session
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX pull_request_fact_number ON pull_request_fact (number);

-- Commits that git made here, as its own hooks saw them.
CREATE TABLE commit_seen (
    store_id   {text} NOT NULL,  -- the record's chain
    seq        {int} NOT NULL,   -- the record's place
    n          {int} NOT NULL,   -- which of the record's views
    commit_sha {text} NOT NULL,  -- the commit
    at_ns      {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX commit_seen_sha ON commit_seen (commit_sha);

-- One state of a file after a captured call, replayed: where each of its lines comes from.
CREATE TABLE lineage_state (
    id       {int} NOT NULL,   -- grows; never given twice
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    store_id {text} NOT NULL,  -- the record that shows it: its chain
    seq      {int} NOT NULL,   -- and its place
    n        {int} NOT NULL,   -- which of the record's views
    observed {text} NOT NULL,  -- what was observed, whoever told of it: agent, session and call
    agent    {text} NOT NULL,  -- whose call it was
    session  {text},           -- in which session
    call     {text},           -- the agent's own id of the call
    revision {text},           -- HEAD at that moment
    kind     {text} NOT NULL,  -- the record's kind: who told of it
    text     {blob},           -- the lines, compressed, where the record alone does not give them
    hashes   {blob} NOT NULL,  -- the hash of every line without white space, 8 bytes each
    origins  {blob} NOT NULL,  -- runs of lines and where they come from
    PRIMARY KEY (id)
) {clustered};
CREATE INDEX lineage_state_path ON lineage_state (path, at_ns);
CREATE INDEX lineage_state_at ON lineage_state (at_ns);
CREATE INDEX lineage_state_record ON lineage_state (store_id, seq, n);

-- Which states brought a line that says something.
CREATE TABLE lineage_line (
    hash  {int} NOT NULL,  -- of the line without white space
    state {int} NOT NULL,  -- the state whose call added it
    PRIMARY KEY (hash, state)
) {clustered};
CREATE INDEX lineage_line_state ON lineage_line (state);

-- Origins of a file's lines as of a commit, kept so that the next blame starts from there.
CREATE TABLE lineage_version (
    path       {blob} NOT NULL,  -- the file, as bytes
    commit_sha {text} NOT NULL,  -- the commit
    rules      {text} NOT NULL,  -- digest of the rules and version of the engine
    seen       {int} NOT NULL,   -- the newest state when this was made
    origins    {blob} NOT NULL,  -- runs of lines and where they come from
    PRIMARY KEY (path, commit_sha, rules)
) {clustered};
