"""The verbs of a team's service."""
