"""The external format of records and findings: one JSON for CLI, HTTP, export and stored evidence.

This package is pure: it may import ``core`` and msgspec, and converts between bytes and values.
"""
