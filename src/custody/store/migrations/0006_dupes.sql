-- The index of changes: their signatures and search terms. These tables are derived and can be rebuilt.

-- One indexed change with its signature.
CREATE TABLE dupe_change (
    id        {int} NOT NULL,   -- increasing in the order of indexing
    repo      {text} NOT NULL,  -- the repository of the commits; empty for this store's own repository
    base      {text} NOT NULL,  -- the change is the diff from here
    head      {text} NOT NULL,  -- to here
    name      {text} NOT NULL,  -- its name: a ref, a range, or empty
    title     {text} NOT NULL,  -- the first line of its message
    opened_ns {int} NOT NULL,   -- when it was proposed
    on_main   {int} NOT NULL,   -- 1: it is on main
    version   {text} NOT NULL,  -- the version of the signature
    signature {blob} NOT NULL,  -- the packed signature
    PRIMARY KEY (id)
) {strict};
CREATE UNIQUE INDEX dupe_change_head ON dupe_change (repo, head, base);
CREATE INDEX dupe_change_name ON dupe_change (name);

-- Exact hashes of whole changes.
CREATE TABLE dupe_exact (
    hash   {int} NOT NULL,  -- the first 8 bytes
    kind   {int} NOT NULL,  -- the channel and the kind of match
    change {int} NOT NULL,  -- the change
    PRIMARY KEY (hash, kind, change)
) {clustered};

-- The search terms of changes; the field is part of the term.
CREATE TABLE dupe_post (
    term   {int} NOT NULL,  -- the hash of a field and a value
    change {int} NOT NULL,  -- the change
    PRIMARY KEY (term, change)
) {clustered};

-- The number of indexed changes with a term.
CREATE TABLE dupe_term (
    term {int} NOT NULL,  -- the hash of a field and a value
    n    {int} NOT NULL,  -- the number of changes
    PRIMARY KEY (term)
) {clustered};

-- Changes that could not be read for indexing.
CREATE TABLE dupe_unread (
    repo {text} NOT NULL,  -- as in dupe_change
    base {text} NOT NULL,  -- from here
    head {text} NOT NULL,  -- to here
    why  {text} NOT NULL,  -- the reason in a sentence
    PRIMARY KEY (repo, head, base)
) {clustered};

-- The evidence of suggestions, as reported.
CREATE TABLE dupe_evidence (
    id    {text} NOT NULL,  -- the digest of the body
    head  {text} NOT NULL,  -- the head of the change in the query
    other {text} NOT NULL,  -- the head of the matching change
    at_ns {int} NOT NULL,   -- when
    body  {text} NOT NULL,  -- canonical JSON
    PRIMARY KEY (id)
) {clustered};
CREATE INDEX dupe_evidence_head ON dupe_evidence (head, at_ns);

-- Answers of people about how two changes are related.
CREATE TABLE duplicate_answer (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    head     {text} NOT NULL,  -- one of the changes
    other    {text} NOT NULL,  -- the other change
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX duplicate_answer_head ON duplicate_answer (head, other);
