"""The nouns of the product: ids, records, views, evidence, errors.

This room is the lowest pure floor. It may import only the standard library's value tools (dataclasses, enum, hashlib,
typing); it reads no clock, file, environment or random number and knows no other room.
"""
