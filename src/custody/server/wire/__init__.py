"""The JSON of the service."""
