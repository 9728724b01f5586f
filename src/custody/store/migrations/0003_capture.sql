-- Data from hooks.

-- Files on disk before or after a call.
CREATE TABLE file_state (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    session  {text},           -- in which session, if one is known
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX file_state_path ON file_state (path, at_ns);

-- Captured events of sessions, whether or not a reader understands them.
CREATE TABLE observation (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    agent    {text} NOT NULL,  -- the agent of the session
    session  {text} NOT NULL,  -- the agent's own id
    event    {text} NOT NULL,  -- the captured event: a kind, or the agent's own name
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX observation_session ON observation (session, agent, at_ns);
