"""How body bytes are kept: as they are, or compressed when that is smaller."""

import zlib

from custody.world.store.db import StoreDamaged

PLAIN, ZLIB = "plain", "zlib"
BODY_BYTES_MAX = 64 * 1024 * 1024
"""No body that custody writes is as large; anything that unpacks to more is damaged or hostile."""

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
    """The bytes that were encoded; ``StoreDamaged`` when they cannot be."""
    if codec == PLAIN:
        return kept
    if codec != ZLIB:
        raise StoreDamaged(f"unknown codec '{codec}' of a body", hint="the store is damaged or from a newer custody")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(kept, BODY_BYTES_MAX)
    except zlib.error as error:
        raise StoreDamaged(f"a body cannot be unpacked: {error}", hint="run 'custody verify'") from error
    if not unpacker.eof or unpacker.unused_data:
        raise StoreDamaged("a body is cut short, too large or has bytes behind its end", hint="run 'custody verify'")
    return data
