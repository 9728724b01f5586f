-- Shell commands of recorded calls, so that questions about runs read no bodies.
-- The table is derived from the records.

-- Shell commands that ended.
CREATE TABLE command_record (
    store_id  {text} NOT NULL,  -- the record's chain
    seq       {int} NOT NULL,   -- the record's position
    n         {int} NOT NULL,   -- which of the record's views
    agent     {text} NOT NULL,  -- the agent that ran it
    session   {text} NOT NULL,  -- in which session
    call      {text} NOT NULL,  -- by which call
    at_ns     {int} NOT NULL,   -- when it ended
    command   {text} NOT NULL,  -- the command, redacted and cut
    folder    {text},           -- where it ran, as written
    root      {text},           -- the root of the work tree
    code      {int},            -- the exit status, if known
    ended     {text} NOT NULL,  -- exited, running, refused
    summaries {text} NOT NULL,  -- what test runners printed: RUNNER:PASSED:FAILED:SKIPPED, one per line
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX command_record_session ON command_record (session, at_ns);
