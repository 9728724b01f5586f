"""What is known of a stretch of lines, before it is put into words."""

from dataclasses import dataclass

from custody.attribution.lineage import LineOrigin
from custody.attribution.model import AttributionFinding, Grade, Trace, TraceAttribution
from custody.core.ids import CommitSha, RecordRef
from custody.core.lines import Lines


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
    def lines(self) -> Lines:
        """Which lines."""
        return self.finding.segment.lines

    @property
    def call(self) -> str | None:
        """The tool call that wrote them, if one is shown."""
        if isinstance(self.finding, TraceAttribution):
            return self.finding.candidate.call
        return None if self.story is None else self.story.call
