"""SQL that only pages ask."""
