"""SQL over edits that two records report; may touch ``store``."""
