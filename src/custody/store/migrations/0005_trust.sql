-- Decisions can be found by what they are about, and where agents stand is kept beside them.
-- The readers' version goes up with this step, so that the rows of decisions are made again.

DROP TABLE decision;

-- Decisions on agents' changes.
CREATE TABLE decision (
    store_id   {text} NOT NULL,  -- the record's chain
    seq        {int} NOT NULL,   -- the record's place
    n          {int} NOT NULL,   -- which of the record's views
    agent      {text} NOT NULL,  -- about whom
    at_ns      {int} NOT NULL,   -- when
    id         {text} NOT NULL,  -- the decision's own id
    target     {text},           -- the decision that it overrides or whose change it takes back
    commit_sha {text},           -- the commit, as it was named
    head       {text},           -- the commit that a rule judged
    unreviewed {int} NOT NULL,   -- 1: the change landed without review
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX decision_agent ON decision (agent, at_ns);
CREATE INDEX decision_place ON decision (agent, store_id, seq);
CREATE INDEX decision_id ON decision (agent, id);
CREATE INDEX decision_target ON decision (agent, target);
CREATE INDEX decision_commit ON decision (commit_sha, agent);
CREATE INDEX decision_head ON decision (head, agent);
CREATE INDEX decision_unreviewed ON decision (unreviewed, at_ns);

-- Where agents stood after so many decisions, kept so that the next question folds only what came since.
CREATE TABLE trust_standing (
    agent  {text} NOT NULL,  -- whose
    rules  {text} NOT NULL,  -- digest of the rules and version of the fold
    folded {text} NOT NULL,  -- JSON: how far each chain was read, the last entry, the standing, what waits
    PRIMARY KEY (agent, rules)
) {clustered};
