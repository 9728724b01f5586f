-- The registry of sources: what its records come to. No truth lives here: it can be made again from them.

-- Sources by number.
CREATE TABLE registry_source (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    n        {int} NOT NULL,   -- the number: S1 is 1
    state    {blob} NOT NULL,  -- addresses, what was said of each, merges, as JSON
    PRIMARY KEY (registry, n)
) {clustered};

-- Which number a key leads to.
CREATE TABLE registry_key (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    key      {blob} NOT NULL,  -- SHA-256 of the key
    n        {int} NOT NULL,   -- the number
    PRIMARY KEY (registry, key)
) {clustered};

-- What sources that are perhaps the same have in common.
CREATE TABLE registry_hint (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    hint     {blob} NOT NULL,  -- SHA-256 of what they have in common
    n        {int} NOT NULL,   -- the number
    PRIMARY KEY (registry, hint, n)
) {clustered};

-- Passages that were read; the text is read from the record.
CREATE TABLE registry_excerpt (
    registry   {text} NOT NULL,  -- the chain whose records give the numbers
    n          {int} NOT NULL,   -- the number of the source
    digest     {text} NOT NULL,  -- SHA-256 of the passage, in hex
    span_first {int} NOT NULL,   -- where it begins in the source; -1 when nobody said
    span_last  {int} NOT NULL,   -- where it ends; -1 when nobody said
    store_id   {text} NOT NULL,  -- the record that holds it: its chain
    seq        {int} NOT NULL,   -- and its place
    PRIMARY KEY (registry, n, digest, span_first, span_last)
) {clustered};

-- How sources were read.
CREATE TABLE registry_reading (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    n        {int} NOT NULL,   -- the number of the source
    store_id {text} NOT NULL,  -- the record that says so: its chain
    seq      {int} NOT NULL,   -- and its place
    PRIMARY KEY (registry, n, store_id, seq)
) {clustered};

-- What rests on sources.
CREATE TABLE registry_use (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    n        {int} NOT NULL,   -- the number of the source
    kind     {text} NOT NULL,  -- finding, cluster, contradiction or report_section
    artifact {text} NOT NULL,  -- the id of what rests on it
    seq      {int} NOT NULL,   -- the order in which it was told
    PRIMARY KEY (registry, n, kind, artifact)
) {clustered};
