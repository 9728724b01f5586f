"""Notes of git-ai (``refs/notes/ai``): the lines of a commit that each session wrote, as git-ai claims.

Read: ``authorship/3.0.0`` in all shapes of git-ai 1.0.17 to 1.6.24 and 2.0.0-alpha.1 (keys of sessions with and without
traces, of persons, and older keys of 16 or 7 digits or a session's own id), and the JSON before it (``0.0.1``,
``1.0.0``, ``2.0.0``; before October 2025). Written: ``authorship/3.0.0`` with sessions, as in git-ai's
``specs/git_ai_standard_v3.0.0.md``.

A note names lines of its own commit, so this module reads no file's text.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import field
from msgspec.structs import replace

from custody.capture.claims.agent_trace import MODEL_CHARS_MAX, LineClaim, compute_mixed_agent_share
from custody.core.errors import InputError
from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.canonical import Json, describe_conversion_error, parse_json_bytes

# The content of a note in any version, and the author of each line.


CUSTODY = "custody"
"""A custom attribute of every session that custody writes: a note with it in all sessions is custody's."""
UNKNOWN_MODEL = "unknown"
KEY_CHARS_MAX = 200
NAME_CHARS_MAX = 1000

TOOLS: Mapping[str, str] = MappingProxyType(
    {"claude": "claude-code", "github-copilot": "copilot", "gemini-cli": "gemini", "codex-cli": "codex"}
)
"""git-ai's names of agents that have other names in custody."""

