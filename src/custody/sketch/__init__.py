"""Short stand-ins for texts and sets, from which their likeness can be told: tokens, shingles, MinHash, fingerprints.

A pure floor, shared by the domains: it may import ``model``, the standard library's value tools and, as the only room,
rensa. It reads no file, clock, environment or chance; the same text gives the same sketch on every machine.
"""
