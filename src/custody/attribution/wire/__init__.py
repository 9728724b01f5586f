"""The JSON of attribution: reports of blame and stats, and origins that are shared.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
