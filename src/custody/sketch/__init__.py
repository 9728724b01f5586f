"""Sketches of texts and sets to compare them: tokens, shingles, MinHash, fingerprints.

Pure: it may import ``core``, the standard library's value tools and, as the only package, rensa. It reads no file,
clock, environment or random number; the same text gives the same sketch on every machine.
"""
