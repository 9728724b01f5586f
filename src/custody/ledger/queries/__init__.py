"""SQL over records that belongs to no single question."""
