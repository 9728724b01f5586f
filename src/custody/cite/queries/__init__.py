"""SQL over the registry of sources."""
