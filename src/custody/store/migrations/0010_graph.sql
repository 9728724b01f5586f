-- What was learnt from calls is kept, so that a question need not learn from every session again.
-- No truth lives here: everything is a function of the records and the rules, and is made again when either asks for it.

-- What was called.
CREATE TABLE graph_node (
    name       {text} NOT NULL,  -- capability:NAME, SERVER:TOOL, KIND:NAME
    kind       {text},           -- the kind of its spans; none in rows of old
    count      {int} NOT NULL,   -- how often it was called
    failures   {int} NOT NULL,   -- how often that failed
    repeats    {int} NOT NULL,   -- how often it followed itself
    recursions {int} NOT NULL,   -- how often it called itself
    PRIMARY KEY (name)
) {clustered};

-- What two of them are to each other.
CREATE TABLE graph_edge (
    start_node  {text} NOT NULL,  -- from
    end_node    {text} NOT NULL,  -- to
    edge_type   {text} NOT NULL DEFAULT 'sequence',  -- dependency, contains, sequence
    edge_source {text} NOT NULL DEFAULT 'inferred',  -- observed, inferred, template
    count       {int} NOT NULL,   -- how often it was seen
    executions  {int} NOT NULL,   -- in how many executions
    successes   {int} NOT NULL,   -- how often what it leads to succeeded
    failures    {int} NOT NULL,   -- how often that failed
    first_ns    {int},            -- when it was first seen
    last_ns     {int},            -- when it was last seen
    evidence    {text} NOT NULL,  -- JSON: spans that show it
    aside       {int} NOT NULL,   -- 1: it would have closed a cycle and is no part of the graph
    PRIMARY KEY (start_node, end_node, edge_type)
) {clustered};
CREATE INDEX graph_edge_type ON graph_edge (edge_type);
CREATE INDEX graph_edge_source ON graph_edge (edge_source);
CREATE INDEX graph_edge_both ON graph_edge (edge_type, edge_source);

-- The sessions and executions that were learnt from, each once.
CREATE TABLE graph_unit (
    unit   {text} NOT NULL,  -- session:ID or execution:ID
    places {int} NOT NULL,   -- how many records it had then; with more, everything is learnt again
    PRIMARY KEY (unit)
) {clustered};
