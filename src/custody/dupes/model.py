"""What duplicate search speaks of: a change as it was read, its signature, and what two changes have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from custody.core.ids import CommitSha
from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.sketch.hashing import BottomSketch

# What two changes are to each other: the category, the relation, and the word that is said about them.


class Category(Enum):
    """What two changes are to each other, by the document's rules."""

    SAME_CHANGE = "SAME_CHANGE"
    SAME_FEATURE = "SAME_FEATURE"
    COMPETING_IMPLEMENTATION = "COMPETING_IMPLEMENTATION"
    RELATED = "RELATED"
    NOT_RELATED = "NOT_RELATED"


class DuplicateVerdict(Enum):
    """The word for a pair."""

    DUPLICATE = "duplicate"
    COMPETING = "competing"
    UNSURE = "related, not sure"
    NOTHING = "nothing"


class Relation(Enum):
    """What a change is to another beyond being like it."""

    BACKPORT_OF = "backport of"
    REVERT_OF = "revert of"
    RELAND_OF = "reland of"
    STACKED_ON = "stacked on"
    SUPERSET_OF = "superset of"
    SUBSET_OF = "subset of"
    ALREADY_ON_MAIN = "already on main"


NOTHING = BottomSketch(0, ())
UNCHANGED = TouchedFacts()


class Shape(Enum):
    """What a change did to a file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    RETYPED = "retyped"


@dataclass(frozen=True, slots=True)
class LineRun:
    """Lines that stood together before and after, without their line ends; ``first`` is 0 where there is none."""

    old_first: int
    new_first: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPiece:
    """What a change did to one file.

    ``opaque`` says why its lines are not shown (a binary file, a submodule, too large); then ``objects`` tells what
    became of it. ``degraded`` says why its syntax could not be read. ``before`` and ``after`` are what the changed
    lines belong to on each side.
    """

    path: str
    channel: Channel
    shape: Shape
    old_path: str | None = None
    runs: tuple[LineRun, ...] = ()
    objects: tuple[str, str] = ("", "")
    modes: tuple[int, int] = (0, 0)
    opaque: str | None = None
    degraded: str | None = None
    before: TouchedFacts = UNCHANGED
    after: TouchedFacts = UNCHANGED

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(len(run.removed) for run in self.runs)

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(len(run.added) for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDescription:
    """A change as it was read: what it did to each file, and what was said about it."""

    base: CommitSha
    head: CommitSha
    opened_ns: int
    pieces: tuple[ChangedPiece, ...]
    title: str = ""
    messages: tuple[str, ...] = ()
    author: str = ""
    commits: tuple[CommitSha, ...] = ()

    def of(self, *channels: Channel) -> tuple[ChangedPiece, ...]:
        """The pieces in these channels."""
        return tuple(piece for piece in self.pieces if piece.channel in channels)


class HashVariant(Enum):
    """In which way two exact hashes are made alike."""

    PLAIN = "plain"
    """Paths and changed lines."""
    PATH_FREE = "path-free"
    """Changed lines wherever they are: a moved change."""
    INVERTED = "inverted"
    """Of the change that would take this one back."""
    SPACELESS = "spaceless"
    """Without any white space, as ``git patch-id`` has it."""


@dataclass(frozen=True, slots=True)
class ExactKind:
    """What an exact hash covers: one channel, or with None all of them."""

    channel: Channel | None
    likeness: HashVariant

    def __str__(self) -> str:
        return f"{'whole' if self.channel is None else self.channel.value}:{self.likeness.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What is kept of a change to find it again and to compare it, in about a kilobyte.

    ``prod_hash`` and ``whole_hash`` are the starts of the exact hashes. ``minhash``, ``intent`` and ``structure`` are
    MinHash signatures of production code, tests and documents; None where the change has none. The sets are of 32-bit
    hashes. ``references`` are issues that it closes; ``commits`` are its own, ``picked`` and ``reverted`` those that
    its messages name, all by their first digits.
    """

    prod_hash: int | None = None
    whole_hash: int | None = None
    minhash: bytes | None = None
    intent: bytes | None = None
    structure: bytes | None = None
    prod_lines: BottomSketch = NOTHING
    lines: BottomSketch = NOTHING
    identifiers: BottomSketch = NOTHING
    prod_files: BottomSketch = NOTHING
    files: BottomSketch = NOTHING
    symbols: BottomSketch = NOTHING
    exports: BottomSketch = NOTHING
    imports: BottomSketch = NOTHING
    context: BottomSketch = NOTHING
    words: BottomSketch = NOTHING
    references: frozenset[int] = frozenset()
    added: int = 0
    removed: int = 0
    prod_changed: int = 0
    renamed: int = 0
    commits: frozenset[int] = frozenset()
    picked: frozenset[int] = frozenset()
    reverted: frozenset[int] = frozenset()
    is_bot: bool = False
    is_release: bool = False


@dataclass(frozen=True, slots=True)
class ChangeSketch:
    """A change ready for the index: its signature, its exact hashes, and its terms by field, each rarest-first."""

    signature: Signature
    exact: Mapping[str, str] = field(hash=False)
    terms: Mapping[str, tuple[int, ...]] = field(hash=False)


Similarities = Mapping[str, float | None]
"""Every signal by its name, from 0 to 1; None where at least one side has nothing to compare, which is no 0."""


@dataclass(frozen=True, slots=True)
class PairScore:
    """What the rules say of a pair: the document's scores under its names, the category and the rule that decided."""

    similarities: Similarities = field(hash=False)
    prod_score: float
    final_score: float
    category: Category
    rule: str


@dataclass(frozen=True, slots=True)
class ChanceTerm:
    """One line of the account of a chance: ``weight * value`` is what it adds to the log-odds."""

    name: str
    weight: float
    value: float

    @property
    def adds(self) -> float:
        """What it adds to the log-odds."""
        return self.weight * self.value


@dataclass(frozen=True, slots=True)
class DuplicateChance:
    """How likely a person would call a pair a duplicate, how sure that is, and the account of it."""

    probability: float
    low: float
    account: tuple[ChanceTerm, ...]


# An indexed change, as the index of changes returns it.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """An indexed change without its signature; ``id`` grows with the order of indexing."""

    id: int
    base: CommitSha
    head: CommitSha
    name: str
    title: str
    opened_ns: int
    on_main: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow(ChangeSummary):
    """An indexed change with its repository, its packed signature and the version that made the signature."""

    repo: str
    version: str
    signature: bytes
