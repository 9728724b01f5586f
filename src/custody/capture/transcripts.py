"""The interface of transcript readers, so that ``custody import`` is the same for all agents.

A reader finds the files, returns the content of each line, and makes views of stored lines. It opens the files that it
is given, and no file that is named inside them.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field

from custody.capture.line_reader import LINE_BYTES_MAX, FileLine, read_json_object
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.views import View
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.time import parse_timestamp

WHOLE_BYTES_MAX = 64 << 20
"""Maximum size of a session that is one document."""
UNTIMED_LINES_MAX = 1_000
"""Maximum lines before the first one with a time; later lines get their times as they come."""

OpenedScope = Literal["session", "model"]
"""Whether a line is the first of its session, or the first under another model."""

_ID = lazy_pattern(r"[\x21-\x7e]{1,200}")

T = TypeVar("T", str, "str | None")


class ChangedFile(Struct, frozen=True):
    """A file that a call changed, as written, and the call's working folder."""

    name: str
    cwd: str | None


class TranscriptLine(Struct, frozen=True, kw_only=True):
    """A line to store: its id and session, its trimmed content, and what the rest of the file adds to it."""

    line: int
    id: str
    session: str
    at: str
    payload: dict[str, Json]
    version: str | None = None
    cwd: str | None = None
    calls: list[dict[str, Json]] = field(default_factory=list)
    edits: tuple[ChangedFile, ...] = ()
    commits: tuple[str, ...] = ()
    subagent: str | None = None
    parent_call: str | None = None
    opens: OpenedScope | None = None
    begun: int = 0
    """Number of calls that start on this line."""
    subagent_calls: tuple[str, ...] = ()
    """The calls of a subagent that start or end on this line."""
    is_repeated: bool = False
    """Whether the subagent's own transcript, if there is one, has the same: then it counts there."""
    unless_known: bool = False
    """The line has no ids: it is stored only if nothing else reports its session."""


class SkippedLine(Struct, frozen=True):
    """A line with nothing to store; ``known`` is False for a type that the reader does not know."""

    kind: str
    known: bool
    version: str | None = None


class LineProblem(Struct, frozen=True):
    """A line that cannot be used, or only in part, and why."""

    line: int
    what: str


class SubagentLaunch(Struct, frozen=True):
    """A call that started a subagent."""

    session: str
    subagent: str
    call: str


Starts = Mapping[tuple[str, str], str]
"""The call that started each subagent, by session and subagent."""


LineResult = TranscriptLine | SkippedLine | LineProblem
"""The result of one line of a transcript."""


class TranscriptReader(Struct, frozen=True, kw_only=True):
    """The functions of an agent's package that find and read its transcripts."""

    agent: AgentName
    """The agent's name, as everywhere in custody."""
    home: Callable[[Mapping[str, str]], Path]
    """Return the folder of the agent's transcripts, by the environment."""
    of_trees: Callable[[Path, Sequence[str]], list[Path]]
    """Return the files below that folder of sessions in or below one of these work trees."""
    files: Callable[[Path], list[Path]]
    """Return the transcripts at or below a place, last written last."""
    knows: Callable[[bytes], bool]
    """Return whether a file with this first line is one of the agent's."""
    starts: Callable[[Path, Iterable[FileLine]], Iterator[SubagentLaunch]]
    """Yield which calls started which subagents, as far as this file shows; a first, light pass."""
    read: Callable[[Path, Iterable[FileLine], Starts], Iterator[LineResult]]
    """Yield the result of each line, in order, in bounded memory."""
    trimmed: Callable[[dict[str, Json]], dict[str, Json]]
    """Return an event of this agent with long tool output cut; the texts of edits stay whole."""
    views: Callable[[TranscriptEvent], tuple[View, ...]]
    """Return the views of one stored line: a pure function of it."""
    answer: Callable[[TranscriptEvent], str | None] | None = None
    """Return what the agent itself said to a person on a stored line, for an agent whose transcripts keep it."""
    rows: Callable[[Path], Iterator[FileLine]] | None = None
    """Yield the rows of one of the agent's databases as lines, in the order that ``read`` needs."""
    in_trees: "Callable[[Sequence[str]], TranscriptReader] | None" = None
    """Return the reader for these work trees, for an agent that names a folder only by a digest of its path."""


# --- lines ------------------------------------------------------------------------------------------------------------


def parse_transcript_object(line: FileLine) -> dict[str, Json] | LineProblem | None:
    """Return the JSON object on a line, or the problem with it; None for an empty line."""
    if line.size > LINE_BYTES_MAX:
        return LineProblem(line.number, f"a line of {line.size:,} bytes is over the limit of {LINE_BYTES_MAX:,}")
    if not line.data.strip():
        return None
    try:
        value = parse_json_bytes(line.data)
    except InputError as error:
        return LineProblem(line.number, error.message if line.whole else f"cut off: {error.message}")
    return value if isinstance(value, dict) else LineProblem(line.number, "not a JSON object")


def read_transcript_objects(
    lines: Iterable[FileLine], read: Callable[[FileLine, dict[str, Json]], Iterator[LineResult]]
) -> Iterator[LineResult]:
    """Yield the result of ``read`` for the object on each line, and the problem of any other line."""
    for line in lines:
        value = parse_transcript_object(line)
        if isinstance(value, LineProblem):
            yield value
        elif value is not None:
            yield from read(line, value)


