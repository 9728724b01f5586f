-- What hooks captured.

-- Files as they were seen on disk around a call.
CREATE TABLE file_state (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's place
    n        {int} NOT NULL,   -- which of the record's views
    session  {text},           -- in which session, if one is known
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX file_state_path ON file_state (path, at_ns);

-- That something of a session was captured, whoever can read it.
CREATE TABLE observation (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's place
    n        {int} NOT NULL,   -- which of the record's views
    agent    {text} NOT NULL,  -- whose session
    session  {text} NOT NULL,  -- the agent's own id of it
    event    {text} NOT NULL,  -- what was captured: a kind, or the agent's own word
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX observation_session ON observation (session, agent, at_ns);
