"""Use cases of duplicate search: index changes, search, decide, store.

May touch the store and git, through the workspace that it is given, and the worker processes of ``dupes.pool``.
"""
