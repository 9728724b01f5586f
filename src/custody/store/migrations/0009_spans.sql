-- Spans of running programs can be found by execution, session and parent.

-- Recorded spans: a row for each start, end or whole span.
CREATE TABLE span (
    store_id  {text} NOT NULL,  -- the record's chain
    seq       {int} NOT NULL,   -- the record's position
    n         {int} NOT NULL,   -- which of the record's views
    execution {text} NOT NULL,  -- the run of the program
    span      {text} NOT NULL,  -- its own id
    parent    {text},           -- the enclosing span
    session   {text},           -- the agent's session, if known
    at_ns     {int} NOT NULL,   -- its start, or its end if only that is known
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX span_execution ON span (execution, span);
CREATE INDEX span_session ON span (session, at_ns);
CREATE INDEX span_parent ON span (parent, execution);
