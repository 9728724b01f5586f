"""Files of other programs: line by line, and a first look at the folder that a file belongs to."""

import errno
import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from custody.capture.typed_field import Fields, get_fields
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.platform import CLOEXEC, NONBLOCK
from custody.core.wire.canonical import EVENT_BYTES_MAX, parse_json_bytes
from custody.core.wire.time import format_timestamp, parse_timestamp

LINE_BYTES_MAX = EVENT_BYTES_MAX
CHUNK_BYTES = 1 << 20
ZST = ".zst"
HEAD_BYTES = 1 << 20
"""How much of a transcript is searched for its first time."""
_NS_PER_MS = 1_000_000
_TIME = lazy_pattern(
    rb'"(?:timestamp|startTime|createdAt|creationDate)"\s*:\s*'
    rb'(?:"(\d{4}-\d\d-\d\d[Tt][0-9:.,+Zz-]{1,30})"|([1-9]\d{12})\b)'
)
DECOMPRESSORS = ("compression.zstd", "backports.zstd")
"""Modules that read zstd: Python from 3.14 on, and a package for older versions."""


class FileLine(Struct, frozen=True):
    """A line without its end; ``data`` is empty if ``size`` is over the limit. ``whole``: the line had an end."""

    number: int
    data: bytes
    size: int
    whole: bool


def read_jsonl_lines(path: Path) -> Iterator[FileLine]:
    """Yield the lines of ``path``, numbered from 1; lines over the limit are skipped piece by piece.

    A zstd file is decompressed if this Python can do it; otherwise an ``OSError`` is raised.
    """
    # O_NONBLOCK: do not wait for a pipe among the transcripts.
    handle = os.open(path, os.O_RDONLY | NONBLOCK | CLOEXEC)
    with os.fdopen(handle, "rb", buffering=CHUNK_BYTES) as file:
        yield from _read_bounded_lines(file) if path.suffix != ZST else _read_compressed_lines(file, path)


def find_first_time(path: Path) -> str:
    """Return the first time that a transcript's own lines name; that of the file only where its beginning has none.

    A copy, a restored backup or a check-out changes the file's time.
    """
    left = HEAD_BYTES
    try:
        for line in read_jsonl_lines(path):
            for match in _TIME.finditer(line.data):
                if (at_ns := _parse_message_time(match)) is not None:
                    return format_timestamp(at_ns)
            left -= line.size
            if left <= 0:
                break
    except OSError:
        pass  # whoever reads the transcript reports it
    return format_timestamp(path.stat().st_mtime_ns)


def _parse_message_time(match: re.Match[bytes]) -> int | None:
    """Return the nanoseconds of a time, written as RFC 3339 or as milliseconds since the epoch."""
    text, milliseconds = match.groups()
    if milliseconds is not None:
        return int(milliseconds) * _NS_PER_MS
    try:
        return parse_timestamp(text.decode())
    except InputError:
        return None


def _read_bounded_lines(file: BinaryIO) -> Iterator[FileLine]:
    number = 0
    while data := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        size, end = len(data), data[-1:]
        if size > LINE_BYTES_MAX:
            while end != b"\n" and (more := file.readline(CHUNK_BYTES)):
                size, end = size + len(more), more[-1:]
            data = b""
        yield FileLine(number, data.removesuffix(b"\n"), size, end == b"\n")


def _read_compressed_lines(file: BinaryIO, path: Path) -> Iterator[FileLine]:
    zstd = _load_zstd_module(path)
    try:
        with zstd.open(file, "rb") as unpacked:
            yield from _read_bounded_lines(unpacked)
    except (EOFError, zstd.ZstdError) as error:
        raise OSError(errno.EIO, f"the compressed data is damaged: {error}", str(path)) from error


def _load_zstd_module(path: Path) -> Any:
    for name in DECOMPRESSORS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise OSError(
        errno.ENOTSUP, "compressed with zstd, which this Python cannot read: unpack it with 'zstd -d'", str(path)
    )


def list_transcript_files(place: Path, suffix: str | tuple[str, ...]) -> list[Path]:
    """Return the regular files at or below ``place`` with this suffix, last changed last; links are not followed."""
    if place.is_file():
        return [place]
    matches = []
    for folder, folders, names in os.walk(place):
        folders.sort()
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(suffix) and os.path.isfile(path) and not os.path.islink(path):
                matches.append((os.stat(path).st_mtime_ns, path))
    return [Path(path) for _, path in sorted(matches)]


VSCODE_PROGRAMS = ("Code", "Code - Insiders", "Code - Exploration", "VSCodium")
VSCODE_SETTINGS = (".config", "Library/Application Support")
VSCODE_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscode-remote")

# A first look at files of other programs; problems are reported when they are read in full.


LINES = 50
BYTES_MAX = 1 << 20
DEPTH_MAX = 100
"""Maximum depth of nested sessions."""


def peek_transcript_lines(file: Path) -> Iterator[bytes]:
    """Yield the first lines of a file; none of an unreadable file."""
    try:
        yield from (line.data for line in islice(read_jsonl_lines(file), LINES))
    except OSError:
        return


def read_small_agent_file(file: Path) -> bytes:
    """Return the content of a small file; empty for a large or unreadable file."""
    try:
        return file.read_bytes() if file.is_file() and file.stat().st_size <= BYTES_MAX else b""
    except OSError:
        return b""


def read_json_object(data: bytes) -> Fields:
    """Return the JSON object in ``data``, or an empty one."""
    try:
        return get_fields(parse_json_bytes(data))
    except InputError:
        return {}


# --- where sessions belong --------------------------------------------------------------------------------------------


def locate_agent_folder(environment: Mapping[str, str], variable: str, folder: str) -> Path:
    """Return the folder that ``variable`` names, else ``folder`` in the user's home."""
    name = environment.get(variable)
    return Path(name) if name else locate_user_home(environment) / folder


def locate_user_home(environment: Mapping[str, str]) -> Path:
    """Return the user's home folder."""
    return Path(environment.get("HOME") or "~").expanduser()


def list_vscode_user_folders(home: Path) -> list[Path]:
    """Return VS Code's user folders in the user's home, on this machine and for remote connections to it."""
    programs = (home / settings / name / "User" for name in VSCODE_PROGRAMS for settings in VSCODE_SETTINGS)
    return [*programs, *(home / server / "data" / "User" for server in VSCODE_SERVERS)]


def resolve_work_trees(trees: Sequence[str]) -> set[str]:
    """Return the paths of these work trees, as named and with links resolved."""
    return {root.rstrip("/") for tree in trees for root in (tree, os.path.realpath(tree))}


def is_path_in_trees(path: str | None, roots: Iterable[str]) -> bool:
    """Return whether ``path`` is one of these folders or inside one."""
    return path is not None and any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def is_file_in_trees(file: Path, trees: Sequence[str], read_folder: Callable[[bytes], str | None]) -> bool | None:
    """Return whether the first folder that ``read_folder`` finds in a line is in these work trees; None without one.

    A file that cannot be read counts as inside, so that its import reports the problem.
    """
    try:
        for line in islice(read_jsonl_lines(file), LINES):
            folder = read_folder(line.data)
            if folder is not None:
                return is_path_in_trees(folder, trees)
    except OSError:
        return True
    return None


def find_root_session(session: str, parent_of: Callable[[str], str | None]) -> str:
    """Return the topmost session above ``session``."""
    for _ in range(DEPTH_MAX):
        parent = parent_of(session)
        if not parent:
            break
        session = parent
    return session
