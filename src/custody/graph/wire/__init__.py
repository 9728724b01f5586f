"""The JSON of the call graph."""
