"""A first look at files of other programs, to learn where they belong; whoever reads them says what is wrong there."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from custody.capture.line_reader import lines_of
from custody.capture.typed_field import Fields, fields
from custody.core.errors import InputError
from custody.core.wire.canonical import parse

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
