"""The verbs of attribution."""
