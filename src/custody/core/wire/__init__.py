"""The outside shape of records and findings: the one JSON for CLI, HTTP, export and stored evidence.

Pure: it imports ``core`` and msgspec, turns bytes into values and values into bytes, and touches nothing else.
"""
