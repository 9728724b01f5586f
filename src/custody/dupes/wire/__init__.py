"""The JSON of duplicate search."""
