"""How body bytes are kept: as they are, or compressed when that is smaller.

A body whose texts another store withheld is kept as an outline: not the bytes of its digest, so with a digest of its
own before them.
"""

import hashlib
import zlib

from custody.store.db import DamagedStoreError

PLAIN, ZLIB, OUTLINE = "plain", "zlib", "outline"
BODY_BYTES_MAX = 64 * 1024 * 1024
"""No body that custody writes is as large; anything that unpacks to more is damaged or hostile."""

_DIGEST_BYTES = 32
_WORTH_BYTES_MIN = 256
_LEVEL = 1


def encode(data: bytes) -> tuple[str, bytes]:
    """The codec and the bytes to keep."""
    if len(data) >= _WORTH_BYTES_MIN:
        packed = zlib.compress(data, _LEVEL)
        if len(packed) < len(data):
            return ZLIB, packed
    return PLAIN, data


def decode(codec: str, kept: bytes) -> bytes:
    """The bytes that were encoded; ``DamagedStoreError`` when they cannot be."""
    if codec == PLAIN:
        return kept
    if codec != ZLIB:
        raise DamagedStoreError(
            f"unknown codec '{codec}' of a body", hint="the store is damaged or from a newer custody"
        )
    return _unpacked(kept)


def encode_outline(outline: bytes) -> bytes:
    """The bytes to keep for what a payload says without its texts."""
    return hashlib.sha256(outline).digest() + zlib.compress(outline, _LEVEL)


def decode_outline(kept: bytes) -> bytes:
    """The outline that was encoded; ``DamagedStoreError`` when it is not that any more."""
    outline = _unpacked(kept[_DIGEST_BYTES:])
    if hashlib.sha256(outline).digest() != kept[:_DIGEST_BYTES]:
        raise DamagedStoreError("the outline of a record is not the one that came", hint="run 'custody verify'")
    return outline


def _unpacked(kept: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(kept, BODY_BYTES_MAX)
    except zlib.error as error:
        raise DamagedStoreError(f"a body cannot be unpacked: {error}", hint="run 'custody verify'") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedStoreError(
            "a body is cut short, too large or has bytes behind its end", hint="run 'custody verify'"
        )
    return data
