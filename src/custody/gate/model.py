"""What the gate speaks of: what was seen of a change, a reason, and the verdict."""

from dataclasses import dataclass
from enum import Enum

from custody.attribute.model import Grade
from custody.gate.codes import Level, Reason
from custody.model.lines import Lines


class Whose(Enum):
    """Whose lines are, as far as can be shown."""

    AGENT = "agent"
    MIXED = "mixed"
    """Partly an agent's."""
    PERSON = "person"
    """A person's whom a record names."""
    NONE = "none"
    """Nothing shows whose."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Added lines with the same answer; ``tier`` and ``grade`` say how good it is, None where that is not known."""

    lines: Lines
    whose: Whose
    tier: int | None = None
    grade: Grade | None = None


@dataclass(frozen=True, slots=True)
class Unseen:
    """That something was not looked at: why, and what to do."""

    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class AddedTo:
    """A file that the change adds lines to, and what is known of these lines."""

    path: str
    found: tuple[Stretch, ...] | Unseen


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be recorded, and when; None where that was not noted."""

    at_ns: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The state of what answers rest on: the gaps, and everything that is not as it was stored."""

    gaps: tuple[Gap, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """When a change was made, by its commits: its base, the first of them, the last of them."""

    base_ns: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that checks may look at: the files that the change adds to, its time if that can be told, the store.

    A change without ``files`` adds nothing.
    """

    files: tuple[AddedTo, ...]
    period: Period | None
    recorded: Recorded | Unseen


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level of the strictest reason, and all reasons, the strictest first."""

    level: Level
    reasons: tuple[Reason, ...]
