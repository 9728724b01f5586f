"""The JSON of trust."""
