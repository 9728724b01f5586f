"""What the gate speaks of: what was seen of a change, a reason, and the verdict."""

from dataclasses import dataclass

from custody.attribution import Grade, LineOwner
from custody.cite import Finding
from custody.core.lines import Lines
from custody.dupes import Category, DuplicateVerdict
from custody.gate.codes import Reason, VerdictLevel
from custody.ledger.gap import RecordingGap
from custody.trust import Approval, ChangeAuthor
from custody.workspace.period import ChangePeriod


@dataclass(frozen=True, slots=True)
class AddedRange:
    """Added lines with the same answer; ``tier`` and ``grade`` say how good it is, None where that is not known.

    ``author`` is the agent that wrote them, wholly or in part; None where that is not known, or it was none.
    """

    lines: Lines
    whose: LineOwner
    tier: int | None = None
    grade: Grade | None = None
    author: ChangeAuthor | None = None


@dataclass(frozen=True, slots=True)
class MissingEvidence:
    """That something was not looked at: why, and what to do."""

    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that the change adds lines to, and what is known of these lines."""

    path: str
    found: tuple[AddedRange, ...] | MissingEvidence


@dataclass(frozen=True, slots=True)
class RecordState:
    """The state of what answers rest on: the gaps, and everything that is not as it was stored."""

    gaps: tuple[RecordingGap, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """Whether an agent's record lets the change land without review."""

    author: ChangeAuthor
    approval: Approval


@dataclass(frozen=True, slots=True)
class SimilarChange:
    """Another change that this one is like: its name for people, and what is said about the two."""

    name: str
    says: DuplicateVerdict
    category: Category
    why: str


@dataclass(frozen=True, slots=True)
class ChangeText:
    """A text that the change brings (a document, a message, its description), and what its citations lack."""

    name: str
    lacks: tuple[Finding, ...] | MissingEvidence
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class CallsBeforeEdit:
    """What an agent called before it changed a risky file: how usual that is (a geometric mean), and the calls."""

    path: str
    session: str
    chance: float
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Everything that checks may look at: the files that the change adds to, its time if that can be told, the store.

    A change without ``files`` adds nothing. ``recorded`` is None where nothing was ever recorded. ``trust`` has an
    answer for every agent that wrote added lines. ``twins`` are changes that should not land beside this one; None when
    they were not to be looked for. ``texts`` are those that cite, or should; empty too when nobody was to look.
    ``befores`` are what agents called before they changed risky files; None when nobody was to look. ``policy`` says
    which rules the change sets anew.
    """

    files: tuple[FileAdditions, ...]
    period: ChangePeriod | None
    recorded: RecordState | MissingEvidence | None
    trust: tuple[TrustAnswer, ...] | MissingEvidence = ()
    twins: tuple[SimilarChange, ...] | MissingEvidence | None = None
    texts: tuple[ChangeText, ...] = ()
    befores: tuple[CallsBeforeEdit, ...] | MissingEvidence | None = None
    policy: tuple[str, ...] = ()

    @property
    def ranges(self) -> list[tuple[str, AddedRange]]:
        """The added lines of every file that could be read, each range with the path of its file."""
        return [
            (file.path, added)
            for file in self.files
            if not isinstance(file.found, MissingEvidence)
            for added in file.found
        ]


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The level of the strictest reason, and all reasons, the strictest first."""

    level: VerdictLevel
    reasons: tuple[Reason, ...]
