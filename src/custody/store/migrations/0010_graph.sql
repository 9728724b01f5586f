-- The graph of calls, stored so that a query does not have to read every session again.
-- These tables are derived from the records and the rules, and are rebuilt when either changes.

-- Nodes: tools and other callees.
CREATE TABLE graph_node (
    name       {text} NOT NULL,  -- capability:NAME, SERVER:TOOL, KIND:NAME
    kind       {text},           -- the kind of its spans; NULL in old rows
    count      {int} NOT NULL,   -- how often it was called
    failures   {int} NOT NULL,   -- how often a call failed
    repeats    {int} NOT NULL,   -- how often it followed itself
    recursions {int} NOT NULL,   -- how often it called itself
    PRIMARY KEY (name)
) {clustered};

-- Edges between two nodes.
CREATE TABLE graph_edge (
    start_node  {text} NOT NULL,  -- from
    end_node    {text} NOT NULL,  -- to
    edge_type   {text} NOT NULL DEFAULT 'sequence',  -- dependency, contains, sequence
    edge_source {text} NOT NULL DEFAULT 'inferred',  -- observed, inferred, template
    count       {int} NOT NULL,   -- how often it was seen
    executions  {int} NOT NULL,   -- in how many executions
    successes   {int} NOT NULL,   -- how often the end node succeeded
    failures    {int} NOT NULL,   -- how often the end node failed
    first_ns    {int},            -- when it was first seen
    last_ns     {int},            -- when it was last seen
    evidence    {text} NOT NULL,  -- JSON: spans that show it
    aside       {int} NOT NULL,   -- 1: left out of the graph, because it would close a cycle
    PRIMARY KEY (start_node, end_node, edge_type)
) {clustered};
CREATE INDEX graph_edge_type ON graph_edge (edge_type);
CREATE INDEX graph_edge_source ON graph_edge (edge_source);
CREATE INDEX graph_edge_both ON graph_edge (edge_type, edge_source);

-- The sessions and executions in the graph.
CREATE TABLE graph_unit (
    unit   {text} NOT NULL,  -- session:ID or execution:ID
    places {int} NOT NULL,   -- its number of records at that time; if it has more, the graph is rebuilt
    PRIMARY KEY (unit)
) {clustered};
