"""What is known of a stretch of lines, before it is put into words."""

from dataclasses import dataclass

from custody.attribution.lineage import LineOrigin
from custody.attribution.model import AttributionFinding, Grade, LineOwner, Trace, TraceAttribution
from custody.core.evidence import Signal
from custody.core.ids import CommitSha, RecordRef
from custody.core.paths import Lines


@dataclass(frozen=True, slots=True)
class Story:
    """Who stands behind a state: the session, the call, its model, and how good the evidence is."""

    trace: Trace
    call: str | None
    model: str | None
    grade: Grade
    at_ns: int
    revision: CommitSha | None
    record: RecordRef


@dataclass(frozen=True, slots=True)
class ToolClaim:
    """That a tool says that an agent wrote lines; ``producer`` is that tool, None where it does not say so."""

    trace: Trace
    model: str | None
    producer: str | None
    record: RecordRef


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """What is known of a stretch of lines: its finding, the agents' share, the path through commits.

    ``others`` claim the same lines beside whoever is named.
    """

    finding: AttributionFinding
    origin: LineOrigin
    trail: tuple[CommitSha | None, ...]
    story: Story | None
    model: str | None = None
    conversation: str | None = None
    others: tuple[ToolClaim, ...] = ()
    part: float = 1.0
    """How much of the lines a claim gives to the agent, where nothing else says it."""

    @property
    def share(self) -> float:
        """How much of the lines is the agent's who is named."""
        return self.origin.share if self.origin.is_agent else self.part

    @property
    def owner(self) -> LineOwner:
        """Who wrote the lines."""
        if isinstance(self.finding, TraceAttribution):
            return LineOwner.MIXED if self.share < 1.0 else LineOwner.AGENT
        return LineOwner.PERSON if self.origin.is_person and self.story is not None else LineOwner.NONE

    @property
    def trace(self) -> Trace | None:
        """The session that the lines come from; None where no record shows who wrote them."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.trace
        return self.story.trace if self.story is not None and self.owner is LineOwner.PERSON else None

    @property
    def tier(self) -> int | None:
        """How sure it is that an agent wrote them; None where none is shown to have."""
        return self.finding.tier if isinstance(self.finding, TraceAttribution) else None

    @property
    def grade(self) -> Grade | None:
        """How good the evidence is; None where there is none."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.grade
        return self.story.grade if self.story is not None and self.owner is LineOwner.PERSON else None

    @property
    def signals(self) -> tuple[Signal, ...]:
        """What shows that an agent wrote them."""
        return self.finding.evidence.signals if isinstance(self.finding, TraceAttribution) else ()

    @property
    def lines(self) -> Lines:
        """Which lines."""
        return self.finding.segment.lines

    @property
    def call(self) -> str | None:
        """The tool call that wrote them, if one is shown."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.call
        return None if self.story is None else self.story.call
