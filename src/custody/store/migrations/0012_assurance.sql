-- Who vouches for records. This step comes with a new version of the readers, which rebuilds the rows of decisions.

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
    patch      {text},           -- the patch identity of the change
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX decision_agent ON decision (agent, at_ns);
CREATE INDEX decision_place ON decision (agent, store_id, seq);
CREATE INDEX decision_id ON decision (agent, id);
CREATE INDEX decision_target ON decision (agent, target);
CREATE INDEX decision_commit ON decision (commit_sha, agent);
CREATE INDEX decision_head ON decision (head, agent);
CREATE INDEX decision_unreviewed ON decision (unreviewed, at_ns);
CREATE INDEX decision_patch ON decision (patch, agent);

DELETE FROM trust_standing;

-- Content hashes of edits were indexed and never looked up.
DROP TABLE IF EXISTS edit_hash;

-- Signed statements about the heads of shared chains: by their owners, and by those who saw them.
CREATE TABLE head_statement (
    store_id  {text} NOT NULL,  -- the chain
    seq       {int} NOT NULL,   -- how far it reached
    signer    {text} NOT NULL,  -- the public key of the signature
    statement {blob} NOT NULL,  -- the signed bytes
    signature {text} NOT NULL,  -- the SSH signature
    PRIMARY KEY (store_id, seq, signer)
) {clustered};

-- What stands in place of each record's texts when its chain is shared: fixed once its owner signed the chain's head.
CREATE TABLE record_outline (
    store_id {text} NOT NULL,  -- the chain
    seq      {int} NOT NULL,   -- the record
    digest   {blob} NOT NULL,  -- SHA-256 of the outline; zeros if the record is shared unchanged
    outline  {blob},           -- the outline, where the bodies do not have the same one
    PRIMARY KEY (store_id, seq)
) {clustered};

-- The last head that this store saw of each chain, by remote.
CREATE TABLE head_seen (
    remote    {text} NOT NULL,  -- SHA-256 of the URL of the remote
    store_id  {text} NOT NULL,  -- the chain
    seq       {int} NOT NULL,   -- how far it reached
    link      {blob} NOT NULL,  -- the link of its last record
    root      {blob},           -- the root of the tree over its records, if its owner signed it
    signed_ns {int},            -- when its owner signed it, by the owner's clock
    signer    {text},           -- the public key of its owner
    seen_ns   {int} NOT NULL,   -- when it was seen
    PRIMARY KEY (remote, store_id)
) {clustered};
