-- Spans of running programs can be found by their execution, by their session and by what they ran in.

-- What was recorded of spans: a row for each start, end or whole.
CREATE TABLE span (
    store_id  {text} NOT NULL,  -- the record's chain
    seq       {int} NOT NULL,   -- the record's place
    n         {int} NOT NULL,   -- which of the record's views
    execution {text} NOT NULL,  -- the run of a program that it is part of
    span      {text} NOT NULL,  -- its own id
    parent    {text},           -- the span inside which it ran
    session   {text},           -- the agent's session, where somebody said so
    at_ns     {int} NOT NULL,   -- when it began, or ended where only that is known
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX span_execution ON span (execution, span);
CREATE INDEX span_session ON span (session, at_ns);
CREATE INDEX span_parent ON span (parent, execution);
