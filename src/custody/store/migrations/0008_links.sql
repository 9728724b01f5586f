-- How the addresses of sources answer, as their last checks come to it. No truth lives here: it can be made again.
CREATE TABLE registry_check (
    registry {text} NOT NULL,  -- the chain whose records give the numbers
    n        {int} NOT NULL,   -- the number of the source
    state    {blob} NOT NULL,  -- the address, the last look at it, and when it failed since it last answered, as JSON
    PRIMARY KEY (registry, n)
) {clustered};
