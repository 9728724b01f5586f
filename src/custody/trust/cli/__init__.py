"""The verbs of trust."""