_NAME = lazy_pattern(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_VERSION = lazy_pattern(r"authorship/([0-9]{1,4})\.[0-9.]{1,20}", re.ASCII)
_NO_MODEL = frozenset(("", UNKNOWN_MODEL, "<synthetic>"))
_PERSONS = ("h_", "human")


class NoteEntry(msgspec.Struct, frozen=True):
    """Lines of a file that a note claims for an author, by the author's key."""

    key: str
    lines: tuple[Lines, ...]

    @property
    def name(self) -> str:
        """The key of the session; the rest of the key names a single edit.

        >>> NoteEntry("s_c9883b05a2487d::t_9f8e7d6c5b4a32", ()).name
        's_c9883b05a2487d'
        """
        return self.key.partition("::")[0]

    @property
    def is_persons(self) -> bool:
        """Whether the note claims the lines for a person."""
        return self.key.startswith(_PERSONS)


class GitAiNote(msgspec.Struct, frozen=True):
    """The content of a note: entries by file in its order, the sessions that it describes, and problems."""

    version: str
    files: Mapping[str, tuple[NoteEntry, ...]]
    authors: Mapping[str, LineClaim]
    """Sessions by the key of an edit, or else by the key of the session."""
    ours: bool = False
    """Whether custody wrote all of it."""
    problems: tuple[str, ...] = ()

    def author(self, entry: NoteEntry) -> LineClaim | None:
        """Return the author with an entry's key."""
        return self.authors.get(entry.key) or self.authors.get(entry.name)


def parse_note_major_version(version: str) -> int:
    """Return the major version; raise ``InputError`` for an invalid one.

    >>> parse_note_major_version("authorship/3.0.0")
    3
    """
    shape = _VERSION.fullmatch(version)
    if shape is None:
        raise InputError(f"'{version[:40]}' is not a version of an authorship log")
    return int(shape[1])


def make_session_claim(
    tool: str, session: str, model: str | None, attributes: Mapping[str, object] | None = None
) -> LineClaim | None:
    """Return a session under custody's names; None if a name cannot be stored in a record."""
    value = (attributes or {}).get(f"{CUSTODY}.agent")
    agent = value if isinstance(value, str) else TOOLS.get(tool, tool)
    if not all(_NAME.fullmatch(name) and len(name) <= NAME_CHARS_MAX for name in (agent, session)):
        return None
    return LineClaim(agent, session, normalize_agent_model(model))


def normalize_agent_model(text: str | None) -> str | None:
    """Return a model's name; None if it is unknown."""
    name = (text or "").strip('"')
    return None if name in _NO_MODEL or not _NAME.fullmatch(name) else name[:MODEL_CHARS_MAX]


def assign_claimed_lines(entries: Sequence[NoteEntry], count: int) -> tuple[dict[str, list[Lines]], bool]:
    """Return the lines of a file with ``count`` lines by key, and whether some claimed lines do not exist.

    Of entries that claim the same line the last one counts, as in git-ai itself.

    >>> assign_claimed_lines([NoteEntry("a", (Lines(1, 4),)), NoteEntry("b", (Lines(3, 9),))], 5)
    ({'a': [Lines(first=1, last=2)], 'b': [Lines(first=3, last=5)]}, True)
    """
    whose: dict[int, str] = {}
    free = list(range(count + 2))  # for each line, a candidate for the next unclaimed line
    beyond = False
    for entry in reversed(entries):
        for lines in entry.lines:
            beyond |= lines.last > count
            number = _next_unclaimed_line(free, min(lines.first, count + 1))
            while number <= min(lines.last, count):
                whose[number] = entry.key
                free[number] = number + 1
                number = _next_unclaimed_line(free, number + 1)
    return _group_lines_by_key(whose), beyond


def _next_unclaimed_line(free: list[int], number: int) -> int:
    """Return the first unclaimed line from ``number`` on, and shorten the path to it."""
    while free[number] != number:
        free[number] = free[free[number]]
        number = free[number]
    return number


def _group_lines_by_key(whose: Mapping[int, str]) -> dict[str, list[Lines]]:
    entry: dict[str, list[Lines]] = {}
    for number, key in sorted(whose.items()):
        runs = entry.setdefault(key, [])
        if runs and runs[-1].last == number - 1:
            runs[-1] = Lines(runs[-1].first, number)
        else:
            runs.append(Lines(number, number))
    return entry


# Authorship logs of git-ai before its text format: JSON, versions 0.0.1, 1.0.0 and 2.0.0 (August to October 2025).
# ``0.0.1`` names an author by a word, a person's or a tool's; the others name persons by a key, and sessions beside it.


FIRST = "authorship/0.0.1"
"""The version of a log that names none, as the first ones did."""
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
"""Authors of 0.0.1 that are tools: it names persons and tools alike."""


def parse_legacy_git_ai_note(data: bytes) -> GitAiNote:
    """Return the content of a JSON log; raise ``InputError`` if it cannot be read."""
    value = parse_json_bytes(data, bytes_max=NOTE_BYTES_MAX)
    listed = value.get("files") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(listed, dict):
        raise InputError("not an authorship log: it has no files")
    version = value.get("schema_version", FIRST)
    if not isinstance(version, str):
        raise InputError("its version is not a text")
    files, authors, problems = dict[str, tuple[NoteEntry, ...]](), dict[str, LineClaim](), list[str]()
    read = _read_author_entries if parse_note_major_version(version) == 0 else _read_key_entries
    for path, entry in listed.items():
        try:
            entries = tuple(read(entry, value, authors))
        except InputError as error:
            problems.append(f"'{path[:KEY_CHARS_MAX]}': {error.message}")
            continue
        if entries:
            files[path] = entries
    return GitAiNote(version, files, authors, problems=tuple(problems))


def _read_author_entries(value: Json, _log: Mapping[str, Json], authors: dict[str, LineClaim]) -> Iterator[NoteEntry]:
    """Yield the entries of 0.0.1: ``{"authors": [{"author": name, "lines": [1, [3, 9]], "agent_metadata": null}]}``."""
    for author_entry in _get_note_list(value.get("authors") if isinstance(value, dict) else None):
        name = author_entry.get("author") if isinstance(author_entry, dict) else None
        if not isinstance(author_entry, dict) or not isinstance(name, str):
            raise InputError("an author without a name")
        agent = _AGENTS.get(name.casefold()) or (name if author_entry.get("agent_metadata") else None)
        author = None if agent is None else make_session_claim(agent, f"git-ai:{name}", None)
        if author is not None:
            authors[name] = author
        yield NoteEntry(PERSON if author is None else name, tuple(_parse_legacy_note_lines(author_entry.get("lines"))))


def _read_key_entries(value: Json, log: Mapping[str, Json], authors: dict[str, LineClaim]) -> Iterator[NoteEntry]:
    """Yield the entries of 1.0.0 and 2.0.0: ``[[1, [3, 9]], author key, session, turn]``; no session: a person."""
    prompts = log.get("prompts")
    for entry in _get_note_list(value):
        if not isinstance(entry, list) or len(entry) < 2:
            raise InputError("an entry is not a list of lines and an author")
        session = entry[2] if len(entry) > 2 and isinstance(entry[2], str) else None
        if session is not None and session not in authors:
            described = prompts.get(session) if isinstance(prompts, dict) else None
            author = _parse_agent_claim(described)
            authors.update({} if author is None else {session: author})
        yield NoteEntry(
            PERSON if session is None else session[:KEY_CHARS_MAX], tuple(_parse_legacy_note_lines(entry[0]))
        )


def _parse_agent_claim(value: Json) -> LineClaim | None:
    agent = value.get("agent_id") if isinstance(value, dict) else None
    if not isinstance(agent, dict) or not isinstance(agent.get("tool"), str) or not isinstance(agent.get("id"), str):
        return None
    model = agent.get("model")
    return make_session_claim(str(agent["tool"]), str(agent["id"]), model if isinstance(model, str) else None)


def _parse_legacy_note_lines(value: Json) -> Iterator[Lines]:
    for span in _get_note_list(value):
        first, last = span if isinstance(span, list) and len(span) == 2 else (span, span)
        if type(first) is not int or type(last) is not int:
            raise InputError("line numbers that are not integers")
        yield Lines(first, last)


def _get_note_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


VERSION = "authorship/3.0.0"
MAJOR = 3
DIVIDER = "---"
_MODEL = f"{CUSTODY}.model."
"""Prefix of a custom attribute with the model of one edit: a session has only one model in this format."""
_SHARE = f"{CUSTODY}.share."
"""The same for the agent's share of an edit's lines, if it is not all."""
PROBLEMS_MAX = 100

_TOOL_OF = MappingProxyType({"claude-code": "claude", "copilot": "github-copilot"})

_PART = lazy_pattern(r"0\.[0-9]{1,17}", re.ASCII)
_RANGE = lazy_pattern(r"([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?", re.ASCII)


class _Agent(msgspec.Struct, frozen=True):
    tool: str
    id: str
    model: str | None = None


class _NoteSession(msgspec.Struct, frozen=True):
    agent_id: _Agent
    custom_attributes: Any = None


class _Metadata(msgspec.Struct, frozen=True):
    """The part of the metadata that is used; conversations in older notes are skipped."""

    schema_version: str
    prompts: dict[str, msgspec.Raw] | None = None
    sessions: dict[str, msgspec.Raw] | None = None


_METADATA = msgspec.json.Decoder(_Metadata)
_DESCRIBED = msgspec.json.Decoder(_NoteSession)


# --- reading ----------------------------------------------------------------------------------------------------------


def parse_git_ai_note(data: bytes) -> GitAiNote:
    """Return the content of a note; raise ``InputError`` if it cannot be read."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from error
    if text.lstrip()[:1] == "{":
        return parse_legacy_git_ai_note(data)
    lines, more, metadata = _split_note_parts(text)
    content = _NoteContent()
    meta = _decode_note_metadata(metadata)
    newer = parse_note_major_version(meta.schema_version)
    if newer > MAJOR:
        content.problem(f"'{meta.schema_version[:40]}' is newer than {VERSION}; read as that version")
    if more:
        content.problem(f"skipped {count_noun(more, 'part')} that {VERSION} does not have")
    authors = {**_parse_note_authors(meta.prompts, content), **_parse_note_authors(meta.sessions, content)}
    files = _parse_note_files(lines, content)
    return GitAiNote(meta.schema_version, files, authors, _is_custody_note(files, content), tuple(content.problems))


class _NoteContent(msgspec.Struct):
    """State of reading a note."""

    problems: list[str] = field(default_factory=list)
    ours: set[str] = field(default_factory=set)
    """The keys of sessions that custody described."""
    others: bool = False
    """Whether another tool described anything."""

    def problem(self, what: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(what)


def _is_custody_note(files: Mapping[str, Sequence[NoteEntry]], content: _NoteContent) -> bool:
    """Return whether custody wrote the whole note: other tools add to existing notes."""
    whose = {entry.name for entries in files.values() for entry in entries}
    return bool(content.ours) and whose <= content.ours and not content.others and not content.problems


def _split_note_parts(text: str) -> tuple[list[str], int, str]:
    """Return the lines above the first divider, the number of extra parts, and the text below the last divider."""
    lines = text.split("\n")
    at = [n for n, line in enumerate(lines) if line.rstrip("\r") == DIVIDER]
    if not at:
        raise InputError(f"not an authorship log: it has no line '{DIVIDER}'")
    return [line.rstrip() for line in lines[: at[0]]], len(at) - 1, "\n".join(lines[at[-1] + 1 :])


def _decode_note_metadata(text: str) -> _Metadata:
    try:
        return _METADATA.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"its metadata cannot be read: {describe_conversion_error(error)}") from error


def _parse_note_authors(described: Mapping[str, msgspec.Raw] | None, content: _NoteContent) -> dict[str, LineClaim]:
    authors: dict[str, LineClaim] = {}
    for key, raw in (described or {}).items():
        try:
            chunk = _DESCRIBED.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            content.problem(f"session '{key[:KEY_CHARS_MAX]}' cannot be read: {describe_conversion_error(error)}")
            continue
        attributes = chunk.custom_attributes if isinstance(chunk.custom_attributes, dict) else {}
        if CUSTODY in attributes:
            content.ours.add(key)
        else:
            content.others = True
        author = make_session_claim(chunk.agent_id.tool, chunk.agent_id.id, chunk.agent_id.model, attributes)
        if author is None:
            content.problem(f"session '{key[:KEY_CHARS_MAX]}' has no valid name")
            continue
        authors[key] = author
        for edit, edit_attributes in _read_edit_attributes(attributes).items():
            model = normalize_agent_model(edit_attributes[_MODEL]) if _MODEL in edit_attributes else author.model
            authors[f"{key}::{edit}"] = replace(
                author, model=model, share=_parse_agent_share(edit_attributes.get(_SHARE))
            )
    return authors


def _read_edit_attributes(attributes: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """Return the edits of a session with attributes of their own."""
    result: dict[str, dict[str, str]] = {}
    for name, value in attributes.items():
        kind = next((kind for kind in (_MODEL, _SHARE) if name.startswith(kind)), None)
        if kind is not None and isinstance(value, str) and value:
            result.setdefault(name.removeprefix(kind), {})[kind] = value
    return result


def _parse_agent_share(text: str | None) -> float:
    if text is None:
        return 1.0
    return compute_mixed_agent_share(float(text) if _PART.fullmatch(text) else None)


def _parse_note_files(lines: Sequence[str], content: _NoteContent) -> dict[str, tuple[NoteEntry, ...]]:
    files: dict[str, list[NoteEntry]] = {}
    path: str | None = None
    for line in lines:
        if not line:
            continue
        if not line.startswith("  "):
            path = line[1:-1] if len(line) > 2 and line[0] == line[-1] == '"' else line
        elif path is None:
            content.problem("lines are claimed before any file is named")
        elif (entry := _parse_note_entry(line[2:], content)) is not None:
            files.setdefault(path, []).append(entry)
    return {path: tuple(entries) for path, entries in files.items()}


def _parse_note_entry(line: str, content: _NoteContent) -> NoteEntry | None:
    key, _, ranges = line.partition(" ")
    lines = tuple(_parse_note_ranges(ranges.split(","), content))
    return NoteEntry(key[:KEY_CHARS_MAX], lines) if key and lines else None


def _parse_note_ranges(parts: Iterable[str], content: _NoteContent) -> Iterator[Lines]:
    for part in parts:
        shape = _RANGE.fullmatch(part)
        if shape is not None and int(shape[1]) <= int(shape[2] or shape[1]):
            yield Lines(int(shape[1]), int(shape[2] or shape[1]))
        elif part:
            content.problem(f"'{part[:40]}' is not a line range")


# --- writing ----------------------------------------------------------------------------------------------------------


def render_git_ai_note(commit: str, files: Mapping[str, Mapping[LineClaim, Sequence[Lines]]]) -> bytes:
    """Return a note for ``commit``; the same lines give the same note, so writing it again changes nothing."""
    out: list[str] = []
    written: dict[str, dict[str, LineClaim]] = {}
    for path, by_author in sorted(files.items()):
        out.append(_quote_note_path(path))
        for author in sorted(by_author, key=make_session_edit_key):
            key = make_session_edit_key(author)
            out.append(f"  {key} {','.join(map(str, sorted(by_author[author])))}")
            name, _, edit = key.partition("::")
            written.setdefault(name, {})[edit] = author
    sessions = {name: _make_note_session(edits) for name, edits in written.items()}
    metadata = {"schema_version": VERSION, "base_commit_sha": commit, "prompts": {}, "sessions": sessions}
    encoded = msgspec.json.format(msgspec.json.encode(metadata, order="deterministic"), indent=2)
    return "\n".join((*out, DIVIDER, "")).encode() + encoded


def is_printable_note_path(path: str) -> bool:
    """Return whether a path can be written to a note and read back unchanged."""
    printed = _quote_note_path(path).rstrip()
    utf8 = not re.search(r"[\ud800-\udfff]", path)
    return (
        utf8
        and "\n" not in path
        and not printed.startswith("  ")
        and next(iter(_reparse_note_path(printed)), None) == path
    )


def _reparse_note_path(printed: str) -> Iterator[str]:
    yield from _parse_note_files([printed, "  a 1"], _NoteContent())


def _quote_note_path(path: str) -> str:
    odd = path == DIVIDER or path[:1] == '"' or path[:1] == "{" or any(character.isspace() for character in path)
    return f'"{path}"' if odd else path


def make_session_edit_key(author: LineClaim) -> str:
    """Return the key of a session's edit; git-ai's random second half would make every export different.

    >>> make_session_edit_key(LineClaim("cursor", "6ef2299e"))
    's_90a4429512bf1e::t_633f9c155f49d3'
    """
    part = [] if author.share == 1.0 else [str(author.share)]
    parts = (author.agent, author.session, author.call or "", author.model or "", *part)
    edit = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    tool = (
        _agent_to_git_ai_tool(author.agent) if _is_agent_name_reversible(author.agent) else f"{CUSTODY}:{author.agent}"
    )
    session = hashlib.sha256(f"{tool}:{author.session}".encode()).hexdigest()
    return f"s_{session[:14]}::t_{edit[:14]}"


def _agent_to_git_ai_tool(agent: str) -> str:
    return _TOOL_OF.get(agent, agent)


def _is_agent_name_reversible(agent: str) -> bool:
    """Return whether git-ai's name of an agent is read back as the same agent."""
    return TOOLS.get(_agent_to_git_ai_tool(agent), _agent_to_git_ai_tool(agent)) == agent


def _make_note_session(edits: Mapping[str, LineClaim]) -> dict[str, Any]:
    """Return a session's metadata in a note, with the models of its other edits and their shares."""
    first = edits[min(edits)]
    attributes = {CUSTODY: "1"}
    if not _is_agent_name_reversible(first.agent):
        attributes[f"{CUSTODY}.agent"] = first.agent
    for edit, author in edits.items():
        if author.model != first.model:
            attributes[f"{_MODEL}{edit}"] = author.model or UNKNOWN_MODEL
        if author.share < 1.0:
            attributes[f"{_SHARE}{edit}"] = str(author.share)
    agent = {"tool": _agent_to_git_ai_tool(first.agent), "id": first.session, "model": first.model or UNKNOWN_MODEL}
    return {"agent_id": agent, "human_author": None, "custom_attributes": attributes}
