"""Notes of git-ai (``refs/notes/ai``): which lines of a commit which session wrote, as that tool says it.

Read are ``authorship/3.0.0`` in all shapes that its programs wrote (git-ai 1.0.17 to 1.6.24 and 2.0.0-alpha.1): keys
of sessions with and without traces, of persons, and the older keys of 16 or 7 digits or a session's own id. Before it
came JSON (``0.0.1``, ``1.0.0``, ``2.0.0``; git-ai before October 2025), which ``gitai_old`` reads. Written is
``authorship/3.0.0`` with sessions, as git-ai's standard describes it in ``specs/git_ai_standard_v3.0.0.md``.

A note names lines of the commit that it is attached to, so nothing here looks at any text of a file.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import msgspec

from custody.capture.claims.agent_trace import compute_mixed_share
from custody.capture.claims.git_ai_legacy import parse_old
from custody.capture.claims.git_ai_note import (
    KEY_SIGNS_MAX,
    OURS,
    TOOLS,
    UNKNOWN_MODEL,
    GitAiNote,
    NoteAuthor,
    NoteEntry,
    author_of,
    major_of,
    model_of,
)
from custody.core.errors import InputError
from custody.core.lines import Lines
from custody.core.wire.canonical import problem

VERSION = "authorship/3.0.0"
MAJOR = 3
DIVIDER = "---"
_MODEL = f"{OURS}.model."
"""How the name of a custom attribute begins that tells the model of one edit: a session has only one in this format."""
_SHARE = f"{OURS}.share."
"""The same for how much of an edit's lines is the agent's, where that is not all."""
PROBLEMS_MAX = 100

_TOOL_OF = MappingProxyType({"claude-code": "claude", "copilot": "github-copilot"})

_PART = re.compile(r"0\.[0-9]{1,17}", re.ASCII)
_RANGE = re.compile(r"([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?", re.ASCII)


class _Agent(msgspec.Struct, frozen=True):
    tool: str
    id: str
    model: str | None = None


class _NoteSession(msgspec.Struct, frozen=True):
    agent_id: _Agent
    custom_attributes: Any = None


class _Metadata(msgspec.Struct, frozen=True):
    """What is used of the metadata; conversations that older notes hold are passed over unread."""

    schema_version: str
    prompts: dict[str, msgspec.Raw] | None = None
    sessions: dict[str, msgspec.Raw] | None = None


_METADATA = msgspec.json.Decoder(_Metadata)
_DESCRIBED = msgspec.json.Decoder(_NoteSession)


# --- reading ----------------------------------------------------------------------------------------------------------


def parse_note(data: bytes) -> GitAiNote:
    """What a note says; an ``InputError`` when nothing of it can be read."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from error
    if text.lstrip()[:1] == "{":
        return parse_old(data)
    told, more, metadata = _parted(text)
    found = _NoteContent()
    meta = _metadata(metadata)
    newer = major_of(meta.schema_version)
    if newer > MAJOR:
        found.problem(f"'{meta.schema_version[:40]}' is newer than {VERSION}, as which it is read")
    if more:
        found.problem(f"has {more} part(s) more than {VERSION}, which are not read")
    authors = {**_authors(meta.prompts, found), **_authors(meta.sessions, found)}
    files = _files(told, found)
    return GitAiNote(meta.schema_version, files, authors, _is_ours(files, found), tuple(found.problems))


@dataclass(slots=True)
class _NoteContent:
    """What is gathered on the way through a note."""

    problems: list[str] = field(default_factory=list)
    ours: set[str] = field(default_factory=set)
    """The keys of sessions that we described."""
    others: bool = False
    """Whether anything is described by somebody else."""

    def problem(self, what: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(what)


def _is_ours(files: Mapping[str, Sequence[NoteEntry]], found: _NoteContent) -> bool:
    """Whether all of a note is ours: other tools add to notes that are there, and what they added is theirs."""
    whose = {entry.name for entries in files.values() for entry in entries}
    return bool(found.ours) and whose <= found.ours and not found.others and not found.problems


def _parted(text: str) -> tuple[list[str], int, str]:
    """What stands above the first divider, how many parts follow, and what is below the last one: no JSON has one."""
    lines = text.split("\n")
    at = [n for n, line in enumerate(lines) if line.rstrip("\r") == DIVIDER]
    if not at:
        raise InputError(f"no authorship log: no line is '{DIVIDER}'")
    return [line.rstrip() for line in lines[: at[0]]], len(at) - 1, "\n".join(lines[at[-1] + 1 :])


def _metadata(text: str) -> _Metadata:
    try:
        return _METADATA.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"its metadata cannot be read: {problem(error)}") from error


def _authors(described: Mapping[str, msgspec.Raw] | None, found: _NoteContent) -> dict[str, NoteAuthor]:
    authors: dict[str, NoteAuthor] = {}
    for key, raw in (described or {}).items():
        try:
            chunk = _DESCRIBED.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            found.problem(f"session '{key[:KEY_SIGNS_MAX]}' cannot be read: {problem(error)}")
            continue
        attributes = chunk.custom_attributes if isinstance(chunk.custom_attributes, dict) else {}
        if OURS in attributes:
            found.ours.add(key)
        else:
            found.others = True
        author = author_of(chunk.agent_id.tool, chunk.agent_id.id, chunk.agent_id.model, attributes)
        if author is None:
            found.problem(f"session '{key[:KEY_SIGNS_MAX]}' has no name that can be used")
            continue
        authors[key] = author
        for edit, told in _edits(attributes).items():
            model = model_of(told[_MODEL]) if _MODEL in told else author.model
            authors[f"{key}::{edit}"] = replace(author, model=model, share=_share(told.get(_SHARE)))
    return authors


