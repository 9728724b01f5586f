"""The JSON of shared chains.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
