"""The JSON of duplicate search.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

CategoryName = Literal["SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION", "RELATED", "NOT_RELATED"]


SUGGESTIONS_MAX = 5
"""Default number of reported suggestions."""
DUPLICATE_ANSWERS = ("duplicate", "same-feature", "competing")
"""Answers which mean that only one of two changes should be merged."""
ANSWERS = (*DUPLICATE_ANSWERS, "related", "different")


class UnreadChange(msgspec.Struct, frozen=True):
    """A change that could not be read, and why."""

    base: str
    head: str
    why: str


class DupesIndexReport(Report, frozen=True, kw_only=True, tag="dupes-index"):
    """Result of indexing; ``degraded`` counts files whose syntax could not be parsed."""

    asked: int
    known: int
    indexed: int
    degraded: int
    changes: int
    unread: list[UnreadChange]
    unread_count: int
    signature_version: str


class ChangeRefReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change from ``base`` to ``head``; ``name`` is its ref or range, if any.

    ``state`` is open, closed or merged; ``merged`` is the commit of main that merged it. Both are empty if unknown.
    """

    base: str
    head: str
    name: str
    title: str
    opened: str
    on_main: bool
    author: str = ""
    state: str = ""
    merged: str = ""


class AccountLine(msgspec.Struct, frozen=True):
    """A term of a probability: it adds weight times value to the log-odds."""

    name: str
    weight: float
    value: float


class RelationReport(msgspec.Struct, frozen=True):
    """A relation between two changes, and why it holds."""

    relation: str
    why: str


class AnswerReport(msgspec.Struct, frozen=True, kw_only=True):
    """The last answer of a person about a pair; ``disputed`` says that an earlier one disagrees."""

    answer: str
    actor: str
    at: str
    disputed: bool


class SharedNamesReport(msgspec.Struct, frozen=True):
    """Names that both changes share: ``some`` of them, and their ``count``."""

    some: list[str]
    count: int


class SharedLinesReport(msgspec.Struct, frozen=True):
    """A line range that both changes removed (-) or added (+), with its start in each."""

    sign: str
    path: str
    line: int
    other_path: str
    other_line: int
    lines: int


class OverlapReport(msgspec.Struct, frozen=True, kw_only=True):
    """What both changes share, read from git."""

    files: SharedNamesReport
    folders: SharedNamesReport
    symbols: SharedNamesReport
    exports: SharedNamesReport
    tests: SharedNamesReport
    headings: SharedNamesReport
    blocks: SharedNamesReport
    references: SharedNamesReport
    places: list[SharedLinesReport]
    lines: int
    shingles: float | None
    contained: float | None
    contains: float | None


class TermCount(msgspec.Struct, frozen=True):
    """A term of the search, and the number of changes that contain it."""

    term: int
    changes: int


class DupesEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of a suggestion, enough to replay the search.

    ``as_of`` is the newest change that was searched, ``terms`` are the searched terms with their frequencies. Without
    ``overlap``, ``overlap_missing`` says why git could not read it. ``category``, ``chance`` and ``says`` are one
    decision and follow ``duplicate``. ``by_document`` is the category by the document's rules alone, ``model_chance``
    the probability by the fitted model alone: its terms are in ``account``.
    """

    evidence: int = 2
    this: ChangeRefReport
    other: ChangeRefReport
    says: str
    duplicate: bool = False
    category: CategoryName
    rule: str
    by_document: str = ""
    prod_score: float
    final_score: float
    signals: dict[str, float | None]
    exact: list[str]
    chance: float
    low: float
    model_chance: float = 0.0
    account: list[AccountLine]
    relations: list[RelationReport]
    answer: AnswerReport | None = None
    overlap: OverlapReport | None
    overlap_missing: str | None
    as_of: int
    terms: list[TermCount]
    shared_weight: int
    signature_version: str
    model_version: str
    rules_digest: str


class DuplicateSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A suggested duplicate: its evidence, and the id of the evidence."""

    id: str
    evidence: DupesEvidence


class DupesCheckReport(Report, frozen=True, kw_only=True, tag="dupes-check"):
    """Duplicates of a change among the indexed changes; without suggestions, ``nearest`` is the best match."""

    this: ChangeRefReport
    suggestions: list[DuplicateSuggestion]
    nearest: DuplicateSuggestion | None
    candidates: int
    compared: int
    changes: int
    notes: list[str]
    profile: str
    rules_digest: str


class DupesShowReport(Report, frozen=True, kw_only=True, tag="dupes-show"):
    """Stored evidence, and whether a replay of the search gives the same result."""

    id: str
    at: str
    evidence: DupesEvidence
    replayed: Literal["same", "differs", "not possible"]
    replay_why: str | None


class DupesLabelReport(Report, frozen=True, kw_only=True, tag="dupes-label"):
    """A recorded answer, and whether there are enough answers to calibrate probabilities."""

    record: str
    head: str
    other: str
    answer: str
    answers: int
    needed: int
    learnt: bool
    chance: float
    model_version: str


class ClusterMember(msgspec.Struct, frozen=True, kw_only=True):
    """A change in a cluster; ``is_base`` marks an ancestor of others, ``is_canonical`` the change to keep."""

    change: ChangeRefReport
    is_base: bool
    is_canonical: bool
    why: str


class DescentEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A change that another contains: how they were compared, and the contained share."""

    part: str
    whole: str
    mode: str
    contained: float
    against_time: bool


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that duplicate each other."""

    id: str
    members: list[ClusterMember]
    edges: list[DescentEdge]
    canonical_why: str


class DupesClusterReport(Report, frozen=True, kw_only=True, tag="dupes-cluster"):
    """Clusters of indexed changes, largest first."""

    clusters: list[ClusterReport]
    changes: int
    pairs: int
    rules_digest: str