def _edits(attributes: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """The edits of a session of which we told something of their own, and what."""
    found: dict[str, dict[str, str]] = {}
    for name, value in attributes.items():
        kind = next((kind for kind in (_MODEL, _SHARE) if name.startswith(kind)), None)
        if kind is not None and isinstance(value, str) and value:
            found.setdefault(name.removeprefix(kind), {})[kind] = value
    return found


def _share(told: str | None) -> float:
    if told is None:
        return 1.0
    return compute_mixed_share(float(told) if _PART.fullmatch(told) else None)


def _files(lines: Sequence[str], found: _NoteContent) -> dict[str, tuple[NoteEntry, ...]]:
    files: dict[str, list[NoteEntry]] = {}
    path: str | None = None
    for line in lines:
        if not line:
            continue
        if not line.startswith("  "):
            path = line[1:-1] if len(line) > 2 and line[0] == line[-1] == '"' else line
        elif path is None:
            found.problem("lines are claimed before a file is named")
        elif (entry := _entry(line[2:], found)) is not None:
            files.setdefault(path, []).append(entry)
    return {path: tuple(entries) for path, entries in files.items()}


def _entry(line: str, found: _NoteContent) -> NoteEntry | None:
    key, _, ranges = line.partition(" ")
    lines = tuple(_lines(ranges.split(","), found))
    return NoteEntry(key[:KEY_SIGNS_MAX], lines) if key and lines else None


def _lines(parts: Iterable[str], found: _NoteContent) -> Iterator[Lines]:
    for part in parts:
        shape = _RANGE.fullmatch(part)
        if shape is not None and int(shape[1]) <= int(shape[2] or shape[1]):
            yield Lines(int(shape[1]), int(shape[2] or shape[1]))
        elif part:
            found.problem(f"'{part[:40]}' is no stretch of lines")


# --- writing ----------------------------------------------------------------------------------------------------------


def print_note(commit: str, files: Mapping[str, Mapping[NoteAuthor, Sequence[Lines]]]) -> bytes:
    """A note for ``commit``; the same for the same lines, so that writing it again changes nothing."""
    out: list[str] = []
    written: dict[str, dict[str, NoteAuthor]] = {}
    for path, by_author in sorted(files.items()):
        out.append(_quoted(path))
        for author in sorted(by_author, key=edit_key):
            key = edit_key(author)
            out.append(f"  {key} {','.join(map(str, sorted(by_author[author])))}")
            name, _, edit = key.partition("::")
            written.setdefault(name, {})[edit] = author
    sessions = {name: _record(edits) for name, edits in written.items()}
    metadata = {"schema_version": VERSION, "base_commit_sha": commit, "prompts": {}, "sessions": sessions}
    encoded = msgspec.json.format(msgspec.json.encode(metadata, order="deterministic"), indent=2)
    return "\n".join((*out, DIVIDER, "")).encode() + encoded


def is_printable(path: str) -> bool:
    """Whether a path can stand in a note and be read again as the same."""
    printed = _quoted(path).rstrip()
    utf8 = not re.search(r"[\ud800-\udfff]", path)
    return utf8 and "\n" not in path and not printed.startswith("  ") and next(iter(_again(printed)), None) == path


def _again(printed: str) -> Iterator[str]:
    yield from _files([printed, "  a 1"], _NoteContent())


def _quoted(path: str) -> str:
    odd = path == DIVIDER or path[:1] == '"' or path[:1] == "{" or any(sign.isspace() for sign in path)
    return f'"{path}"' if odd else path


def edit_key(author: NoteAuthor) -> str:
    """The key of a session's edit; git-ai draws its second half by chance, which would make every export another.

    >>> edit_key(NoteAuthor("cursor", "6ef2299e"))
    's_90a4429512bf1e::t_633f9c155f49d3'
    """
    part = [] if author.share == 1.0 else [str(author.share)]
    parts = (author.agent, author.session, author.call or "", author.model or "", *part)
    edit = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    tool = _tool(author.agent) if _comes_back(author.agent) else f"{OURS}:{author.agent}"
    session = hashlib.sha256(f"{tool}:{author.session}".encode()).hexdigest()
    return f"s_{session[:14]}::t_{edit[:14]}"


def _tool(agent: str) -> str:
    return _TOOL_OF.get(agent, agent)


def _comes_back(agent: str) -> bool:
    """Whether git-ai's name of an agent is read as the same agent."""
    return TOOLS.get(_tool(agent), _tool(agent)) == agent


def _record(edits: Mapping[str, NoteAuthor]) -> dict[str, Any]:
    """What a note says of a session, with the models of edits that are not its first one's and the shares in them."""
    first = edits[min(edits)]
    attributes = {OURS: "1"}
    if not _comes_back(first.agent):
        attributes[f"{OURS}.agent"] = first.agent
    for edit, author in edits.items():
        if author.model != first.model:
            attributes[f"{_MODEL}{edit}"] = author.model or UNKNOWN_MODEL
        if author.share < 1.0:
            attributes[f"{_SHARE}{edit}"] = str(author.share)
    agent = {"tool": _tool(first.agent), "id": first.session, "model": first.model or UNKNOWN_MODEL}
    return {"agent_id": agent, "human_author": None, "custom_attributes": attributes}
