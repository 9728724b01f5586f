"""What trust speaks of: decisions about an agent's changes, what each of them did, and where the agent stands."""

from dataclasses import dataclass
from enum import Enum

from custody.model.errors import InputError
from custody.model.ids import RecordRef


class UnknownAgent(InputError):
    """Nothing was ever decided about this agent."""


class DecisionType(Enum):
    """What a reviewer did with a change."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"


class ChangeComplexity(Enum):
    """How much a change asks of a reviewer; the values are document 001's, the weights in force are the rules'."""

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
class Stakes:
    """How much a decision was about; None where nobody said."""

    complexity: ChangeComplexity | None = None
    lines: int | None = None
    review_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision about a change; ``reverts`` is the id of the decision whose change it takes back."""

    id: str
    at_ns: int
    record: RecordRef
    decision: DecisionType
    stakes: Stakes = Stakes()
    actor: str | None = None
    reason: str | None = None
    commit: str | None = None
    reverts: str | None = None


@dataclass(frozen=True, slots=True)
class Overridden:
    """That the decision with the id ``target`` was wrong and should have been ``decision``."""

    id: str
    at_ns: int
    record: RecordRef
    target: str
    decision: DecisionType
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """That somebody lifted the agent's score by ``boost``."""

    id: str
    at_ns: int
    record: RecordRef
    boost: float
    actor: str | None = None
    reason: str | None = None


Entry = Decided | Overridden | Recovered


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an agent stands right after an entry: ``score`` as of ``since_ns``, from which on it fades.

    ``active_ns`` is its last decision; ``recovered_ns`` its last recovery, which is no activity.
    """

    score: float
    since_ns: int | None = None
    active_ns: int | None = None
    recovered_ns: int | None = None
    accepted: int = 0
    modified: int = 0
    rejected: int = 0

    @property
    def samples(self) -> int:
        """How many decisions count."""
        return self.accepted + self.modified + self.rejected


@dataclass(frozen=True, slots=True)
class Step:
    """What one entry did: the score as it had faded until then, the score after it, and how large a step it took.

    ``decision`` is the one that counts, an override included; None for what is no decision. ``weight`` and ``size`` are
    None where nothing was weighed; an entry that does not count says why in ``notes``.
    """

    entry: Entry
    before: float
    after: float
    counts: bool
    decision: DecisionType | None = None
    weight: float | None = None
    size: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """Every entry about an agent in order with what it did, and where that leaves the agent."""

    steps: tuple[Step, ...]
    standing: Standing


@dataclass(frozen=True, slots=True)
class Trust:
    """An agent as of one moment: its score with the fading until then, and what that means."""

    score: float
    tier: TrustTier
    confidence: float
    meaningful: bool
    standing: Standing


@dataclass(frozen=True, slots=True, eq=False)
class Approval:
    """Whether a change may land without review; true when there is no reason against it.

    It compares and prints like the bool that the document speaks of.
    """

    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.reasons

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Approval):
            return self.reasons == other.reasons
        return bool(self) == other

    def __hash__(self) -> int:
        return hash(bool(self))

    def __str__(self) -> str:
        return str(bool(self))
