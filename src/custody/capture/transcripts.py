"""The interface of transcript readers: what each agent's reader answers, so that ``custody import`` is one for all.

A reader finds the files, says of each line what it holds, and makes views of what was kept. It opens the files that it
is handed and nothing that is named inside them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from custody.capture.line_reader import LINE_BYTES_MAX, FileLine
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.views import View
from custody.core.wire.canonical import Json, parse
from custody.core.wire.event import TranscriptEvent


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
    opens: Literal["session", "model"] | None = None
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


class TranscriptReader(Protocol):
    """How the transcripts of one agent are found and read."""

    @property
    def agent(self) -> AgentName:
        """The agent's name, as everywhere in custody."""
        ...

    def home(self, environment: Mapping[str, str]) -> Path:
        """The folder in which the agent keeps all its transcripts."""
        ...

    def of_trees(self, home: Path, trees: Sequence[str]) -> list[Path]:
        """The files below ``home`` of sessions in one of these work trees or below it."""
        ...

    def files(self, place: Path) -> list[Path]:
        """The transcripts at ``place``, a file or a folder, at any depth; those written last come last."""
        ...

    def knows(self, first: bytes) -> bool:
        """Whether a file that begins with this line is one of the agent's."""
        ...

    def starts(self, file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
        """Which calls started which subagents, as far as this file says; a first, light reading."""
        ...

    def read(
        self, file: Path, lines: Iterable[FileLine], starts: Starts
    ) -> Iterator[TranscriptLine | SkippedLine | LineProblem]:
        """What each line holds, in order, in bounded memory."""
        ...

    def trimmed(self, event: dict[str, Json]) -> dict[str, Json]:
        """An event of this agent with what tools gave back cut to size; the texts of edits stay whole."""
        ...

    def views(self, event: TranscriptEvent) -> tuple[View, ...]:
        """What one kept line says: a pure function of it."""
        ...


@runtime_checkable
class DigestFolderReader(Protocol):
    """A reader whose agent names the folder of a session only by a digest of its path."""

    def in_trees(self, trees: Sequence[str]) -> TranscriptReader:
        """The reader that knows these work trees by their digests."""
        ...


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
