-- What each session adds to the graph of calls, so that a session that grows is subtracted and added again.
-- These tables are derived from the records and the rules, and are rebuilt when either changes.

DROP TABLE graph_unit;

-- The sessions and executions in the graph.
CREATE TABLE graph_unit (
    unit     {text} NOT NULL,  -- session:ID or execution:ID
    places   {int} NOT NULL,   -- its number of view rows when it was learned; another number means learn it again
    first_ns {int} NOT NULL,   -- when it started
    agents   {text} NOT NULL,  -- JSON: the agents of its calls
    repairs  {text} NOT NULL,  -- JSON: how often each repair was needed
    nodes    {text} NOT NULL,  -- JSON: the counts that it adds to each node
    calls    {text} NOT NULL,  -- JSON: its calls in order
    PRIMARY KEY (unit)
) {clustered};

-- The counts that a session or an execution adds to each edge.
CREATE TABLE graph_part (
    unit       {text} NOT NULL,  -- session:ID or execution:ID
    start_node {text} NOT NULL,  -- from
    end_node   {text} NOT NULL,  -- to
    edge_type  {text} NOT NULL,  -- dependency, contains, sequence
    run        {int} NOT NULL,   -- which execution of the unit showed it first
    count      {int} NOT NULL,   -- how often it was seen
    executions {int} NOT NULL,   -- in how many executions
    successes  {int} NOT NULL,   -- how often the end node succeeded
    failures   {int} NOT NULL,   -- how often the end node failed
    first_ns   {int},            -- when it was first seen
    last_ns    {int},            -- when it was last seen
    evidence   {text} NOT NULL,  -- JSON: spans that show it
    PRIMARY KEY (unit, start_node, end_node, edge_type)
) {clustered};
CREATE INDEX graph_part_edge ON graph_part (start_node, end_node, edge_type);
