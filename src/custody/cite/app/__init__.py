"""Use cases of citations: gather from store, files and the web, decide, store.

May touch the store and git, through the workspace that it is given, the reports that the caller names,
and ``cite.web``.
"""
