-- Records in chains, and their bodies. Rows are never updated, except to erase a body.

-- Facts about this database itself.
CREATE TABLE setting (
    name  {text} PRIMARY KEY,  -- store_id: the chain that this database appends to; stamp: the identity of its file
    value {text} NOT NULL      -- as text
) {strict};

-- The chains in this database.
CREATE TABLE chain (
    store_id {text} PRIMARY KEY,  -- 32 hex digits
    owned    {int} NOT NULL     -- 1: this database appends or has appended to it; 0: a copy of another store's chain
) {strict};

-- Bodies: a record's payload, or a long text split off from a payload.
CREATE TABLE body (
    digest {blob} PRIMARY KEY,  -- SHA-256 over the uncompressed bytes
    codec  {text} NOT NULL,       -- plain or zlib
    bytes  {blob}               -- NULL when erased
) {strict};

-- The long texts of each payload.
CREATE TABLE part (
    body {blob} NOT NULL,  -- digest of the payload
    text {blob} NOT NULL,  -- digest of a text split off from it
    PRIMARY KEY (body, text)
) {clustered};
CREATE INDEX part_text ON part (text);

-- One row per record, append-only.
CREATE TABLE record (
    store_id    {text} NOT NULL,    -- the chain
    seq         {int} NOT NULL,   -- the position in it, from 1, without gaps
    event_id    {text} NOT NULL,    -- the spool file name, which identifies a retry
    kind        {text} NOT NULL,    -- the event's kind, or continues, or erased
    natural_key {text} NOT NULL,    -- the subject of the observation, the same for every recorder
    at_ns       {int} NOT NULL,   -- the claimed time, in nanoseconds since 1970
    digest      {blob} NOT NULL,  -- of the payload
    link        {blob} NOT NULL,  -- SHA-256 over the previous link and all fields above
    PRIMARY KEY (store_id, seq)
) {clustered};
CREATE UNIQUE INDEX record_event ON record (store_id, event_id);
CREATE INDEX record_event_any ON record (event_id);
CREATE INDEX record_key ON record (natural_key);
CREATE INDEX record_digest ON record (digest);
CREATE INDEX record_at ON record (at_ns);

-- Records with the same position as another record: both are stored, and verify reports them.
CREATE TABLE fork (
    store_id    {text} NOT NULL,    -- the chain
    seq         {int} NOT NULL,   -- the claimed position
    link        {blob} NOT NULL,  -- distinguishes the records
    event_id    {text} NOT NULL,    -- as in record
    kind        {text} NOT NULL,    -- as in record
    natural_key {text} NOT NULL,    -- as in record
    at_ns       {int} NOT NULL,   -- as in record
    digest      {blob} NOT NULL,  -- as in record
    PRIMARY KEY (store_id, seq, link)
) {clustered};

-- Erased bodies, and the records of the erasure.
CREATE TABLE erasure (
    digest   {blob} NOT NULL,  -- the body
    store_id {text} NOT NULL,    -- the chain of the record
    seq      {int} NOT NULL,   -- its position
    PRIMARY KEY (digest, store_id, seq)
) {clustered};
