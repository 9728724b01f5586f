"""The JSON of duplicate search.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
