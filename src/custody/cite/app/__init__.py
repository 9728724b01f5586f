"""Use cases of citations: gather, decide, store. May touch the store, named files and ``cite.web``."""
