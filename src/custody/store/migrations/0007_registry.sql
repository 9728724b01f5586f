-- The registry of sources. These tables are derived from its records and can be rebuilt.

-- Sources by number.
CREATE TABLE registry_source (
    registry {text} NOT NULL,  -- the chain with the registry's records
    n        {int} NOT NULL,   -- the number: S1 is 1
    state    {blob} NOT NULL,  -- JSON: URLs, their descriptions, merges
    PRIMARY KEY (registry, n)
) {clustered};

-- The number of the source for each key.
CREATE TABLE registry_key (
    registry {text} NOT NULL,  -- the chain with the registry's records
    key      {blob} NOT NULL,  -- SHA-256 of the key
    n        {int} NOT NULL,   -- the number
    PRIMARY KEY (registry, key)
) {clustered};

-- Common properties of possible duplicates.
CREATE TABLE registry_hint (
    registry {text} NOT NULL,  -- the chain with the registry's records
    hint     {blob} NOT NULL,  -- SHA-256 of the common property
    n        {int} NOT NULL,   -- the number
    PRIMARY KEY (registry, hint, n)
) {clustered};

-- Passages that were read; the text is read from the record.
CREATE TABLE registry_excerpt (
    registry   {text} NOT NULL,  -- the chain with the registry's records
    n          {int} NOT NULL,   -- the number of the source
    digest     {text} NOT NULL,  -- SHA-256 of the passage, in hex
    span_first {int} NOT NULL,   -- its start in the source; -1 if unknown
    span_last  {int} NOT NULL,   -- its end; -1 if unknown
    store_id   {text} NOT NULL,  -- the chain of its record
    seq        {int} NOT NULL,   -- and its position
    PRIMARY KEY (registry, n, digest, span_first, span_last)
) {clustered};

-- How sources were read.
CREATE TABLE registry_reading (
    registry {text} NOT NULL,  -- the chain with the registry's records
    n        {int} NOT NULL,   -- the number of the source
    store_id {text} NOT NULL,  -- the chain of the record
    seq      {int} NOT NULL,   -- and its position
    PRIMARY KEY (registry, n, store_id, seq)
) {clustered};

-- Artifacts that use sources.
CREATE TABLE registry_use (
    registry {text} NOT NULL,  -- the chain with the registry's records
    n        {int} NOT NULL,   -- the number of the source
    kind     {text} NOT NULL,  -- finding, cluster, contradiction or report_section
    artifact {text} NOT NULL,  -- the id of the artifact
    seq      {int} NOT NULL,   -- the order in which it was reported
    PRIMARY KEY (registry, n, kind, artifact)
) {clustered};
