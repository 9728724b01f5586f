-- Who may ask, of what, and what is to be done. Evidence is elsewhere: nothing here says what an agent did.

-- What a team keeps apart.
CREATE TABLE project (
    name        {text} PRIMARY KEY,  -- small letters, digits, hyphens
    created_ns  {int} NOT NULL,      -- when it was made
    retain_days {int}                -- texts of conversations are erased when they are older; NULL: never
) {strict};

-- Hashes of tokens; the tokens themselves are not stored.
CREATE TABLE token (
    id         {text} PRIMARY KEY,    -- names the token, and opens nothing
    hash       {blob} NOT NULL,       -- SHA-256 of the token as it is presented
    project    {text} NOT NULL,       -- the one project that it opens
    name       {text} NOT NULL,       -- what people call it
    scopes     {text} NOT NULL,       -- what it is good for, in order, with spaces between
    created_ns {int} NOT NULL,        -- when it was made
    expires_ns {int},                 -- from when it opens nothing; NULL: never
    used_ns    {int},                 -- when it was last seen to be used, to the hour; NULL: never
    revoked_ns {int}                  -- when it was revoked; NULL: not revoked
) {strict};
CREATE UNIQUE INDEX token_hash ON token (hash);
CREATE INDEX token_project ON token (project);

-- Who read the texts of conversations.
CREATE TABLE text_read (
    id      {text} PRIMARY KEY,  -- 32 hex digits
    project {text} NOT NULL,     -- the project it belongs to
    token   {text} NOT NULL,     -- with which token, by its id
    what    {text} NOT NULL,     -- which text
    at_ns   {int} NOT NULL       -- when, before it was handed out
) {strict};
CREATE INDEX text_read_project ON text_read (project, at_ns);

-- What is to be done, each once by its natural key, by whoever holds its lease.
CREATE TABLE job (
    id          {text} PRIMARY KEY,  -- 32 hex digits
    kind        {text} NOT NULL,     -- which function does it
    project     {text} NOT NULL,     -- for which project
    natural_key {text} NOT NULL,     -- what it is about: a second one of the same kind, project and key is none
    payload     {text} NOT NULL,     -- what the function is handed, as JSON
    state       {text} NOT NULL,     -- waiting, leased, done or aside
    attempts    {int} NOT NULL,      -- how often it was begun since it was made or last tried again by hand
    lease       {int} NOT NULL,      -- the number of its last lease; only who holds that one can settle it
    due_ns      {int} NOT NULL,      -- from when it may be taken: not before then if waiting, the end of its lease if leased
    error       {text},              -- the words of its last error
    created_ns  {int} NOT NULL,      -- when it was made
    settled_ns  {int}                -- when it was done or set aside
) {strict};
CREATE UNIQUE INDEX job_key ON job (kind, project, natural_key);
CREATE INDEX job_due ON job (state, due_ns);

-- Repositories on GitHub, and the project that each belongs to.
CREATE TABLE github_repository (
    full_name    {text} PRIMARY KEY,  -- owner/name, as GitHub spells it, in small letters
    project      {text} NOT NULL,     -- where its evidence is kept
    installation {int}                -- of the app, as the last delivery said; NULL: a plain token is used
) {strict};

-- Webhook deliveries that were taken in, so that none is taken in twice.
CREATE TABLE github_delivery (
    id     {text} PRIMARY KEY,  -- X-GitHub-Delivery
    digest {blob} NOT NULL,     -- SHA-256 of the body: who sends it again under another id sends it again
    at_ns  {int} NOT NULL       -- when it came
) {strict};
CREATE INDEX github_delivery_digest ON github_delivery (digest);
CREATE INDEX github_delivery_at ON github_delivery (at_ns);
