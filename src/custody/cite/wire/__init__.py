"""The JSON of citations: audits, contexts, link checks, the registry.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
