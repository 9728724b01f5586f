"""The JSON shapes of the service.

May import ``core``, msgspec and value types of the standard library; it touches nothing outside.
"""
