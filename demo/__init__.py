"""The newcomer's first minute: ``make demo``."""
