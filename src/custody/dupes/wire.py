"""The JSON of duplicate search.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

# What ``custody dupes`` answers: what was indexed, what a change is like, and what that rests on.


CategoryName = Literal["SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION", "RELATED", "NOT_RELATED"]


class UnreadChange(msgspec.Struct, frozen=True):
    """A change that could not be read, and why."""

    base: str
    head: str
    why: str


class DupesIndexReport(Report, frozen=True, kw_only=True, tag="dupes-index"):
    """What was indexed now, what had been before, what could not be read; ``degraded`` counts files without syntax."""

    asked: int
    known: int
    indexed: int
    degraded: int
    changes: int
    unread: list[UnreadChange]
    unread_count: int
    signature_version: str


class ChangeRefReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change: from ``base`` to ``head``; ``name`` is the ref or range that it is known by, if any."""

    base: str
    head: str
    name: str
    title: str
    opened: str
    on_main: bool


class AccountLine(msgspec.Struct, frozen=True):
    """One line of the account of a chance: weight times value is what it adds to the log-odds."""

    name: str
    weight: float
    value: float


class RelationReport(msgspec.Struct, frozen=True):
    """What a change is to another, and why."""

    relation: str
    why: str


class SharedNamesReport(msgspec.Struct, frozen=True):
    """Names that both changes have: some of them, and how many there are."""

    some: list[str]
    count: int


class SharedLinesReport(msgspec.Struct, frozen=True):
    """Lines that both removed (-) or both added (+): where they begin in each, and how many there are."""

    sign: str
    path: str
    line: int
    other_path: str
    other_line: int
    lines: int


class OverlapReport(msgspec.Struct, frozen=True, kw_only=True):
    """What both changes have in common, read from git; ``rewrite`` says why they were compared as rewrites."""

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
    """A term that was searched for, and in how many changes it stood."""

    term: int
    changes: int


class DupesEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a suggestion rests on, enough to make it again.

    ``as_of`` is the last change that was looked at, ``terms`` are those searched for with in how many changes each
    stood. Without ``overlap``, ``overlap_missing`` says why it could not be read from git.
    """

    evidence: int = 1
    this: ChangeRefReport
    other: ChangeRefReport
    says: str
    category: CategoryName
    rule: str
    prod_score: float
    final_score: float
    signals: dict[str, float | None]
    exact: list[str]
    chance: float
    low: float
    account: list[AccountLine]
    relations: list[RelationReport]
    overlap: OverlapReport | None
    overlap_missing: str | None
    as_of: int
    terms: list[TermCount]
    shared_weight: int
    signature_version: str
    model_version: str
    rules_digest: str


class DuplicateSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A change that this one is like: in a word, in numbers, and the id of the stored evidence."""

    id: str
    evidence: DupesEvidence


class DupesCheckReport(Report, frozen=True, kw_only=True, tag="dupes-check"):
    """What a change is like among all that are indexed; without suggestions, ``nearest`` came closest."""

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
    """Stored evidence, and whether the index still gives the same answer."""

    id: str
    at: str
    evidence: DupesEvidence
    replayed: Literal["same", "differs", "not possible"]
    replay_why: str | None


class DupesLabelReport(Report, frozen=True, kw_only=True, tag="dupes-label"):
    """What was recorded, and whether there are answers enough by now to calibrate chances here."""

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
    """A change in a cluster; ``is_base`` marks what others descend from, ``is_canonical`` the one advised to keep."""

    change: ChangeRefReport
    is_base: bool
    is_canonical: bool
    why: str


class DescentEdge(msgspec.Struct, frozen=True, kw_only=True):
    """That one change is contained in another, in which way it was compared, and how much of it is there."""

    part: str
    whole: str
    mode: str
    contained: float
    against_time: bool


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that should not all land."""

    id: str
    members: list[ClusterMember]
    edges: list[DescentEdge]
    canonical_why: str


class DupesClusterReport(Report, frozen=True, kw_only=True, tag="dupes-cluster"):
    """Clusters of changes among all indexed ones, the largest first."""

    clusters: list[ClusterReport]
    changes: int
    pairs: int
    rules_digest: str
