"""The verbs of duplicate search."""
