"""Trust over a store and a repository: gather, decide, keep."""
