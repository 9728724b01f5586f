"""The workspace: which repository, which store and which spool a verb works on, and the rules in force there."""
