"""SQL of the gate."""
