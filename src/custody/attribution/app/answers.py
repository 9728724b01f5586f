"""Answers about blocks of lines, before they become reports."""

from msgspec import Struct

from custody.attribution.lineage import LineOrigin
from custody.attribution.model import AttributionFinding, Grade, LineOwner, Trace, TraceAttribution
from custody.core.evidence import Signal
from custody.core.ids import CommitSha, RecordRef
from custody.core.paths import Lines

RECORDED_LIVE, IMPORTED_RECORD, NAMED_BY_COMMIT = "recorded live", "imported", "named by a commit"
EVIDENCE_SOURCES = (RECORDED_LIVE, IMPORTED_RECORD, NAMED_BY_COMMIT)
"""How it is known that an agent wrote lines, the best first: what a commit says of itself rests on no record."""

# Why nothing shows an author.
NOTHING_SHOWS = "no captured edit of this file shows this text"
BEFORE_CALLS = "this text was in the file before any captured edit of it"
OTHER_PLACE = "a captured edit of this file has this text, but at another place or time"
SAYS_LITTLE = "this text says too little to be attributed without its neighbors"
NOT_THIS_CALL = "this text appeared between two agent calls, not in one"
LAID_OUT = "an agent's call changed only the layout or punctuation of this line"
CAME_BACK = "an agent's call wrote this text, but it was gone before it appeared here between two agent calls"
BEFORE_CAPTURE = "this text is older than anything that was captured"
OF_CALLS = frozenset((OTHER_PLACE, LAID_OUT, SAYS_LITTLE))
"""Reasons that leave open whether a captured edit has the text."""


class Story(Struct, frozen=True):
    """The session and call that made a state, its model, and the grade of the evidence."""

    trace: Trace
    call: str | None
    model: str | None
    grade: Grade
    at_ns: int
    revision: CommitSha | None
    record: RecordRef


class ToolClaim(Struct, frozen=True):
    """A tool's claim that an agent wrote lines; ``producer`` is that tool, None if unnamed."""

    trace: Trace
    model: str | None
    producer: str | None
    record: RecordRef


class AuthorStatement(Struct, frozen=True):
    """A person's own statement that they wrote lines by hand."""

    person: str
    at_ns: int
    message: str | None
    record: RecordRef


class LineAnswer(Struct, frozen=True):
    """The answer about a block of lines: its finding, the agents' share, the commits that it came through.

    ``others`` are claims of the same lines for another author.
    """

    finding: AttributionFinding
    origin: LineOrigin
    trail: tuple[CommitSha | None, ...]
    story: Story | None
    model: str | None = None
    conversation: str | None = None
    others: tuple[ToolClaim, ...] = ()
    part: float = 1.0
    """The agent's share as a claim states it, used where lineage shows none."""
    statements: tuple[AuthorStatement, ...] = ()
    """People who say that they wrote the lines; beside evidence of an agent they contradict it."""

    @property
    def share(self) -> float:
        """The named agent's share of the lines."""
        return self.origin.share if self.origin.is_agent else self.part

    @property
    def owner(self) -> LineOwner:
        """Who wrote the lines."""
        if isinstance(self.finding, TraceAttribution):
            return LineOwner.MIXED if self.share < 1.0 else LineOwner.AGENT
        return LineOwner.PERSON if self._is_changed_by_person or self.statements else LineOwner.NONE

    @property
    def _is_changed_by_person(self) -> bool:
        """Return whether a record shows that a person changed what an agent wrote."""
        return self.origin.is_person and self.story is not None

    @property
    def trace(self) -> Trace | None:
        """The session that the lines come from; None if unknown."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.trace
        return self.story.trace if self.story is not None and self._is_changed_by_person else None

    @property
    def tier(self) -> int | None:
        """The tier of the evidence that an agent wrote the lines; None unless an agent did."""
        return self.finding.tier if isinstance(self.finding, TraceAttribution) else None

    @property
    def grade(self) -> Grade | None:
        """The grade of the evidence; None without evidence."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.grade
        if self.story is not None and self._is_changed_by_person:
            return self.story.grade
        return Grade.CLAIMED if self.statements else None

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals that an agent wrote them."""
        return self.finding.evidence.signals if isinstance(self.finding, TraceAttribution) else ()

    @property
    def source(self) -> str | None:
        """How an agent's authorship is known: one of ``EVIDENCE_SOURCES``; None unless an agent wrote the lines."""
        if not isinstance(self.finding, TraceAttribution):
            return None
        candidate = self.finding.candidate
        if candidate.grade is not Grade.CLAIMED:
            return RECORDED_LIVE
        return IMPORTED_RECORD if candidate.records else NAMED_BY_COMMIT

    @property
    def lines(self) -> Lines:
        """The lines that the answer is about."""
        return self.finding.segment.lines

    @property
    def call(self) -> str | None:
        """The tool call that wrote them, if known."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.call
        return None if self.story is None else self.story.call
