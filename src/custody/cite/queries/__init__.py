"""SQL over the registry of sources and over pages read; may touch ``store``."""
