"""Where Gemini CLI keeps its chats, and of which project each of them is.

A project's folder in ``tmp`` is named by the SHA-256 of its root's path (``utils/paths.ts``), since 2026 by a short
name that ``projects.json`` and a file ``.project_root`` tie to the path (``config/projectRegistry.ts``, 5411f113).
Chats say the hash in either case.
"""

import hashlib
import os
import posixpath
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from custody.capture.file_probe import first_lines, is_below, read_json_object, small_file, user_folder
from custody.capture.line_reader import files_below
from custody.capture.typed_field import Fields, fields, get_string

SUFFIXES = (".json", ".jsonl")
CHATS = "chats"
CHAT = "session-"
MARKER = ".project_root"
REGISTRY = "projects.json"
FOLDERS_MAX = 100
"""So many folders above a file are asked whether they are the project's root."""


def home_of(environment: Mapping[str, str]) -> Path:
    """``tmp`` in the user's Gemini folder."""
    return user_folder(environment, "GEMINI_CLI_HOME", "").expanduser() / ".gemini" / "tmp"


def project_hash(root: str) -> str:
    """What stands for a project's root in chats and in older folders' names.

    >>> project_hash("/home/ana/shop")[:12]
    '549df1e2e63b'
    """
    try:
        named = root.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        named = root.encode("utf-8", "surrogatepass")  # half a sign, in a chat: no folder has such a name
    return hashlib.sha256(named).hexdigest()


def chats_below(place: Path) -> list[Path]:
    """The chats at or below ``place``, those written last at the end; other files of the agent's are left out."""
    return [file for file in files_below(place, SUFFIXES) if file == place or _is_chat(file)]


def _is_chat(file: Path) -> bool:
    if file.parent.name == CHATS or file.parent.parent.name == CHATS:
        return True
    return file.name.startswith(CHAT) or any(is_opening(line) for line in first_lines(file))


def is_opening(data: bytes) -> bool:
    """Whether a line is one of a chat's first: what it says of itself, on one line or over several."""
    return _hash_on(data) is not None


def chats_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The chats below ``home`` of projects in one of these work trees or below it."""
    known = roots_of(trees)
    roots, names = set(known.values()), set(known)
    names |= {slug for path, slug in _registered(home).items() if isinstance(slug, str) and is_below(path, roots)}
    ours: dict[str, bool] = {}
    found = []
    for file in chats_below(home):
        project = file.relative_to(home).parts[0]
        if project not in ours:
            marked = marked_root(home / project)
            ours[project] = project in names if marked is None else is_below(marked, roots)
        if ours[project] or _hash_in(file) in names:
            found.append(file)
    return found


def roots_of(trees: Sequence[str]) -> dict[str, str]:
    """The folders of these work trees by their hashes, as they are named and as they are without links."""
    return {project_hash(root): root for tree in trees for root in (tree, os.path.realpath(tree))}


def root_of(file: Path) -> str | None:
    """The root of a chat's project, where a file above it says so."""
    above = (marked_root(folder) for folder in islice(file.parents, 1, 3))
    return next((root for root in above if root is not None), None)


def marked_root(folder: Path) -> str | None:
    """The path that a project's folder is tied to."""
    said = small_file(folder / MARKER).decode("utf-8", "surrogateescape").strip()
    return said if posixpath.isabs(said) and "\0" not in said else None


def root_above(name: str, said: str) -> str | None:
    """The folder at or above a path whose hash is ``said``: a chat does not name its project's root otherwise."""
    folder = posixpath.normpath(name)
    for _ in range(FOLDERS_MAX):
        if project_hash(folder) == said:
            return folder
        if folder == posixpath.dirname(folder):
            return None
        folder = posixpath.dirname(folder)
    return None


def _hash_in(file: Path) -> str | None:
    return next(filter(None, map(_hash_on, first_lines(file))), None)


def _hash_on(data: bytes) -> str | None:
    if b'"projectHash"' not in data:
        return None
    said = read_json_object(data) or read_json_object(b"{%s}" % data.strip().rstrip(b","))
    return get_string(said.get("projectHash"))


def _registered(home: Path) -> Fields:
    return fields(read_json_object(small_file(home.parent / REGISTRY)).get("projects"))
