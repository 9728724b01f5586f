"""Citations over a store, files and the web: gather, decide, keep."""
