"""What single parts of an answer in VS Code tell: paths, words, and of a call that only a part tells of its input.

Shapes: chats that people exported and put into public repositories, of Copilot 0.31 to 0.39 (August 2025 to March
2026), and ``chatToolInvocation.ts`` of microsoft/vscode at 8c035459. A part is told as complete whatever became of it:
whether a person let it run is told beside that.
"""

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from custody.capture.agents.copilot.kept_record import ABANDONED, FAILED, OK
from custody.capture.agents.copilot.locations import normalize_slashes
from custody.capture.typed_field import Fields, fields, get_string
from custody.core.wire.canonical import Json

WORDS_DEPTH_MAX = 60
REFUSED = frozenset((0, 5))
"""How a person answered who did not let a call run: denied, skipped."""

_LINK = re.compile(r"\]\((file:///[^)\s]+)\)")
_OPEN = re.compile(r"working in a workspace with the following folders:\s*\n((?:- [^\n]+(?:\n|$))+)")


def path_of(uri: object) -> str | None:
    """The path in an address as VS Code writes it: its parts, or a text."""
    parts = fields(uri)
    # The path for the file system is spelt as that of the window's system, which may be another than the file's.
    said = get_string(parts.get("path")) or get_string(parts.get("fsPath"))
    if said is None:
        address = urlsplit(get_string(uri) or get_string(parts.get("external")) or "")
        said = unquote(address.path) or None if address.scheme == "file" else None
    return None if said is None else normalize_slashes(said)


def folders_in(context: object) -> tuple[str, ...]:
    """The folders that were open, where what a model was told first names them.

    >>> folders_in([{"type": 1, "text": "I am working in a workspace with the following folders:\\n- /shop \\n"}])
    ('/shop',)
    """
    named = _OPEN.search(extract_part_text(context))
    return () if named is None else tuple(line[2:].strip() for line in named[1].splitlines())


def extract_part_text(value: object, depth: int = 0) -> str:
    """The text of a tool's result, which VS Code keeps as a tree of pieces."""
    if isinstance(value, str):
        return value
    if depth > WORDS_DEPTH_MAX:
        return ""
    if isinstance(value, list):
        return "".join(extract_part_text(piece, depth + 1) for piece in value)
    node: dict[str, Any] = value if isinstance(value, dict) else {}
    known = (node.get("text"), node.get("value"), node.get("node"), node.get("content"), node.get("children"))
    return "".join(extract_part_text(piece, depth + 1) for piece in known if piece is not None)


def given_by(part: Fields) -> dict[str, Json]:
    """What a call was given, as far as its part shows it: a server's input, a command, the file that was read."""
    shown = fields(part.get("toolSpecificData"))
    if shown.get("kind") == "input":
        return dict(fields(shown.get("rawInput")))
    command = get_string(fields(shown.get("commandLine")).get("original"))
    if command is not None:
        return {"command": command, "isBackground": shown.get("isBackground") is True}
    said = extract_part_text(part.get("pastTenseMessage") or part.get("invocationMessage"))
    link = _LINK.search(said) if get_string(part.get("toolId")) == "copilot_readFile" else None
    if link is None:
        return {}
    address, _, lines = link[1].partition("#")
    given: dict[str, Json] = {"filePath": path_of(address)}
    return {**given, "startLine": 1} if lines else given


def state_of(part: Fields) -> str:
    """How a call ended of which only a part tells."""
    said = part.get("isConfirmed")
    refused = said is False or fields(said).get("type") in REFUSED
    if refused or part.get("isComplete") is not True:
        return ABANDONED
    ended = fields(fields(part.get("toolSpecificData")).get("terminalCommandState")).get("exitCode")
    return FAILED if isinstance(ended, int) and ended != 0 else OK


def inserts(edit: Fields) -> bool:
    """Whether an edit puts text between two places that are one."""
    place = fields(edit.get("range"))
    starts, ends = (("startLineNumber", "startColumn"), ("endLineNumber", "endColumn"))
    return bool(place) and [place.get(name) for name in starts] == [place.get(name) for name in ends]