def peek_line(lines: Iterable[FileLine]) -> tuple[FileLine | None, Iterator[FileLine]]:
    """Return the first line, and all lines including it."""
    coming = iter(lines)
    first = next(coming, None)
    return first, coming if first is None else chain([first], coming)


def collect_transcript_document(lines: Iterable[FileLine], noun: str) -> list[bytes] | LineProblem:
    """Return the lines of a ``noun`` that is one document, within the limits."""
    data, size = list[bytes](), 0
    for line in lines:
        size += line.size
        if line.size > LINE_BYTES_MAX or size > WHOLE_BYTES_MAX:
            limits = f"{WHOLE_BYTES_MAX:,} bytes, and a line at most {LINE_BYTES_MAX:,}"
            return LineProblem(line.number, f"a {noun} may have at most {limits}")
        data.append(line.data)
    return data


def parse_transcript_document(lines: Sequence[bytes], noun: str) -> Json | LineProblem:
    """Return the JSON value of a ``noun`` over several lines, or why it is not JSON."""
    try:
        return parse_json_bytes(b"\n".join(lines), bytes_max=WHOLE_BYTES_MAX)
    except InputError as error:
        return LineProblem(len(lines), f"the {noun} is incomplete: {error.message}")


def read_transcript_document(
    lines: Iterable[FileLine],
    noun: str,
    read: Callable[[Json], Iterator[LineResult]],
    salvage: Callable[[Sequence[bytes]], Iterator[LineResult]],
) -> Iterator[LineResult]:
    """Yield the result of ``read`` for a ``noun`` that is one document; of a damaged one, what ``salvage`` can read."""
    data = collect_transcript_document(lines, noun)
    value = data if isinstance(data, LineProblem) else parse_transcript_document(data, noun)
    if not isinstance(value, LineProblem):
        yield from read(value)
        return
    yield value
    if not isinstance(data, LineProblem):
        yield from salvage(data)


# --- what lines say of their session ----------------------------------------------------------------------------------


class OpenedSessions:
    """The sessions of a file so far, and the last model of each."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._models: dict[str, str | None] = {}

    def model(self, session: str) -> str | None:
        """Return the last model of a session."""
        return self._models.get(session)

    def opens(self, session: str, spoken: str | None, speaker: str | None = None) -> OpenedScope | None:
        """Return whether a line is the first of its session in this file, or the first under another model.

        ``speaker`` is the key of the last model, if it is not the session.
        """
        speaker, known = session if speaker is None else speaker, session in self._known
        if known and spoken in (None, self._models.get(speaker)):
            return None
        self._known.add(session)
        self._models[speaker] = spoken or self._models.get(speaker)
        return "model" if known else "session"


def check_line_timestamp(number: int, value: object) -> str | LineProblem | None:
    """Return the timestamp of line ``number``, or the problem with it; None without a text there."""
    if not isinstance(value, str):
        return None
    try:
        parse_timestamp(value)
    except InputError as error:
        return LineProblem(number, error.message)
    return value


def update_timestamp(number: int, value: object, last: T) -> tuple[str | T, tuple[LineProblem, ...]]:
    """Return the timestamp of line ``number``, or ``last`` where it has none, and the problem with an invalid one."""
    timestamp = check_line_timestamp(number, value)
    return (last, (timestamp,)) if isinstance(timestamp, LineProblem) else (timestamp or last, ())


def find_first_timestamp(lines: Iterable[FileLine]) -> tuple[str | None, Iterator[FileLine]]:
    """Return the time of the first line that has one, and all lines including it. A file has no reliable time."""
    coming, first = iter(lines), list[FileLine]()
    for line in islice(coming, UNTIMED_LINES_MAX):
        first.append(line)
        timestamp = check_line_timestamp(line.number, read_json_object(line.data).get("timestamp"))
        if isinstance(timestamp, str):
            return timestamp, chain(first, coming)
    return None, chain(first, coming)


def find_parent_call(starts: Starts, session: str, subagent: str | None) -> str | None:
    """Return the call that started a subagent; None outside subagents, or where that is unknown."""
    return None if subagent is None else starts.get((session, subagent))


def excerpt_fields(fields: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """Return the fields with the long texts in those of these ``names`` cut."""
    return {**fields, **{name: excerpt_long_texts(fields[name]) for name in names if name in fields}}


def check_agent_version(number: int, version: str, known_major: int) -> Iterator[LineProblem]:
    """Yield a problem if the line was written by a newer major version than the reader knows."""
    major = version.partition(".")[0]
    if major.isascii() and major.isdigit() and len(major) < 10 and int(major) > known_major:
        yield LineProblem(number, f"written by version {version[:40]}, newer than this reader knows")


def is_transcript_id(name: str) -> bool:
    """Return whether a name can be stored as an id."""
    return _ID.fullmatch(name) is not None


def to_transcript_id(name: str) -> str:
    """Return a name as an id: itself if it is valid, else its digest."""
    return name if is_transcript_id(name) else transcript_id_from_digest(name.encode("utf-8", "surrogatepass"))


def transcript_id_from_digest(data: bytes) -> str:
    """Return an id for data without a name."""
    return f"sha256-{hashlib.sha256(data).hexdigest()[:32]}"
