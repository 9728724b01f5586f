"""The JSON of the call graph, and the names that tracing conventions use.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
