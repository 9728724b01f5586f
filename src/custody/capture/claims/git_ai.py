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

from custody.capture.claims.agent_trace import MODEL_SIGNS_MAX, LineClaim, compute_mixed_share
from custody.core.errors import InputError
from custody.core.paths import Lines
from custody.core.wire.canonical import Json, parse, problem

# What a note of git-ai says, in whichever of its versions it was written; and whose the lines of a file then are.


OURS = "custody"
"""A custom attribute of every session that we write: a note in which each has it, and all else is theirs, is ours."""
UNKNOWN_MODEL = "unknown"
KEY_SIGNS_MAX = 200
NAME_SIGNS_MAX = 1000

TOOLS: Mapping[str, str] = MappingProxyType(
    {"claude": "claude-code", "github-copilot": "copilot", "gemini-cli": "gemini", "codex-cli": "codex"}
)
"""What git-ai calls an agent that has another name here."""

_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_VERSION = re.compile(r"authorship/([0-9]{1,4})\.[0-9.]{1,20}", re.ASCII)
_NO_MODEL = frozenset(("", UNKNOWN_MODEL, "<synthetic>"))
_PERSONS = ("h_", "human")


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """Lines of a file that a note gives to somebody; who, is told by the key."""

    key: str
    lines: tuple[Lines, ...]

    @property
    def name(self) -> str:
        """The key under which the note describes a session; the rest of the key names a single edit of it.

        >>> NoteEntry("s_c9883b05a2487d::t_9f8e7d6c5b4a32", ()).name
        's_c9883b05a2487d'
        """
        return self.key.partition("::")[0]

    @property
    def is_persons(self) -> bool:
        """Whether the note says that a person wrote the lines."""
        return self.key.startswith(_PERSONS)


@dataclass(frozen=True, slots=True)
class GitAiNote:
    """What a note says: entries by file in its order, the sessions that it describes, what of it could not be read."""

    version: str
    files: Mapping[str, tuple[NoteEntry, ...]]
    authors: Mapping[str, LineClaim]
    """By the key of an edit, else by that of its session."""
    ours: bool = False
    """Whether custody wrote all of it."""
    problems: tuple[str, ...] = ()

    def author(self, entry: NoteEntry) -> LineClaim | None:
        """Who is described under an entry's key."""
        return self.authors.get(entry.key) or self.authors.get(entry.name)


def major_of(version: str) -> int:
    """The first number of a version; an ``InputError`` for what is none.

    >>> major_of("authorship/3.0.0")
    3
    """
    shape = _VERSION.fullmatch(version)
    if shape is None:
        raise InputError(f"'{version[:40]}' is no version of an authorship log")
    return int(shape[1])


def author_of(
    tool: str, session: str, model: str | None, attributes: Mapping[str, object] | None = None
) -> LineClaim | None:
    """An agent's session as we name it; None when its names cannot stand in a record."""
    said = (attributes or {}).get(f"{OURS}.agent")
    agent = said if isinstance(said, str) else TOOLS.get(tool, tool)
    if not all(_NAME.fullmatch(name) and len(name) <= NAME_SIGNS_MAX for name in (agent, session)):
        return None
    return LineClaim(agent, session, model_of(model))


def model_of(told: str | None) -> str | None:
    """A model under its name; None where a tool says that it does not know."""
    named = (told or "").strip('"')
    return None if named in _NO_MODEL or not _NAME.fullmatch(named) else named[:MODEL_SIGNS_MAX]


def assign_claimed_lines(entries: Sequence[NoteEntry], count: int) -> tuple[dict[str, list[Lines]], bool]:
    """The lines of a file with ``count`` lines by key, and whether some are claimed that it has not.

    Of entries that claim the same line the last one counts, as in git-ai's own answers.

    >>> assign_claimed_lines([NoteEntry("a", (Lines(1, 4),)), NoteEntry("b", (Lines(3, 9),))], 5)
    ({'a': [Lines(first=1, last=2)], 'b': [Lines(first=3, last=5)]}, True)
    """
    whose: dict[int, str] = {}
    free = list(range(count + 2))  # from each line, where the next one may be that nobody has yet
    beyond = False
    for entry in reversed(entries):
        for lines in entry.lines:
            beyond |= lines.last > count
            number = _next(free, min(lines.first, count + 1))
            while number <= min(lines.last, count):
                whose[number] = entry.key
                free[number] = number + 1
                number = _next(free, number + 1)
    return _by_key(whose), beyond


def _next(free: list[int], number: int) -> int:
    """The first line from ``number`` on that nobody has; the way there becomes shorter each time."""
    while free[number] != number:
        free[number] = free[free[number]]
        number = free[number]
    return number


def _by_key(whose: Mapping[int, str]) -> dict[str, list[Lines]]:
    made: dict[str, list[Lines]] = {}
    for number, key in sorted(whose.items()):
        runs = made.setdefault(key, [])
        if runs and runs[-1].last == number - 1:
            runs[-1] = Lines(runs[-1].first, number)
        else:
            runs.append(Lines(number, number))
    return made


