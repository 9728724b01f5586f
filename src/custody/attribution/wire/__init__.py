"""The JSON of attribution."""
