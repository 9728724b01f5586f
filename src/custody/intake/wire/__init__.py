"""The JSON of imports and exports of other tools' claims.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