# Authorship logs of git-ai before its text format: JSON, versions 0.0.1, 1.0.0 and 2.0.0 (August to October 2025).
# ``0.0.1`` names an author by a word, a person's or a tool's; the others name persons by a key and sessions beside
# it.


FIRST = "authorship/0.0.1"
"""What is read where a log does not say its version; the first ones did not."""
NOTE_BYTES_MAX = 64 << 20
PERSON = "human"

_AGENTS = MappingProxyType(
    {
        "claude": "claude-code",
        "claude code": "claude-code",
        "cursor": "cursor",
        "codex": "codex",
        "copilot": "copilot",
        "github copilot": "copilot",
        "gemini": "gemini",
        "windsurf": "windsurf",
    }
)
"""Authors of 0.0.1 that are tools: it calls persons and tools alike by a name."""


def parse_old(data: bytes) -> GitAiNote:
    """What a log in JSON says; an ``InputError`` when nothing of it can be read."""
    value = parse(data, bytes_max=NOTE_BYTES_MAX)
    told_of = value.get("files") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(told_of, dict):
        raise InputError("no authorship log: it has no files")
    version = value.get("schema_version", FIRST)
    if not isinstance(version, str):
        raise InputError("its version is no text")
    files, authors, problems = dict[str, tuple[NoteEntry, ...]](), dict[str, LineClaim](), list[str]()
    read = _read_author_entries if major_of(version) == 0 else _of_keys
    for path, told in told_of.items():
        try:
            entries = tuple(read(told, value, authors))
        except InputError as error:
            problems.append(f"'{path[:KEY_SIGNS_MAX]}': {error.message}")
            continue
        if entries:
            files[path] = entries
    return GitAiNote(version, files, authors, problems=tuple(problems))


def _read_author_entries(told: Json, _log: Mapping[str, Json], authors: dict[str, LineClaim]) -> Iterator[NoteEntry]:
    """0.0.1: ``{"authors": [{"author": name, "lines": [1, [3, 9]], "agent_metadata": null}]}``."""
    for author_entry in _list(told.get("authors") if isinstance(told, dict) else None):
        name = author_entry.get("author") if isinstance(author_entry, dict) else None
        if not isinstance(author_entry, dict) or not isinstance(name, str):
            raise InputError("an author without a name")
        agent = _AGENTS.get(name.casefold()) or (name if author_entry.get("agent_metadata") else None)
        author = None if agent is None else author_of(agent, f"git-ai:{name}", None)
        if author is not None:
            authors[name] = author
        yield NoteEntry(PERSON if author is None else name, tuple(_legacy_lines(author_entry.get("lines"))))


def _of_keys(told: Json, log: Mapping[str, Json], authors: dict[str, LineClaim]) -> Iterator[NoteEntry]:
    """1.0.0 and 2.0.0: ``[[1, [3, 9]], author key, session or nothing, turn]``; without a session it is a person's."""
    prompts = log.get("prompts")
    for entry in _list(told):
        if not isinstance(entry, list) or len(entry) < 2:
            raise InputError("an entry that is no list of lines and an author")
        session = entry[2] if len(entry) > 2 and isinstance(entry[2], str) else None
        if session is not None and session not in authors:
            described = prompts.get(session) if isinstance(prompts, dict) else None
            author = _described(described)
            authors.update({} if author is None else {session: author})
        yield NoteEntry(PERSON if session is None else session[:KEY_SIGNS_MAX], tuple(_legacy_lines(entry[0])))


def _described(value: Json) -> LineClaim | None:
    agent = value.get("agent_id") if isinstance(value, dict) else None
    if not isinstance(agent, dict) or not isinstance(agent.get("tool"), str) or not isinstance(agent.get("id"), str):
        return None
    model = agent.get("model")
    return author_of(str(agent["tool"]), str(agent["id"]), model if isinstance(model, str) else None)


def _legacy_lines(value: Json) -> Iterator[Lines]:
    for span in _list(value):
        first, last = span if isinstance(span, list) and len(span) == 2 else (span, span)
        if type(first) is not int or type(last) is not int:
            raise InputError("lines that are no numbers")
        yield Lines(first, last)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


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


def _authors(described: Mapping[str, msgspec.Raw] | None, found: _NoteContent) -> dict[str, LineClaim]:
    authors: dict[str, LineClaim] = {}
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


def print_note(commit: str, files: Mapping[str, Mapping[LineClaim, Sequence[Lines]]]) -> bytes:
    """A note for ``commit``; the same for the same lines, so that writing it again changes nothing."""
    out: list[str] = []
    written: dict[str, dict[str, LineClaim]] = {}
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


def edit_key(author: LineClaim) -> str:
    """The key of a session's edit; git-ai draws its second half by chance, which would make every export another.

    >>> edit_key(LineClaim("cursor", "6ef2299e"))
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


def _record(edits: Mapping[str, LineClaim]) -> dict[str, Any]:
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
