"""The JSON of verdicts."""
