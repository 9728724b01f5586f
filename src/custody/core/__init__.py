"""The basic types: ids, records, views, evidence, lines, paths, digests, errors.

This is the lowest layer, and it is pure. It may import only the standard library's value tools (dataclasses, enum,
hashlib, typing). It reads no clock, file, environment or random number, and imports no other package.
"""
