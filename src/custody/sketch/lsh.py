"""Locality-sensitive hashing: keys of which two like signatures probably share one.

A signature of ``n`` values is cut into ``bands`` of ``rows`` values each, and every band gives a key. Two sets whose
Jaccard similarity is ``s`` share a band with probability ``s ** rows``, so they share a key with probability
``1 - (1 - s ** rows) ** bands``.
"""

from functools import lru_cache
from hashlib import blake2b
from struct import Struct

from custody.sketch.hash import begun_hash64

_VALUE_BYTES = 2


def bands_of(signature: bytes, bands: int, *, field: str = "band") -> list[int]:
    """A key of 64 bits, signed as databases store them, for every band in its order.

    The place of a band is part of its key, and so is ``field``, by which keys of one kind of signature are kept apart
    from keys of another. A key is the ``hash64`` of the band's bytes in the field of that name and number.
    """
    if bands < 1 or not signature or len(signature) % (bands * _VALUE_BYTES):
        raise ValueError(f"a signature of {len(signature)} bytes cannot be cut into {bands} bands")
    width = len(signature) // bands
    digests = []
    for band, begun in enumerate(_make_band_hashes(field, bands)):
        digest = begun.copy()
        digest.update(signature[band * width : (band + 1) * width])
        digests.append(digest.digest())
    return [*Struct(f">{bands}q").unpack(b"".join(digests))]


@lru_cache(maxsize=64)
def _make_band_hashes(field: str, bands: int) -> tuple[blake2b, ...]:
    return tuple(begun_hash64(f"{field}.{band}") for band in range(bands))
