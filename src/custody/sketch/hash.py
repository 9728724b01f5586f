"""Numbers that stand for values: the same in every process, on every machine and in every version.

This file is the only one that says how a value is hashed. What was hashed is stored, so nothing here may ever change:
another way of hashing is another function, and a new version of whatever holds its numbers.
"""

from functools import lru_cache
from hashlib import blake2b

_END = b"\0"
"""Ends the field's name, which holds no such byte, so that no field and value look like another field and value."""
_CACHED_CHARS_MAX = 128
"""Names and paths come again and again; a long text hardly does, and would only be kept from being freed."""
_CACHED_MAX = 1 << 15


def hash64(field: str, value: str) -> int:
    """A signed number of 64 bits, as databases store them, for a value of a field.

    The first eight bytes of BLAKE2b, big end first, over the field's name, a zero byte and the value.

    >>> hash64("path", "src/app.ts"), hash64("word", "src/app.ts")
    (-7310040873515005912, 4188282674425240532)
    """
    return _short64(field, value) if len(value) <= _CACHED_CHARS_MAX else hash64_of_bytes(field, _bytes(value))


def hash32(field: str, value: str) -> int:
    """A number from 0 to 2**32 - 1 for a value of a field: the last half of its ``hash64``.

    >>> hash32("path", "src/app.ts")
    1217218600
    """
    return hash64(field, value) & 0xFFFF_FFFF


def hash64_of_bytes(field: str, data: bytes) -> int:
    """What ``hash64`` gives for text that is written as these bytes in UTF-8.

    >>> hash64_of_bytes("word", "größe".encode()) == hash64("word", "größe")
    True
    """
    return int.from_bytes(blake2b(field.encode() + _END + data, digest_size=8).digest(), "big", signed=True)


def begun_hash64(field: str) -> blake2b:
    """The digest behind ``hash64`` after the field: to be copied and finished for one value after the other."""
    return blake2b(field.encode() + _END, digest_size=8)


@lru_cache(maxsize=_CACHED_MAX)
def _short64(field: str, value: str) -> int:
    return hash64_of_bytes(field, _bytes(value))


def _bytes(value: str) -> bytes:
    # Lone surrogates stand for bytes of the file that are no UTF-8.
    return value.encode("utf-8", "surrogatepass")
