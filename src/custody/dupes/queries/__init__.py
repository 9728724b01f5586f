"""SQL over the index of changes."""
