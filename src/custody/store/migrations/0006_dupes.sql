-- The index of changes: what is kept of each to find it again, and under which terms. All of it can be made anew.

-- One indexed change with its signature.
CREATE TABLE dupe_change (
    id        {int} NOT NULL,   -- grows with the order of indexing
    repo      {text} NOT NULL,  -- whose commits these are; empty for this store's own repository
    base      {text} NOT NULL,  -- the change is the diff from here
    head      {text} NOT NULL,  -- to here
    name      {text} NOT NULL,  -- what it is called: a ref, a range, or nothing
    title     {text} NOT NULL,  -- the first line of what was said about it
    opened_ns {int} NOT NULL,   -- when it was proposed
    on_main   {int} NOT NULL,   -- 1 when it has landed
    version   {text} NOT NULL,  -- of the signature
    signature {blob} NOT NULL,  -- packed
    PRIMARY KEY (id)
) {strict};
CREATE UNIQUE INDEX dupe_change_head ON dupe_change (repo, head, base);
CREATE INDEX dupe_change_name ON dupe_change (name);

-- Exact hashes: a change is found by them whole.
CREATE TABLE dupe_exact (
    hash   {int} NOT NULL,  -- the first 8 bytes
    kind   {int} NOT NULL,  -- which channel, and in which way alike
    change {int} NOT NULL,  -- the change
    PRIMARY KEY (hash, kind, change)
) {clustered};

-- Under which terms a change can be found; the field is part of the term.
CREATE TABLE dupe_post (
    term   {int} NOT NULL,  -- the hash of a field and a value
    change {int} NOT NULL,  -- the change
    PRIMARY KEY (term, change)
) {clustered};

-- In how many changes a term stands, as far as they were indexed under it.
CREATE TABLE dupe_term (
    term {int} NOT NULL,  -- the hash of a field and a value
    n    {int} NOT NULL,  -- how many changes
    PRIMARY KEY (term)
) {clustered};

-- What was to be indexed and could not be read.
CREATE TABLE dupe_unread (
    repo {text} NOT NULL,  -- as in dupe_change
    base {text} NOT NULL,  -- from here
    head {text} NOT NULL,  -- to here
    why  {text} NOT NULL,  -- in words
    PRIMARY KEY (repo, head, base)
) {clustered};

-- What suggestions rest on, as it was told.
CREATE TABLE dupe_evidence (
    id    {text} NOT NULL,  -- the digest of the body
    head  {text} NOT NULL,  -- of the change that was asked about
    other {text} NOT NULL,  -- of the change that it is like
    at_ns {int} NOT NULL,   -- when
    body  {text} NOT NULL,  -- canonical JSON
    PRIMARY KEY (id)
) {clustered};
CREATE INDEX dupe_evidence_head ON dupe_evidence (head, at_ns);

-- That a person said what two changes are to each other.
CREATE TABLE duplicate_answer (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's place
    n        {int} NOT NULL,   -- which of the record's views
    head     {text} NOT NULL,  -- one of the changes
    other    {text} NOT NULL,  -- the other one
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX duplicate_answer_head ON duplicate_answer (head, other);
