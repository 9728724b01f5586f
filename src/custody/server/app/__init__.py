"""Use cases that only a service has."""
