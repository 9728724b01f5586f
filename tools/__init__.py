"""Tools for this repository: set-up, documents and their checks. Nothing in ``src/custody`` imports it."""
