"""SQL over spans and over what was learned from calls; may touch ``store``."""
