-- The state of the URLs of sources after their last checks. This table is derived and can be rebuilt.
CREATE TABLE registry_check (
    registry {text} NOT NULL,  -- the chain with the registry's records
    n        {int} NOT NULL,   -- the number of the source
    state    {blob} NOT NULL,  -- JSON: the URL, its last check, and its failures since the last success
    PRIMARY KEY (registry, n)
) {clustered};
