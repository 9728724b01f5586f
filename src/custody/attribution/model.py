"""Segments of lines, the traces that may have written them, and findings."""

from enum import Enum

from msgspec import Struct

from custody.core.evidence import Evidence
from custody.core.ids import AgentName, CommitSha, ContentHash, RecordRef, SessionId
from custody.core.paths import Lines, RepoPath, format_lines

TIERS = ("1", "2", "3", "4", "5", "6")
"""Names of the tiers, the surest first."""


class Grade(Enum):
    """The quality of evidence, from a bare claim to a third party's attestation."""

    CLAIMED = "claimed"
    RECORDED = "recorded"
    WITNESSED = "witnessed"
    ATTESTED = "attested"

    @property
    def standing(self) -> int:
        """Its rank from 0, the weakest."""
        return list(Grade).index(self)


CERTAIN, STRONG, LIKELY, WEAK, UNKNOWN = "certain", "strong", "likely", "weak", "unknown"
CERTAINTIES = (CERTAIN, STRONG, LIKELY, WEAK, UNKNOWN)
"""How certain an attribution is, in the words that people read, the most certain first."""
_CERTAIN_TIER_MAX, _STRONG_TIER_MAX = 2, 4


def format_certainty(tier: int | None, grade: "Grade | None", *, is_person: bool = False) -> str:
    """Return how certain an attribution is: by its tier, and by whether it was recorded live.

    What is imported or known only from a person's own account is likely at most.

    >>> format_certainty(1, Grade.RECORDED), format_certainty(3, Grade.RECORDED), format_certainty(1, Grade.CLAIMED)
    ('certain', 'strong', 'likely')
    >>> format_certainty(5, Grade.RECORDED), format_certainty(None, None)
    ('weak', 'unknown')
    >>> format_certainty(1, Grade.RECORDED, is_person=True)
    'likely'
    """
    if grade is None and not is_person:
        return UNKNOWN
    if tier is not None and tier > _STRONG_TIER_MAX:
        return WEAK
    if is_person or grade is Grade.CLAIMED:
        return LIKELY
    return CERTAIN if tier is not None and tier <= _CERTAIN_TIER_MAX else STRONG


class LineOwner(Enum):
    """The kind of author of lines, as far as records show."""

    AGENT = "agent"
    MIXED = "mixed"
    """An agent wrote a part of each line."""
    PERSON = "person"
    """A record names a person."""
    NONE = "none"
    """No record shows the author."""

    @property
    def is_agent(self) -> bool:
        """Whether an agent wrote them wholly or partly."""
        return self in (LineOwner.AGENT, LineOwner.MIXED)


class Segment(Struct, frozen=True):
    """Adjacent lines of one file that one commit introduced; ``commit`` is None while they are not committed.

    ``parent`` is the commit's first parent, ``at_ns`` its author time, ``hash`` the hash of the lines' text.
    """

    path: RepoPath
    lines: Lines
    commit: CommitSha | None
    parent: CommitSha | None
    at_ns: int | None
    hash: ContentHash


class RecordedPlace(Struct, frozen=True):
    """The file and lines of a captured edit, as recorded; without ``lines`` where only a piece of the file is known."""

    path: RepoPath
    lines: tuple[Lines, ...]

    def __str__(self) -> str:
        """Return the place as a sentence names it."""
        return f"'{self.path.display}', {format_lines(self.lines)}" if self.lines else f"'{self.path.display}'"


class TraceEntry(Struct, frozen=True):
    """One line range or hash in a trace; ``level`` is its level in the trace: conversation, change or file.

    ``recorded`` is the place where captured text had these lines, which may have moved since.
    """

    level: str
    lines: Lines | None = None
    hash: ContentHash | None = None
    recorded: RecordedPlace | None = None


class Trace(Struct, frozen=True):
    """A possible author of lines: one agent's session, under the id that answers use."""

    id: str
    agent: AgentName
    session: SessionId


class TraceCandidate(Struct, frozen=True):
    """A trace that touched the segment's file, with the input of all signals.

    ``linked``: a record states that this trace made the segment's commit. ``precedes``: its revision is an ancestor of
    that commit. ``supports``: how many of the segment's lines its own text shows; 0 without captured text.
    ``path``: the touched file's path in the repository. ``named``: the path as the trace has it, which may be longer.
    ``intact``: the chain of its records was verified.
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
    named: RepoPath | None = None


class TraceAttribution(Struct, frozen=True):
    """The finding that ``candidate``'s trace wrote the segment, with its tier and evidence."""

    segment: Segment
    candidate: TraceCandidate
    tier: int
    confidence: float
    evidence: Evidence


class NoAttribution(Struct, frozen=True):
    """The finding that no trace is shown to have written the segment, with the reason."""

    segment: Segment
    reason: str


AttributionFinding = TraceAttribution | NoAttribution
