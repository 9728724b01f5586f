"""Reading one file that others may have prepared: a pipe must not make us wait, nor a huge file fill the memory."""

import os
import stat
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_regular(descriptor: int, bytes_max: int) -> bytes | str:
    """The bytes of an open file, or why they are not to be had."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return "is not a regular file"
    pieces, left = [], bytes_max + 1
    while left and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left else f"is larger than {bytes_max} bytes"


def read_small_file(path: Path, bytes_max: int) -> bytes | str:
    """The bytes of the file ``path``, or why they are not to be had; an ``OSError`` is left to the caller."""
    descriptor = os.open(path, FILE)
    try:
        return read_regular(descriptor, bytes_max)
    finally:
        os.close(descriptor)
