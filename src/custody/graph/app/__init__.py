"""The call graph over a store: gather, decide, keep."""
