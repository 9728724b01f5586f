"""The JSON of verdicts, their signed statements and the forms for build logs.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""
