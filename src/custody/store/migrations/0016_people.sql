-- What people say about a change: which hunks they read, and which lines they wrote by hand.

-- The hunks that a person read.
CREATE TABLE hunk_read (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    hunk     {text} NOT NULL,  -- the patch identity of the hunk
    head     {text} NOT NULL,  -- the head of the change at that time
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX hunk_read_hunk ON hunk_read (hunk);
CREATE INDEX hunk_read_head ON hunk_read (head);

-- The lines that a person says they wrote.
CREATE TABLE author_claim (
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    path     {blob} NOT NULL,  -- the file
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX author_claim_path ON author_claim (path);
