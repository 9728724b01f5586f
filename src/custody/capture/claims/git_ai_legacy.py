"""Authorship logs of git-ai before its text format: JSON, versions 0.0.1, 1.0.0 and 2.0.0 (August to October 2025).

``0.0.1`` names an author by a word, a person's or a tool's; the others name persons by a key and sessions beside it.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from custody.capture.claims.git_ai_note import KEY_SIGNS_MAX, GitAiNote, NoteAuthor, NoteEntry, author_of, major_of
from custody.core.errors import InputError
from custody.core.lines import Lines
from custody.core.wire.canonical import Json, parse

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
    files, authors, problems = dict[str, tuple[NoteEntry, ...]](), dict[str, NoteAuthor](), list[str]()
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


def _read_author_entries(told: Json, _log: Mapping[str, Json], authors: dict[str, NoteAuthor]) -> Iterator[NoteEntry]:
    """0.0.1: ``{"authors": [{"author": name, "lines": [1, [3, 9]], "agent_metadata": null}]}``."""
    for author_entry in _list(told.get("authors") if isinstance(told, dict) else None):
        name = author_entry.get("author") if isinstance(author_entry, dict) else None
        if not isinstance(author_entry, dict) or not isinstance(name, str):
            raise InputError("an author without a name")
        agent = _AGENTS.get(name.casefold()) or (name if author_entry.get("agent_metadata") else None)
        author = None if agent is None else author_of(agent, f"git-ai:{name}", None)
        if author is not None:
            authors[name] = author
        yield NoteEntry(PERSON if author is None else name, tuple(_lines(author_entry.get("lines"))))


def _of_keys(told: Json, log: Mapping[str, Json], authors: dict[str, NoteAuthor]) -> Iterator[NoteEntry]:
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
        yield NoteEntry(PERSON if session is None else session[:KEY_SIGNS_MAX], tuple(_lines(entry[0])))


def _described(value: Json) -> NoteAuthor | None:
    agent = value.get("agent_id") if isinstance(value, dict) else None
    if not isinstance(agent, dict) or not isinstance(agent.get("tool"), str) or not isinstance(agent.get("id"), str):
        return None
    model = agent.get("model")
    return author_of(str(agent["tool"]), str(agent["id"]), model if isinstance(model, str) else None)


def _lines(value: Json) -> Iterator[Lines]:
    for span in _list(value):
        first, last = span if isinstance(span, list) and len(span) == 2 else (span, span)
        if type(first) is not int or type(last) is not int:
            raise InputError("lines that are no numbers")
        yield Lines(first, last)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
