"""Nouns of duplicate search: changes, signatures, scores, verdicts and relations of pairs."""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.core.paths import Hunk
from custody.core.structs import hash_struct
from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.sketch.hashing import EMPTY_SKETCH, BottomSketch


class Category(Enum):
    """How two changes relate by the rules of document 002."""

    SAME_CHANGE = "SAME_CHANGE"
    SAME_FEATURE = "SAME_FEATURE"
    COMPETING_IMPLEMENTATION = "COMPETING_IMPLEMENTATION"
    RELATED = "RELATED"
    NOT_RELATED = "NOT_RELATED"


class DuplicateVerdict(Enum):
    """The verdict about a pair."""

    DUPLICATE = "duplicate"
    COMPETING = "competing"
    EXPLAINED = "explained"
    """A relation explains why the two are similar, or a person denied that they are duplicates."""
    UNSURE = "related, not sure"
    NOTHING = "nothing"


class Relation(Enum):
    """How a change relates to another beyond similarity; each has a name in both directions."""

    MERGE_OF = "merge of"
    MERGED_AS = "already merged as"
    STACKED_ON = "stacked on"
    BASE_OF = "base of"
    REVERT_OF = "revert of"
    REVERTED_BY = "reverted by"
    RELAND_OF = "reland of"
    RELANDED_AS = "relanded as"
    BACKPORT_OF = "backport of"
    BACKPORTED_AS = "backported as"
    REPLACES = "replaces"
    REPLACED_BY = "replaced by"
    SUPERSET_OF = "superset of"
    SUBSET_OF = "subset of"
    SERIES_WITH = "in a series with"
    SHARES_COMMITS = "shares commits with"

    @property
    def reverse(self) -> "Relation":
        """The same relation as the other change has it."""
        return _REVERSES.get(self, self)


_REVERSES = {
    relation: reverse
    for forth, back in (
        (Relation.MERGE_OF, Relation.MERGED_AS),
        (Relation.STACKED_ON, Relation.BASE_OF),
        (Relation.REVERT_OF, Relation.REVERTED_BY),
        (Relation.RELAND_OF, Relation.RELANDED_AS),
        (Relation.BACKPORT_OF, Relation.BACKPORTED_AS),
        (Relation.REPLACES, Relation.REPLACED_BY),
        (Relation.SUPERSET_OF, Relation.SUBSET_OF),
    )
    for relation, reverse in ((forth, back), (back, forth))
}


UNCHANGED = TouchedFacts()


