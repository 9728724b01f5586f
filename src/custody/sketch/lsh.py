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


def chance_found(similarity: float, bands: int, rows: int) -> float:
    """How probably two sets of this similarity share a key.

    >>> [round(chance_found(similarity, 16, 8), 3) for similarity in (0.3, 0.5, 0.7, 0.9)]
    [0.001, 0.061, 0.613, 1.0]
    """
    return float(1 - (1 - similarity**rows) ** bands)


def bands_for(threshold: float, n: int, *, found_min: float = 0.5) -> tuple[int, int]:
    """How many bands of how many rows ``n`` values are to be cut into, none left over.

    Pairs of similarity ``threshold`` or more share a key with a chance of at least ``found_min``; of all ways that
    hold this, it is the one with the fewest keys, which finds the fewest pairs below. If none holds it (a threshold of
    0), every value is a band of its own.

    >>> bands_for(0.5, 128), bands_for(0.7, 128), bands_for(0.9, 128), bands_for(0.7, 128, found_min=0.9)
    ((32, 4), (16, 8), (8, 16), (32, 4))
    """
    if not (0 <= threshold <= 1 and 0 < found_min <= 1 and n >= 1):
        raise ValueError(f"no way to cut {n} values for a threshold of {threshold} found with {found_min}")
    ways = ((n // rows, rows) for rows in range(n, 0, -1) if n % rows == 0)
    return next((way for way in ways if chance_found(threshold, *way) >= found_min), (n, 1))


@lru_cache(maxsize=64)
def _make_band_hashes(field: str, bands: int) -> tuple[blake2b, ...]:
    return tuple(begun_hash64(f"{field}.{band}") for band in range(bands))
