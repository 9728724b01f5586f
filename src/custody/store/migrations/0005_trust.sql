-- Decisions can be found by their subject, and the scores of agents are cached.
-- This step comes with a new version of the readers, which rebuilds the rows of decisions.

DROP TABLE decision;

-- Decisions on agents' changes.
CREATE TABLE decision (
    store_id   {text} NOT NULL,  -- the record's chain
    seq        {int} NOT NULL,   -- the record's position
    n          {int} NOT NULL,   -- which of the record's views
    agent      {text} NOT NULL,  -- the agent
    at_ns      {int} NOT NULL,   -- when
    id         {text} NOT NULL,  -- the decision's own id
    target     {text},           -- the decision that it overrides, or of the change that it reverts
    commit_sha {text},           -- the commit, as the caller named it
    head       {text},           -- the commit that a rule checked
    unreviewed {int} NOT NULL,   -- 1: the change was merged without review
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX decision_agent ON decision (agent, at_ns);
CREATE INDEX decision_place ON decision (agent, store_id, seq);
CREATE INDEX decision_id ON decision (agent, id);
CREATE INDEX decision_target ON decision (agent, target);
CREATE INDEX decision_commit ON decision (commit_sha, agent);
CREATE INDEX decision_head ON decision (head, agent);
CREATE INDEX decision_unreviewed ON decision (unreviewed, at_ns);

-- Cached scores of agents, so that the next query processes only new decisions.
CREATE TABLE trust_standing (
    agent  {text} NOT NULL,  -- the agent
    rules  {text} NOT NULL,  -- digest of the rules and version of the calculation
    folded {text} NOT NULL,  -- JSON: how far each chain was read, the last entry, the score, open items
    PRIMARY KEY (agent, rules)
) {clustered};
