"""The nouns of trust: decisions about an agent's changes, their effect, and the agent's score."""

from enum import Enum

from msgspec import Struct

from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import RecordRef
from custody.core.views import WitnessClaim

GATE_ACTOR = "custody gate"
"""The actor of a reservation that the gate made: it spends a budget, and gives no credit by itself."""


class UnknownAgent(InputError):
    """No decision was ever recorded about this agent."""


class FileVoucher(Struct, frozen=True):
    """A changed file, and how far recorded edits vouch for what it became."""

    path: str
    assurance: Assurance


class DecisionType(Enum):
    """What a reviewer did with a change."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"


class ChangeComplexity(Enum):
    """How hard a change is to review; the values are document 001's weights."""

    TRIVIAL = 1
    MINOR = 2
    MODERATE = 3
    MAJOR = 5
    CRITICAL = 8

    @property
    def word(self) -> str:
        """Return its name in records and rules."""
        return self.name.lower()


class TrustTier(Enum):
    """What a score allows, from nothing to the most."""

    UNTRUSTED = "untrusted"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    VERIFIED = "verified"

    @property
    def rank(self) -> int:
        """Return its place in the order, from 0."""
        return list(TrustTier).index(self)


class ChangeStakes(Struct, frozen=True):
    """How much was at stake in a decision; None where unknown."""

    complexity: ChangeComplexity | None = None
    lines: int | None = None
    review_ms: int | None = None


class DecisionEntry(Struct, frozen=True):
    """A decision about a change; ``reverts`` is the id of the decision whose change it reverts.

    ``unreviewed``: the change was merged by rule, without review. ``head`` is the commit that the rule judged,
    ``commit`` the merged commit, where they differ. ``opened_ns`` is when the change was proposed, ``patch`` its patch
    identity, ``agent_lines`` how many added lines the agent wrote; None where unknown. Without ``is_review`` it is
    not one of the reviews that an agent needs.
    """

    id: str
    at_ns: int
    record: RecordRef
    decision: DecisionType
    stakes: ChangeStakes = ChangeStakes()
    actor: str | None = None
    reason: str | None = None
    commit: str | None = None
    reverts: str | None = None
    unreviewed: bool = False
    head: str | None = None
    model: str | None = None
    operator: str | None = None
    areas: tuple[str, ...] = ()
    opened_ns: int | None = None
    patch: str | None = None
    agent_lines: int | None = None
    witness: WitnessClaim | None = None
    is_review: bool = True

    @property
    def names(self) -> frozenset[str]:
        """Return the commits that it is about."""
        return frozenset(name for name in (self.commit, self.head) if name is not None)


class DecisionOverride(Struct, frozen=True):
    """A correction: the decision with the id ``target`` should have been ``decision``.

    ``commit``, ``stakes``, ``patch`` and ``agent_lines`` are those of the change, as the correction states them.
    """

    id: str
    at_ns: int
    record: RecordRef
    target: str
    decision: DecisionType
    actor: str | None = None
    reason: str | None = None
    witness: WitnessClaim | None = None
    commit: str | None = None
    stakes: ChangeStakes = ChangeStakes()
    patch: str | None = None
    agent_lines: int | None = None


class RecoveryEntry(Struct, frozen=True):
    """A recovery: a person raised the agent's score by ``boost``."""

    id: str
    at_ns: int
    record: RecordRef
    boost: float
    actor: str | None = None
    reason: str | None = None


Entry = DecisionEntry | DecisionOverride | RecoveryEntry

Order = tuple[int, RecordRef]
"""The sort key of entries: their time, then their record."""


class CurrentModel(Struct, frozen=True):
    """The model that an agent runs now, None where unknown; decisions about other models count for less."""

    model: str | None


