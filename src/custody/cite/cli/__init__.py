"""The verbs of citations."""
