"""GitHub's shapes, and the door to its API."""
