"""The JSON of citations."""
