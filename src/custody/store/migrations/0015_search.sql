-- The index of texts that can be searched. It is derived from views and catches up when a search needs it.

-- The searchable texts; their words are in the database's own full-text index.
CREATE TABLE search_item (
    item     {int} NOT NULL,   -- its number in the full-text index
    store_id {text} NOT NULL,  -- the record's chain
    seq      {int} NOT NULL,   -- the record's position
    n        {int} NOT NULL,   -- which of the record's views
    kind     {text} NOT NULL,  -- prompt, command, file, commit
    agent    {text} NOT NULL,  -- the agent of the session
    session  {text} NOT NULL,  -- the agent's own id
    name     {text} NOT NULL,  -- what it is in the session: the id of a prompt or call, a commit, or nothing
    at_ns    {int} NOT NULL,   -- when
    PRIMARY KEY (item)
) {strict};
CREATE INDEX search_item_record ON search_item (store_id, seq);
CREATE INDEX search_item_session ON search_item (agent, session, kind);

{words_table};
{words_index};
