-- Views of records. These tables are derived: every row is a function of one record and can be rebuilt.

-- How far each view has read each chain.
CREATE TABLE state (
    view     {text} NOT NULL,   -- the set of views
    store_id {text} NOT NULL,   -- the chain
    seq      {int} NOT NULL,  -- the last record read
    version  {text} NOT NULL,   -- the readers' versions: another one means rebuild
    PRIMARY KEY (view, store_id)
) {clustered};

-- Agents' sessions.
CREATE TABLE session (
    store_id   {text} NOT NULL,   -- the record's chain
    seq        {int} NOT NULL,  -- the record's position
    n          {int} NOT NULL,  -- which of the record's views
    agent      {text} NOT NULL,   -- the agent of the session
    session    {text} NOT NULL,   -- the agent's own id
    revision   {text},            -- the commit it started from
    started_ns {int} NOT NULL,  -- when it started
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX session_id ON session (session);
CREATE INDEX session_revision ON session (revision);

-- Prompts.
CREATE TABLE prompt (
    store_id {text} NOT NULL,   -- the record's chain
    seq      {int} NOT NULL,  -- the record's position
    n        {int} NOT NULL,  -- which of the record's views
    session  {text} NOT NULL,   -- in which session
    at_ns    {int} NOT NULL,  -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX prompt_session ON prompt (session, at_ns);

-- Tool calls.
CREATE TABLE tool_call (
    store_id   {text} NOT NULL,   -- the record's chain
    seq        {int} NOT NULL,  -- the record's position
    n          {int} NOT NULL,  -- which of the record's views
    session    {text} NOT NULL,   -- in which session
    call       {text} NOT NULL,   -- the agent's own id
    started_ns {int} NOT NULL,  -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX tool_call_id ON tool_call (session, call);

-- File edits.
CREATE TABLE file_edit (
    store_id {text} NOT NULL,    -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    session  {text} NOT NULL,    -- in which session
    path     {blob} NOT NULL,  -- the file, as bytes
    at_ns    {int} NOT NULL,   -- when
    revision {text},             -- HEAD at that time
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX file_edit_path ON file_edit (path, at_ns);
CREATE INDEX file_edit_revision ON file_edit (revision);
CREATE INDEX file_edit_session ON file_edit (session);

-- Content hashes of edits (document 000, section 8).
CREATE TABLE edit_hash (
    hash     {text} NOT NULL,   -- lower-case hex digits, without prefix
    store_id {text} NOT NULL,   -- the edit's record: its chain
    seq      {int} NOT NULL,  -- and its position
    n        {int} NOT NULL,  -- which of the record's views
    PRIMARY KEY (hash, store_id, seq, n)
) {clustered};
CREATE INDEX edit_hash_record ON edit_hash (store_id, seq);

-- Sources that agents opened.
CREATE TABLE source_read (
    store_id {text} NOT NULL,   -- the record's chain
    seq      {int} NOT NULL,  -- the record's position
    n        {int} NOT NULL,  -- which of the record's views
    session  {text} NOT NULL,   -- in which session
    locator  {text} NOT NULL,   -- URL or path, as written
    at_ns    {int} NOT NULL,  -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX source_read_session ON source_read (session);
CREATE INDEX source_read_locator ON source_read (locator);

-- Which session made which commit.
CREATE TABLE commit_link (
    store_id   {text} NOT NULL,   -- the record's chain
    seq        {int} NOT NULL,  -- the record's position
    n          {int} NOT NULL,  -- which of the record's views
    commit_sha {text} NOT NULL,   -- the commit
    session    {text} NOT NULL,   -- the session
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX commit_link_commit ON commit_link (commit_sha);

-- Decisions on agents' changes.
CREATE TABLE decision (
    store_id {text} NOT NULL,   -- the record's chain
    seq      {int} NOT NULL,  -- the record's position
    n        {int} NOT NULL,  -- which of the record's views
    agent    {text} NOT NULL,   -- the agent
    at_ns    {int} NOT NULL,  -- when
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX decision_agent ON decision (agent, at_ns);

-- Registered sources.
CREATE TABLE source (
    store_id {text} NOT NULL,   -- the record's chain
    seq      {int} NOT NULL,  -- the record's position
    n        {int} NOT NULL,  -- which of the record's views
    url      {text},            -- its URL, if it has one
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX source_url ON source (url);

-- Announced changes.
CREATE TABLE change (
    store_id {text} NOT NULL,   -- the record's chain
    seq      {int} NOT NULL,  -- the record's position
    n        {int} NOT NULL,  -- which of the record's views
    base     {text} NOT NULL,   -- the commit it starts from
    head     {text} NOT NULL,   -- the commit it ends at
    PRIMARY KEY (store_id, seq, n)
) {clustered};
CREATE INDEX change_head ON change (head);