class Shape(Enum):
    """What a change did to a file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    RETYPED = "retyped"


class ChangedPiece(Struct, frozen=True, kw_only=True):
    """What a change did to one file.

    ``opaque`` says why its lines are not compared (a binary file, a submodule, too large); ``objects`` are its blobs.
    ``degraded`` says why its syntax could not be parsed. ``before`` and ``after`` are the facts that the changed lines
    belong to on each side.
    """

    path: str
    channel: Channel
    shape: Shape
    old_path: str | None = None
    runs: tuple[Hunk[str], ...] = ()
    objects: tuple[str, str] = ("", "")
    modes: tuple[int, int] = (0, 0)
    opaque: str | None = None
    degraded: str | None = None
    before: TouchedFacts = UNCHANGED
    after: TouchedFacts = UNCHANGED

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(len(run.removed) for run in self.runs)

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(len(run.added) for run in self.runs)


class ChangeDescription(Struct, frozen=True, kw_only=True):
    """A change as read from git: its files, messages and commits."""

    base: CommitSha
    head: CommitSha
    opened_ns: int
    pieces: tuple[ChangedPiece, ...]
    title: str = ""
    messages: tuple[str, ...] = ()
    author: str = ""
    commits: tuple[CommitSha, ...] = ()
    origins: tuple[str, ...] = ()
    """Author, time and subject of its commits: an amended, rebased or picked commit keeps them."""

    def select_channels(self, *channels: Channel) -> tuple[ChangedPiece, ...]:
        """Return the pieces in these channels."""
        return tuple(piece for piece in self.pieces if piece.channel in channels)


class HashVariant(Enum):
    """What an exact hash ignores."""

    PLAIN = "plain"
    """Paths and changed lines."""
    PATH_FREE = "path-free"
    """Changed lines without paths: equal for a moved change."""
    INVERTED = "inverted"
    """The hash of the change that would revert this one."""
    SPACELESS = "spaceless"
    """Without white space, like ``git patch-id``."""


class ExactKind(Struct, frozen=True):
    """What an exact hash covers: a channel, or all of them if None; and what it ignores."""

    channel: Channel | None
    variant: HashVariant

    def __str__(self) -> str:
        return f"{'whole' if self.channel is None else self.channel.value}:{self.variant.value}"


class Signature(Struct, frozen=True, kw_only=True):
    """A change in about a kilobyte: enough to find and compare it.

    ``prod_hash`` and ``whole_hash`` are prefixes of the exact hashes, ``inverse_hash`` is that of the change which
    reverts this one. ``minhash``, ``intent`` and ``structure`` are
    MinHash signatures of production code, tests and documents; None if the change has none. The sets hold 32-bit
    hashes. ``references`` are the issues that it closes. ``commits`` are its commits, ``picked`` and ``reverted`` those
    that its messages name, all as prefixes; ``origins`` are hashes of what its commits keep when they are rewritten.
    """

    prod_hash: int | None = None
    whole_hash: int | None = None
    inverse_hash: int | None = None
    minhash: bytes | None = None
    intent: bytes | None = None
    structure: bytes | None = None
    prod_lines: BottomSketch = EMPTY_SKETCH
    lines: BottomSketch = EMPTY_SKETCH
    identifiers: BottomSketch = EMPTY_SKETCH
    prod_files: BottomSketch = EMPTY_SKETCH
    files: BottomSketch = EMPTY_SKETCH
    symbols: BottomSketch = EMPTY_SKETCH
    exports: BottomSketch = EMPTY_SKETCH
    imports: BottomSketch = EMPTY_SKETCH
    context: BottomSketch = EMPTY_SKETCH
    words: BottomSketch = EMPTY_SKETCH
    references: frozenset[int] = frozenset()
    added: int = 0
    removed: int = 0
    prod_changed: int = 0
    renamed: int = 0
    commits: frozenset[int] = frozenset()
    picked: frozenset[int] = frozenset()
    reverted: frozenset[int] = frozenset()
    origins: frozenset[int] = frozenset()
    is_bot: bool = False
    is_release: bool = False


class ChangeSketch(Struct, frozen=True):
    """A change ready for the index: its signature, its exact hashes, and its terms by field."""

    signature: Signature
    exact: Mapping[str, str]
    terms: Mapping[str, tuple[int, ...]]

    def __hash__(self) -> int:
        return hash_struct(self, but=("exact", "terms"))


Similarities = Mapping[str, float | None]
"""Every signal by name, from 0 to 1; None, not 0, if a side has nothing to compare."""


class PairScore(Struct, frozen=True):
    """Scores of a pair by the names of document 002, its category and the rule that decided.

    ``is_routine`` marks two changes of dependency bots or two releases: they are similar, and no duplicates.
    """

    similarities: Similarities
    prod_score: float
    final_score: float
    category: Category
    rule: str
    is_routine: bool = False

    def __hash__(self) -> int:
        return hash_struct(self, but=("similarities",))


class ChanceTerm(Struct, frozen=True):
    """A term of a probability: it adds ``weight * value`` to the log-odds."""

    name: str
    weight: float
    value: float

    @property
    def adds(self) -> float:
        """The amount added to the log-odds."""
        return self.weight * self.value


class DuplicateChance(Struct, frozen=True):
    """The probability that a person calls a pair a duplicate, its lower bound, and its terms."""

    probability: float
    low: float
    account: tuple[ChanceTerm, ...]


class ChangeSummary(Struct, frozen=True, kw_only=True):
    """An indexed change without its signature; ``id`` grows with the order of indexing.

    ``author`` wrote its first commit. ``merged`` is the commit of main that merged it, empty without one. A later push
    of the same pull request or branch supersedes it; ``superseded_by`` is the id of that push, or 0.
    """

    id: int
    base: CommitSha
    head: CommitSha
    name: str
    title: str
    opened_ns: int
    on_main: bool
    author: str = ""
    target: str = ""
    state: str = "open"
    merged: str = ""
    superseded_by: int = 0


NO_COMMIT = CommitSha("")
"""The base of a change without one."""


class ChangeEnds(Struct, frozen=True):
    """Base and head of a change."""

    base: str
    head: str


class ChangeRow(ChangeSummary, frozen=True, kw_only=True):
    """An indexed change with its repository, its packed signature and the version that made the signature."""

    repo: str
    version: str
    signature: bytes
