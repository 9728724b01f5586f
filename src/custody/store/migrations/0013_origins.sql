-- Origins of lines are stored by content, so that a new commit reads only the files that it changed.
-- The model of calls and sessions is a column. This step comes with a new version of the readers, which rebuilds their
-- rows.

DROP TABLE tool_call;

-- Tool calls.
CREATE TABLE tool_call (
    store_id   {text} NOT NULL,  -- the record's chain
    seq        {int} NOT NULL,   -- the record's position
    n          {int} NOT NULL,   -- which of the record's views
    session    {text} NOT NULL,  -- in which session
    call       {text} NOT NULL,  -- the agent's own id
    started_ns {int} NOT NULL,   -- when
    agent      {text} NOT NULL,  -- the agent of the session
    model      {text},           -- the model that made the call
    prompt     {text},           -- the id of the prompt that it follows
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX tool_call_id ON tool_call (session, call);

DROP TABLE session;

-- Sessions.
CREATE TABLE session (
    store_id   {text} NOT NULL,  -- the record's chain
    seq        {int} NOT NULL,   -- the record's position
    n          {int} NOT NULL,   -- which of the record's views
    agent      {text} NOT NULL,  -- the agent of the session
    session    {text} NOT NULL,  -- the agent's own id
    revision   {text},           -- the commit it started from
    started_ns {int} NOT NULL,   -- when it started
    model      {text},           -- its model from then on
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX session_id ON session (session);
CREATE INDEX session_revision ON session (revision);

DROP TABLE lineage_version;

-- Origins of a file's lines after each commit that changed the file, with what they were computed from.
CREATE TABLE lineage_version (
    path       {blob} NOT NULL,  -- the file, as bytes
    commit_sha {text} NOT NULL,  -- the last commit that changed it
    blob       {text} NOT NULL,  -- its content
    rules      {text} NOT NULL,  -- the rules, the version of the engine, and the time from which on commits were read
    seen       {int} NOT NULL,   -- the newest state at that time
    at_ns      {int} NOT NULL,   -- the time of the commit
    commits    {int} NOT NULL,   -- how many commits of other files were read for this commit
    keys       {blob} NOT NULL,  -- the hash of each added line that no state of this file explains, 8 bytes each
    uses       {blob} NOT NULL,  -- the other versions that it was computed from
    origins    {blob} NOT NULL,  -- line ranges and their origins
    PRIMARY KEY (path, commit_sha, blob, rules)
) {clustered};

-- The last commit that changed a file, as of another commit.
CREATE TABLE lineage_touch (
    commit_sha {text} NOT NULL,  -- the other commit
    path       {blob} NOT NULL,  -- the file, as bytes
    rules      {text} NOT NULL,  -- as in lineage_version
    touched    {text},           -- the last commit that changed it, if any since the first capture
    PRIMARY KEY (commit_sha, path, rules)
) {clustered};
