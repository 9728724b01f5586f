"""The lines of a file, one at a time: never more than one of them in memory, and none that is too long."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from custody.wire.canonical import EVENT_BYTES_MAX

LINE_BYTES_MAX = EVENT_BYTES_MAX
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; ``data`` is empty where ``size`` is over the limit. ``whole``: its end was there."""

    number: int
    data: bytes
    size: int
    whole: bool


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of ``path``, from 1; what is over the limit is passed over piece by piece."""
    # O_NONBLOCK: a pipe that lies among the transcripts is not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=CHUNK_BYTES) as file:
        number = 0
        while data := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            size, end = len(data), data[-1:]
            if size > LINE_BYTES_MAX:
                while end != b"\n" and (more := file.readline(CHUNK_BYTES)):
                    size, end = size + len(more), more[-1:]
                data = b""
            yield Line(number, data.removesuffix(b"\n"), size, end == b"\n")


def files_below(place: Path, suffix: str) -> list[Path]:
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
