"""When a file was born: what ``os.stat`` does not say on Linux before Python 3.15."""

import ctypes
import os
from pathlib import Path

_STATX_BTIME = 0x800
_AT_FDCWD = -100
_STRUCT_BYTES = 256
_MASK_AT, _BTIME_AT = 0, 80
_NS = 1_000_000_000


def birth_ns(path: Path) -> int:
    """The file's birth time in nanoseconds; 0 where the system does not know it."""
    known = getattr(path.stat(), "st_birthtime", None)
    if known is not None:
        return int(known * _NS)
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return 0
    struct = ctypes.create_string_buffer(_STRUCT_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, struct) != 0:
        return 0
    mask = int.from_bytes(struct.raw[_MASK_AT : _MASK_AT + 4], "little")
    if not mask & _STATX_BTIME:
        return 0
    seconds = int.from_bytes(struct.raw[_BTIME_AT : _BTIME_AT + 8], "little", signed=True)
    return seconds * _NS + int.from_bytes(struct.raw[_BTIME_AT + 8 : _BTIME_AT + 12], "little")
