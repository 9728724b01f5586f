"""The basic types: ids, records, views, evidence, lines, paths, digests, errors.

This is the lowest layer, and it is pure. It may import only the standard library's value tools (enum,
hashlib, typing) and msgspec. It reads no clock, file, environment or random number, and imports no other package.
"""
