"""The interface of transcript readers: what each agent's reader answers, so that ``custody import`` is one for all.

A reader finds the files, says of each line what it holds, and makes views of what was kept. It opens the files that it
is handed and nothing that is named inside them.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

from msgspec import Struct

from custody.capture.line_reader import LINE_BYTES_MAX, FileLine
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.views import View
from custody.core.wire.canonical import Json, parse
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.time import ns_from

WHOLE_BYTES_MAX = 64 << 20
"""Maximum size of a session that is one document."""

OpenedScope = Literal["session", "model"]
"""What a line is the first of: its session, or the session under another model."""

_ID = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a call changed, as it was written there, and the folder in which the call was made."""

    name: str
    cwd: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLine:
    """A line that is to be kept: its id, whose it is, its slimmed content, and what the rest of the file adds to it."""

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
    """Calls that begin on this line."""
    unless_known: bool = False
    """The line has no ids: it is kept only where nothing else told of its session."""


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that holds nothing to keep; ``known`` is False for a type that the reader has never heard of."""

    kind: str
    known: bool
    version: str | None = None


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that could not be used, or not wholly, and why."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class SubagentLaunch:
    """That a call started a subagent."""

    session: str
    subagent: str
    call: str


Starts = Mapping[tuple[str, str], str]
"""By session and subagent, the call that started it."""


LineResult = TranscriptLine | SkippedLine | LineProblem
"""What one line of a transcript turned out to be."""


class TranscriptReader(Struct, frozen=True, kw_only=True):
    """How the transcripts of one agent are found and read: its package's functions, by what they answer."""

    agent: AgentName
    """The agent's name, as everywhere in custody."""
    home: Callable[[Mapping[str, str]], Path]
    """The folder in which the agent stores all its transcripts, by the environment."""
    of_trees: Callable[[Path, Sequence[str]], list[Path]]
    """The files below that folder of sessions in one of these work trees or below it."""
    files: Callable[[Path], list[Path]]
    """The transcripts at a place, a file or a folder, at any depth; those written last come last."""
    knows: Callable[[bytes], bool]
    """Whether a file that begins with this line is one of the agent's."""
    starts: Callable[[Path, Iterable[FileLine]], Iterator[SubagentLaunch]]
    """Which calls started which subagents, as far as this file says; a first, light reading."""
    read: Callable[[Path, Iterable[FileLine], Starts], Iterator[LineResult]]
    """What each line holds, in order, in bounded memory."""
    trimmed: Callable[[dict[str, Json]], dict[str, Json]]
    """An event of this agent with what tools returned cut to size; the texts of edits stay whole."""
    views: Callable[[TranscriptEvent], tuple[View, ...]]
    """What one stored line says: a pure function of it."""
    rows: Callable[[Path], Iterator[FileLine]] | None = None
    """The rows of one of the agent's databases as lines, in the order in which ``read`` wants them."""
    in_trees: "Callable[[Sequence[str]], TranscriptReader] | None" = None
    """The reader that knows these work trees, where the agent names a folder only by a digest of its path."""


# --- lines ------------------------------------------------------------------------------------------------------------


def object_in(line: FileLine) -> dict[str, Json] | LineProblem | None:
    """The JSON object that a line is, or why it is none; None for an empty line."""
    if line.size > LINE_BYTES_MAX:
        return LineProblem(line.number, f"a line of {line.size:,} bytes is over the limit of {LINE_BYTES_MAX:,}")
    if not line.data.strip():
        return None
    try:
        value = parse(line.data)
    except InputError as error:
        return LineProblem(line.number, error.message if line.whole else f"cut off: {error.message}")
    return value if isinstance(value, dict) else LineProblem(line.number, "not a JSON object")


def read_objects(
    lines: Iterable[FileLine], read: Callable[[FileLine, dict[str, Json]], Iterator[LineResult]]
) -> Iterator[LineResult]:
    """What ``read`` makes of the object on each line, with a problem for each line that is none."""
    for line in lines:
        value = object_in(line)
        if isinstance(value, LineProblem):
            yield value
        elif value is not None:
            yield from read(line, value)


def peek_line(lines: Iterable[FileLine]) -> tuple[FileLine | None, Iterator[FileLine]]:
    """The first line, and all of them with it."""
    coming = iter(lines)
    first = next(coming, None)
    return first, coming if first is None else chain([first], coming)


def document_lines(lines: Iterable[FileLine], noun: str) -> list[bytes] | LineProblem:
    """The lines of a ``noun`` that is one document, as many as memory allows."""
    kept, size = list[bytes](), 0
    for line in lines:
        size += line.size
        if line.size > LINE_BYTES_MAX or size > WHOLE_BYTES_MAX:
            return LineProblem(line.number, f"a {noun} of this form may have {WHOLE_BYTES_MAX:,} bytes, a line fewer")
        kept.append(line.data)
    return kept


def document_in(kept: Sequence[bytes], noun: str) -> Json | LineProblem:
    """The JSON that the lines of a ``noun`` are together, or why they are none."""
    try:
        return parse(b"\n".join(kept), bytes_max=WHOLE_BYTES_MAX)
    except InputError as error:
        return LineProblem(len(kept), f"the {noun} is not whole: {error.message}")


# --- what lines say of their session ----------------------------------------------------------------------------------


class OpenedSessions:
    """The sessions that a file has told of so far, and the model that spoke last in each."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._models: dict[str, str | None] = {}

    def model(self, session: str) -> str | None:
        """The model that spoke last in a session."""
        return self._models.get(session)

    def opens(self, session: str, spoken: str | None, speaker: str | None = None) -> OpenedScope | None:
        """Whether a line is the first of its session here, or the first under another model than before.

        ``speaker``: whose last model counts, where it is not the session's own.
        """
        speaker, known = session if speaker is None else speaker, session in self._known
        if known and spoken in (None, self._models.get(speaker)):
            return None
        self._known.add(session)
        self._models[speaker] = spoken or self._models.get(speaker)
        return "model" if known else "session"


def timestamp_in(number: int, said: object) -> str | LineProblem | None:
    """The timestamp that line ``number`` has, or why it is none; None where it has no text there."""
    if not isinstance(said, str):
        return None
    try:
        ns_from(said)
    except InputError as error:
        return LineProblem(number, error.message)
    return said


def newer_version(number: int, version: str, known_major: int) -> Iterator[LineProblem]:
    """The problem that a newer major version of the agent than the reader knows wrote the line."""
    major = version.partition(".")[0]
    if major.isascii() and major.isdigit() and len(major) < 10 and int(major) > known_major:
        yield LineProblem(number, f"written by version {version[:40]}, newer than this reader knows")


def is_id(name: str) -> bool:
    """Whether a name can be stored as an id."""
    return _ID.fullmatch(name) is not None


def valid_id(name: str) -> str:
    """A name as ids may be; a longer or odder one by its digest."""
    return name if is_id(name) else digest_id(name.encode("utf-8", "surrogatepass"))


def digest_id(data: bytes) -> str:
    """The id of what has no name of its own."""
    return f"sha256-{hashlib.sha256(data).hexdigest()[:32]}"
