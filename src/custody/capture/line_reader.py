"""Files of other programs: one line at a time, and a first look at where a file belongs."""

import errno
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from custody.capture.typed_field import Fields, fields
from custody.core.errors import InputError
from custody.core.wire.canonical import EVENT_BYTES_MAX, parse

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


# A first look at files of other programs, to learn where they belong; whoever reads them says what is wrong there.


LINES = 50
BYTES_MAX = 1 << 20
DEPTH_MAX = 100
"""Maximum number of sessions above another."""


def first_lines(file: Path) -> Iterator[bytes]:
    """The first lines of a file; none of one that cannot be read."""
    try:
        yield from (line.data for line in islice(lines_of(file), LINES))
    except OSError:
        return


def small_file(file: Path) -> bytes:
    """All of a small file; nothing of one that is large, or cannot be read."""
    try:
        return file.read_bytes() if file.is_file() and file.stat().st_size <= BYTES_MAX else b""
    except OSError:
        return b""


def read_json_object(data: bytes) -> Fields:
    """The JSON object that is there, or an empty one."""
    try:
        return fields(parse(data))
    except InputError:
        return {}


# --- where sessions belong --------------------------------------------------------------------------------------------


def user_folder(environment: Mapping[str, str], variable: str, folder: str) -> Path:
    """The folder that ``variable`` names, else ``folder`` in the user's home."""
    named = environment.get(variable)
    return Path(named) if named else user_home(environment) / folder


def user_home(environment: Mapping[str, str]) -> Path:
    """The user's home folder."""
    return Path(environment.get("HOME") or "~").expanduser()


def resolve_trees(trees: Sequence[str]) -> set[str]:
    """The paths of these work trees, as they are named and with links resolved."""
    return {root.rstrip("/") for tree in trees for root in (tree, os.path.realpath(tree))}


def is_below(path: str | None, roots: Iterable[str]) -> bool:
    """Whether ``path`` is one of these folders or inside one."""
    return path is not None and any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def root_session(session: str, parent_of: Callable[[str], str | None]) -> str:
    """The session above ``session`` that no other session started."""
    for _ in range(DEPTH_MAX):
        parent = parent_of(session)
        if not parent:
            break
        session = parent
    return session
