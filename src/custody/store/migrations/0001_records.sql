-- What arrived, and the chains that hold it in place. Nothing here is ever updated, except a body that is erased.

-- Facts about this database itself.
CREATE TABLE setting (
    name  {text} PRIMARY KEY,  -- store_id: the chain that this database appends to; stamp: the file it was given to
    value {text} NOT NULL      -- as text
) {strict};

-- The chains held here.
CREATE TABLE chain (
    store_id {text} PRIMARY KEY,  -- 32 hex digits
    owned    {int} NOT NULL     -- 1: this database appends or once appended to it; 0: a copy of another store's chain
) {strict};

-- One row per stored stretch of bytes: a record's payload, or a long text taken out of one.
CREATE TABLE body (
    digest {blob} PRIMARY KEY,  -- SHA-256 over the uncompressed bytes
    codec  {text} NOT NULL,       -- plain or zlib
    bytes  {blob}               -- NULL when erased
) {strict};

-- Which long texts a payload holds.
CREATE TABLE part (
    body {blob} NOT NULL,  -- digest of the payload
    text {blob} NOT NULL,  -- digest of a text taken out of it
    PRIMARY KEY (body, text)
) {clustered};
CREATE INDEX part_text ON part (text);

-- One row per record, append-only.
CREATE TABLE record (
    store_id    {text} NOT NULL,    -- the chain
    seq         {int} NOT NULL,   -- the place in it, from 1, without gaps
    event_id    {text} NOT NULL,    -- the spool file name: a retry is recognised by it
    kind        {text} NOT NULL,    -- the event's kind, or continues, or erased
    natural_key {text} NOT NULL,    -- what was observed, whoever delivered it
    at_ns       {int} NOT NULL,   -- when, as claimed, in nanoseconds since 1970
    digest      {blob} NOT NULL,  -- of the payload
    link        {blob} NOT NULL,  -- SHA-256 over the previous link and all fields above
    PRIMARY KEY (store_id, seq)
) {clustered};
CREATE UNIQUE INDEX record_event ON record (store_id, event_id);
CREATE INDEX record_event_any ON record (event_id);
CREATE INDEX record_key ON record (natural_key);
CREATE INDEX record_digest ON record (digest);
CREATE INDEX record_at ON record (at_ns);

-- Records that claim a place which another record already has: both are kept, verify names them.
CREATE TABLE fork (
    store_id    {text} NOT NULL,    -- the chain
    seq         {int} NOT NULL,   -- the place claimed
    link        {blob} NOT NULL,  -- tells the claimants apart
    event_id    {text} NOT NULL,    -- as in record
    kind        {text} NOT NULL,    -- as in record
    natural_key {text} NOT NULL,    -- as in record
    at_ns       {int} NOT NULL,   -- as in record
    digest      {blob} NOT NULL,  -- as in record
    PRIMARY KEY (store_id, seq, link)
) {clustered};

-- Which bodies were erased, by which record.
CREATE TABLE erasure (
    digest   {blob} NOT NULL,  -- the body
    store_id {text} NOT NULL,    -- the chain of the record that says so
    seq      {int} NOT NULL,   -- its place
    PRIMARY KEY (digest, store_id, seq)
) {clustered};
