"""What trust speaks of: decisions about an agent's changes, what each of them did, and where the agent stands."""

from dataclasses import dataclass
from enum import Enum

from custody.core.errors import InputError
from custody.core.ids import RecordRef


class UnknownAgent(InputError):
    """Nothing was ever decided about this agent."""


class DecisionType(Enum):
    """What a reviewer did with a change."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"


class ChangeComplexity(Enum):
    """How much a change asks of a reviewer; the values are document 001's weights."""

    TRIVIAL = 1
    MINOR = 2
    MODERATE = 3
    MAJOR = 5
    CRITICAL = 8

    @property
    def word(self) -> str:
        """Its name in records and rules."""
        return self.name.lower()


class TrustTier(Enum):
    """What a score allows, from nothing to the most."""

    UNTRUSTED = "untrusted"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    VERIFIED = "verified"

    @property
    def standing(self) -> int:
        """Its place in the order, from 0."""
        return list(TrustTier).index(self)


@dataclass(frozen=True, slots=True)
class ChangeStakes:
    """How much a decision was about; None where nobody said."""

    complexity: ChangeComplexity | None = None
    lines: int | None = None
    review_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision about a change; ``reverts`` is the id of the decision whose change it takes back.

    ``unreviewed``: the change landed because a rule said so, and nobody looked. ``head`` is the commit that the rule
    judged, ``commit`` the one that it became, where they differ. ``opened_ns`` is when the change was proposed.
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

    @property
    def names(self) -> frozenset[str]:
        """The commits that it is about."""
        return frozenset(name for name in (self.commit, self.head) if name is not None)


@dataclass(frozen=True, slots=True)
class DecisionOverride:
    """That the decision with the id ``target`` was wrong and should have been ``decision``."""

    id: str
    at_ns: int
    record: RecordRef
    target: str
    decision: DecisionType
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RecoveryEntry:
    """That somebody lifted the agent's score by ``boost``."""

    id: str
    at_ns: int
    record: RecordRef
    boost: float
    actor: str | None = None
    reason: str | None = None


Entry = DecisionEntry | DecisionOverride | RecoveryEntry

Order = tuple[int, RecordRef]
"""What entries are sorted by: when, and for those of one moment their place."""


@dataclass(frozen=True, slots=True)
class CurrentModel:
    """The model that an agent runs now, None where that is not known: decisions about another one count for less."""

    model: str | None


@dataclass(frozen=True, slots=True)
class TrustStanding:
    """Where an agent stands right after an entry: ``score`` as of ``since_ns``, from which on it fades.

    ``active_ns`` is its last decision; ``recovered_ns`` its last recovery, which is no activity. ``inherited`` of its
    decisions were about another model than the one that was asked about. ``earned`` is the score without what silence
    gave: it fades down and never up; None where it is the score itself.
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

    @property
    def samples(self) -> int:
        """How many decisions count."""
        return self.accepted + self.modified + self.rejected

    def idle_ns(self, now_ns: int) -> int:
        """How long the score has been fading; 0 where it does not fade, or the clock was set back."""
        return 0 if self.since_ns is None else max(0, now_ns - self.since_ns)


@dataclass(frozen=True, slots=True)
class FoldState:
    """Where a fold stands after its last entry: all that the next entry needs of what came before.

    ``waiting`` are approvals without review that do not count yet, the oldest first.
    """

    standing: TrustStanding
    waiting: tuple[DecisionEntry, ...] = ()
    last: Order | None = None


@dataclass(frozen=True, slots=True)
class ScoreStep:
    """What one entry did: the score as it had faded until then, the score after it, and how large a step it took.

    ``decision`` is the one that counts, an override included; None for what is no decision. ``weight`` and ``size`` are
    None where nothing was weighed; an entry that does not count says why in ``notes``. An approval without review has a
    second step when it settles, at ``settled_ns``.
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
        """When it was taken."""
        return self.entry.at_ns if self.settled_ns is None else self.settled_ns


@dataclass(frozen=True, slots=True)
class Account:
    """Every entry about an agent in order with what it did, and where that leaves the agent."""

    steps: tuple[ScoreStep, ...]
    standing: TrustStanding


@dataclass(frozen=True, slots=True)
class Trust:
    """An agent as of one moment: its score with the fading until then, and what that means.

    ``earned`` is what the score would be had silence only ever taken trust away.
    """

    score: float
    tier: TrustTier
    confidence: float
    meaningful: bool
    standing: TrustStanding
    earned: float


class ReviewRequirement(Enum):
    """Why a change may not land without review, by code."""

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


@dataclass(frozen=True, slots=True)
class ReviewReason:
    """One reason for a review: its code, and a sentence."""

    code: ReviewRequirement
    sentence: str


@dataclass(frozen=True, slots=True)
class ChangeAuthor:
    """An agent that wrote a part of the change, as attribution tells it: by its name, its model, and who runs it."""

    agent: str
    model: str | None = None
    operator: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Approval:
    """Whether a change may land without review; true when there is no reason against it.

    It compares and prints like the bool that the document speaks of.
    """

    against: tuple[ReviewReason, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is against it, in sentences."""
        return tuple(reason.sentence for reason in self.against)

    @property
    def codes(self) -> tuple[str, ...]:
        """The same, by code."""
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
