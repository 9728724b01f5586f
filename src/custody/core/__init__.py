"""The nouns of the product: ids, records, views, evidence, lines, paths, digests, errors.

The lowest layer, pure. It may import only the standard library's value tools (dataclasses, enum, hashlib, typing); it
reads no clock, file, environment or random number and imports no other package.
"""
