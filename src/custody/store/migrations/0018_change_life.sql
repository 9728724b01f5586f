-- The life of a change: its author, its target, its state and its pushes. The index of changes is derived.

ALTER TABLE dupe_change ADD COLUMN author {text} NOT NULL DEFAULT '';  -- the author of its first commit
ALTER TABLE dupe_change ADD COLUMN target {text} NOT NULL DEFAULT '';  -- the main branch that it targets, empty if unknown
ALTER TABLE dupe_change ADD COLUMN state {text} NOT NULL DEFAULT 'open';  -- open, closed or merged
ALTER TABLE dupe_change ADD COLUMN merged {text} NOT NULL DEFAULT '';  -- the commit of main that merged it, empty without one
ALTER TABLE dupe_change ADD COLUMN superseded_by {int} NOT NULL DEFAULT 0;  -- the later push of the same change, 0 without one
CREATE INDEX dupe_change_superseded ON dupe_change (superseded_by);

-- The current push of every pull request and branch: several names may have the same change.
CREATE TABLE dupe_name (
    repo   {text} NOT NULL,  -- as in dupe_change
    name   {text} NOT NULL,  -- the ref
    change {int} NOT NULL,   -- the change that it named last
    PRIMARY KEY (repo, name)
) {clustered};
CREATE INDEX dupe_name_change ON dupe_name (change);
