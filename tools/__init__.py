"""What the project does to its own tree: set-up, documents and their checks. Nothing in ``src/custody`` imports it."""
