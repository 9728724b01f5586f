"""The lines of a file, one at a time: never more than one of them in memory, and none that is too long."""

import errno
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from custody.core.wire.canonical import EVENT_BYTES_MAX

LINE_BYTES_MAX = EVENT_BYTES_MAX
CHUNK_BYTES = 1 << 20
ZST = ".zst"
DECOMPRESSORS = ("compression.zstd", "backports.zstd")
"""What can read zstd: Python itself from 3.14 on, and the package that gives the same to older ones."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line without its end; ``data`` is empty where ``size`` is over the limit. ``whole``: its end was there."""

    number: int
    data: bytes
    size: int
    whole: bool


def lines_of(path: Path) -> Iterator[FileLine]:
    """The lines of ``path``, from 1; what is over the limit is passed over piece by piece.

    A file that is compressed with zstd is unpacked on the way where this Python can; else an ``OSError`` says so.
    """
    # O_NONBLOCK: a pipe that lies among the transcripts is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=CHUNK_BYTES) as file:
        yield from _lines(file) if path.suffix != ZST else _unpacked(file, path)


def _lines(file: BinaryIO) -> Iterator[FileLine]:
    number = 0
    while data := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        size, end = len(data), data[-1:]
        if size > LINE_BYTES_MAX:
            while end != b"\n" and (more := file.readline(CHUNK_BYTES)):
                size, end = size + len(more), more[-1:]
            data = b""
        yield FileLine(number, data.removesuffix(b"\n"), size, end == b"\n")


def _unpacked(file: BinaryIO, path: Path) -> Iterator[FileLine]:
    zstd = _zstd(path)
    try:
        with zstd.open(file, "rb") as unpacked:
            yield from _lines(unpacked)
    except (EOFError, zstd.ZstdError) as error:
        raise OSError(errno.EIO, f"it is compressed and damaged: {error}", str(path)) from error


def _zstd(path: Path) -> Any:
    for name in DECOMPRESSORS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise OSError(errno.ENOTSUP, "it is compressed, and this Python has no zstd: unpack it with 'zstd -d'", str(path))


def files_below(place: Path, suffix: str | tuple[str, ...]) -> list[Path]:
    """The regular files at or below ``place`` that end so, those changed last at the end; links are not followed."""
    if place.is_file():
        return [place]
    found = []
    for folder, folders, names in os.walk(place):
        folders.sort()
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(suffix) and os.path.isfile(path) and not os.path.islink(path):
                found.append((os.stat(path).st_mtime_ns, path))
    return [Path(path) for _, path in sorted(found)]
