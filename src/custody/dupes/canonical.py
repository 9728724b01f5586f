"""Which change of a cluster to keep (document 002, section 8): advice, chosen apart from where the cluster began.

Only a change that could be merged is chosen. What is not known of a change never speaks for it: it counts as less than
the good answer, and the advice says that nobody looked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from custody.dupes.model import ChangeDescription
from custody.dupes.signature import SCORED


class Checks(Enum):
    """How a change's automatic checks came out."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ExclusiveScope:
    """What of a change lies outside the files that it shares with others of its cluster."""

    files: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalEvidence:
    """What speaks for keeping a change; None is what nobody knows."""

    change: int
    opened_ns: int
    checks: Checks = Checks.UNKNOWN
    approvals: int | None = None
    conflicts: bool | None = None
    scope: ExclusiveScope
    has_tests: bool


@dataclass(frozen=True, slots=True)
class RejectedCandidate:
    """A change that is not chosen because it cannot be merged as it is, and why."""

    change: int
    reason: str


@dataclass(frozen=True, slots=True)
class CanonicalChange:
    """The change to keep; ``reasons`` is how it stands in each respect, ``decided_by`` the first it is ahead in."""

    change: int
    reasons: tuple[str, ...]
    decided_by: str
    refused: tuple[RejectedCandidate, ...]


@dataclass(frozen=True, slots=True)
class NoCanonicalChange:
    """No change of the cluster can be advised."""

    reason: str
    refused: tuple[RejectedCandidate, ...]


def canonical_of(cluster: Iterable[CanonicalEvidence]) -> CanonicalChange | NoCanonicalChange:
    """The change of a cluster to keep, or why there is none; the same whatever their order."""
    standings = sorted(cluster, key=lambda standing: standing.change)
    refused = tuple(
        RejectedCandidate(standing.change, reason)
        for standing in standings
        if (reason := why_not_viable(standing)) is not None
    )
    viable = sorted((standing for standing in standings if why_not_viable(standing) is None), key=_rank)
    if not viable:
        return NoCanonicalChange(
            "no change of it can be merged as it is" if standings else "it has no changes", refused
        )
    best = viable[0]
    return CanonicalChange(best.change, tuple(_reasons(best)), _decided_by(best, viable[1:], len(standings)), refused)


def why_not_viable(standing: CanonicalEvidence) -> str | None:
    """Why a change cannot be merged as it is; None if nothing known stands against it."""
    if standing.checks is Checks.FAILED:
        return "its checks failed"
    return "it conflicts with its base" if standing.conflicts else None


def scopes_of(cluster: Mapping[int, ChangeDescription]) -> dict[int, ExclusiveScope]:
    """What each change does in files that no other of the cluster touches."""
    paths = {change: {piece.path for piece in described.of(*SCORED)} for change, described in cluster.items()}
    touched = Counter(path for those in paths.values() for path in those)
    return {change: _scope(described, touched) for change, described in cluster.items()}


def _scope(change: ChangeDescription, touched: Mapping[str, int]) -> ExclusiveScope:
    outside = [piece for piece in change.of(*SCORED) if touched[piece.path] == 1]
    return ExclusiveScope(len({piece.path for piece in outside}), sum(piece.added + piece.removed for piece in outside))


RESPECTS: MappingProxyType[str, Callable[[CanonicalEvidence], tuple[int, ...]]] = MappingProxyType(
    {
        "checks": lambda evidence: (evidence.checks is not Checks.PASSED,),
        "approvals": lambda evidence: (-(evidence.approvals or 0),),
        "conflicts": lambda evidence: (evidence.conflicts is None,),
        "scope": lambda evidence: (evidence.scope.files, evidence.scope.lines),
        "tests": lambda evidence: (not evidence.has_tests,),
        "time": lambda evidence: (evidence.opened_ns,),
    }
)
"""In which respects changes are compared, the weightiest first; smaller is better."""


def _rank(standing: CanonicalEvidence) -> tuple[tuple[int, ...], ...]:
    return (*(rank(standing) for rank in RESPECTS.values()), (standing.change,))


def _decided_by(best: CanonicalEvidence, others: list[CanonicalEvidence], of: int) -> str:
    if not others:
        return "it is the only one" if of == 1 else "no other can be merged as it is"
    return next((name for name, rank in RESPECTS.items() if rank(best) != rank(others[0])), "id")


def _reasons(standing: CanonicalEvidence) -> Iterator[str]:
    yield "its checks passed" if standing.checks is Checks.PASSED else "nobody knows how its checks came out"
    if standing.approvals is None:
        yield "nobody knows whether it was approved"
    else:
        yield f"it has {standing.approvals} approval{'s' * (standing.approvals != 1)}"
    yield "it merges cleanly" if standing.conflicts is False else "nobody knows whether it conflicts"
    yield f"it changes {standing.scope.files} files, {standing.scope.lines} lines, that no other of them touches"
    yield "it has tests" if standing.has_tests else "it has no tests"
