"""What attribution speaks of: a segment of lines, the traces that may have written it, and what was concluded."""

from dataclasses import dataclass
from enum import Enum

from custody.core.evidence import Evidence
from custody.core.ids import AgentName, CommitSha, ContentHash, RecordRef, SessionId
from custody.core.paths import Lines, RepoPath

TIERS = ("1", "2", "3", "4", "5", "6")
"""How sure an answer is, the surest first."""


class Grade(Enum):
    """How good evidence is, from a bare claim to one that somebody else vouches for."""

    CLAIMED = "claimed"
    RECORDED = "recorded"
    WITNESSED = "witnessed"
    ATTESTED = "attested"

    @property
    def standing(self) -> int:
        """Its place in the order, from 0."""
        return list(Grade).index(self)


class LineOwner(Enum):
    """Who wrote lines, as far as records show."""

    AGENT = "agent"
    MIXED = "mixed"
    """An agent wrote a part of each line."""
    PERSON = "person"
    """A person whom a record names."""
    NONE = "none"
    """No record shows who."""

    @property
    def is_agent(self) -> bool:
        """Whether an agent wrote them, wholly or in part."""
        return self in (LineOwner.AGENT, LineOwner.MIXED)


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring lines of one file that one commit introduced; ``commit`` is None while they are not committed.

    ``parent`` is the commit that it was made on top of, ``at_ns`` its author time, ``hash`` that of the lines' text.
    """

    path: RepoPath
    lines: Lines
    commit: CommitSha | None
    parent: CommitSha | None
    at_ns: int | None
    hash: ContentHash


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """What a trace says of one stretch of a file; ``level`` is where it says so: conversation, change or file."""

    level: str
    lines: Lines | None = None
    hash: ContentHash | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Who may have written lines: one agent's session, under the id that answers name it by."""

    id: str
    agent: AgentName
    session: SessionId


@dataclass(frozen=True, slots=True)
class TraceCandidate:
    """A trace that touched the segment's file, with everything that signals look at.

    ``linked``: a record says that this trace made the segment's commit. ``precedes``: its revision is an ancestor of
    that commit. ``supports``: how many of the segment's lines its own text shows; 0 where no text was captured.
    ``path``: the file that it touched, as the repository names it. ``intact``: the chain of its records was verified.
    """

    trace: Trace
    path: RepoPath
    at_ns: int | None
    revision: str | None
    entries: tuple[TraceEntry, ...]
    linked: bool = False
    precedes: bool = False
    supports: int = 0
    grade: Grade = Grade.CLAIMED
    intact: bool = False
    call: str | None = None
    records: tuple[RecordRef, ...] = ()
    link_records: tuple[RecordRef, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceAttribution:
    """The segment was written by ``candidate``'s trace, as sure as ``tier`` says."""

    segment: Segment
    candidate: TraceCandidate
    tier: int
    confidence: float
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class NoAttribution:
    """No trace can be shown to have written the segment, and why."""

    segment: Segment
    reason: str


AttributionFinding = TraceAttribution | NoAttribution
