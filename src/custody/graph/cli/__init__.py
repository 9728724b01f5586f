"""The verbs of the call graph."""