class ScoreState(Struct, frozen=True):
    """The score of an agent right after an entry: ``score`` as of ``since_ns``; it decays from then on.

    ``active_ns`` is the time of its last decision, ``recovered_ns`` of its last recovery. ``inherited`` counts
    decisions about other models. ``earned`` is the score without the gain from inactivity: it decays down and never up;
    None where it equals the score. ``unsampled`` counts rejections that only lower the score.
    """

    score: float
    since_ns: int | None = None
    active_ns: int | None = None
    recovered_ns: int | None = None
    accepted: int = 0
    modified: int = 0
    rejected: int = 0
    inherited: int = 0
    earned: float | None = None
    unsampled: int = 0

    @property
    def samples(self) -> int:
        """Return the number of decisions that count as reviews."""
        return self.accepted + self.modified + self.rejected - self.unsampled

    def idle_ns(self, now_ns: int) -> int:
        """Return how long the score has decayed; 0 without decisions, or if the clock was set back."""
        return 0 if self.since_ns is None else max(0, now_ns - self.since_ns)


class FoldState(Struct, frozen=True):
    """The state of a fold after its last entry: all that the next entry needs.

    ``waiting`` are approvals without review that do not count yet, the oldest first.
    """

    state: ScoreState
    waiting: tuple[DecisionEntry, ...] = ()
    last: Order | None = None


class ScoreStep(Struct, frozen=True):
    """The effect of one entry: the decayed score before it, the score after it, and the size of the step.

    ``decision`` is the one that counts, after overrides; None for other entries. ``weight`` and ``size`` are None where
    nothing was weighed. ``notes`` say why an entry does not count. An approval without review has a second step when it
    settles, at ``settled_ns``.
    """

    entry: Entry
    before: float
    after: float
    counts: bool
    decision: DecisionType | None = None
    weight: float | None = None
    size: float | None = None
    notes: tuple[str, ...] = ()
    settled_ns: int | None = None

    @property
    def at_ns(self) -> int:
        """Return the time of the step."""
        return self.entry.at_ns if self.settled_ns is None else self.settled_ns


class Account(Struct, frozen=True):
    """Every entry about an agent in order with its effect, and the resulting score."""

    steps: tuple[ScoreStep, ...]
    state: ScoreState


class Trust(Struct, frozen=True):
    """The trust in an agent at one time: its decayed score and what follows from it.

    ``earned`` is the score if inactivity could only lower it.
    """

    score: float
    tier: TrustTier
    confidence: float
    meaningful: bool
    state: ScoreState
    earned: float


class ReviewRequirement(Enum):
    """Why a change may not merge without review, by code."""

    UNKNOWN = "TRUST-UNKNOWN"
    UNTRUSTED = "TRUST-UNTRUSTED"
    SAMPLES = "TRUST-SAMPLES"
    IDLE = "TRUST-IDLE"
    SIZE = "TRUST-SIZE"
    BUDGET = "TRUST-BUDGET"
    PATH = "TRUST-PATH"
    KIND = "TRUST-KIND"
    SELF = "TRUST-SELF"
    REJECTED = "TRUST-REJECTED"
    LOG = "TRUST-LOG"
    CLOCK = "TRUST-CLOCK"
    CHANCE = "TRUST-CHANCE"
    AUDIT = "TRUST-AUDIT"


class ReviewReason(Struct, frozen=True):
    """One reason for a review: its code, and a sentence."""

    code: ReviewRequirement
    sentence: str


class ChangeAuthor(Struct, frozen=True):
    """An agent that wrote lines of the change: its name, its model, and its operator."""

    agent: str
    model: str | None = None
    operator: str | None = None


class Approval(Struct, frozen=True, eq=False):
    """Whether a change may merge without review; true without reasons against it.

    It compares and prints like a bool, as document 001 specifies. ``assurance`` says who vouches for the decisions that
    it rests on, where that is known.
    """

    against: tuple[ReviewReason, ...] = ()
    assurance: Assurance | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against it, as sentences."""
        return tuple(reason.sentence for reason in self.against)

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of the reasons against it."""
        return tuple(reason.code.value for reason in self.against)

    def __bool__(self) -> bool:
        return not self.against

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Approval):
            return self.against == other.against
        return bool(self) == other

    def __hash__(self) -> int:
        return hash(bool(self))

    def __str__(self) -> str:
        return str(bool(self))
