"""Which change is part of which (document 002, section 8): descent, and the changes that it begins with.

An edge goes from a change to one that contains it. No chain of edges is circular, whatever is compared and whenever
the changes were opened: edges are taken one after the other, the surest first, and one that would close a circle is
dropped. Time is a soft constraint. An edge against time (the larger change was opened first) is marked, and taken only
after all edges that go with time; so where two changes contain each other, the one opened first is the part, and of
two opened at the same moment the one with the smaller id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from custody.dupes.changeset import ChangeSet, Mode
from custody.dupes.rewrite import rewrite_reason
from custody.dupes.rules import DedupeRules
from custody.sketch.shingles import containment

CONTAIN_SYMBOLS_MIN = 3
"""Changes are compared by names only if each has at least this many: one or two in common say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentLink:
    """A change is part of another: how much of it, by which mode and why that one, and how much larger the other is."""

    part: int
    whole: int
    mode: Mode
    reason: str
    contained: float
    growth: float
    is_against_time: bool


@dataclass(frozen=True, slots=True)
class DescentBase:
    """A change that may be the one others were made from, with the reasons."""

    change: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Descent:
    """The edges, the surest first; those left out because they would close a circle; base candidates, best first."""

    edges: tuple[DescentLink, ...]
    dropped: tuple[DescentLink, ...]
    bases: tuple[DescentBase, ...]


def descent_of(changes: Mapping[int, ChangeSet], rules: DedupeRules) -> Descent:
    """The descent of the changes of one cluster, by id; the same whatever their order."""
    pairs = combinations(sorted(changes), 2)
    found = [edge for a, b in pairs for edge in edges_between(a, changes[a], b, changes[b], rules)]
    taken: list[DescentLink] = []
    dropped: list[DescentLink] = []
    wholes: dict[int, set[int]] = {}
    for edge in sorted(found, key=_sureness):
        if _leads_to(wholes, edge.whole, edge.part):
            dropped.append(edge)
        else:
            taken.append(edge)
            wholes.setdefault(edge.part, set()).add(edge.whole)
    return Descent(tuple(taken), tuple(dropped), _bases(changes, taken))


def edges_between(a: int, of_a: ChangeSet, b: int, of_b: ChangeSet, rules: DedupeRules) -> Iterator[DescentLink]:
    """The edges of a pair: at most one each way, and both only if no growth is asked for."""
    if (chosen := mode_for(of_a, of_b, rules)) is None:
        return
    mode, reason = chosen
    for part, of_part, whole, of_whole in ((a, of_a, b, of_b), (b, of_b, a, of_a)):
        less, more = of_part.elements(mode), of_whole.elements(mode)
        contained = containment(less, more)
        if contained is None or contained <= rules.contain_min:
            continue
        if len(more) >= len(less) * (1 + rules.contain_growth_min):
            yield DescentLink(
                part=part,
                whole=whole,
                mode=mode,
                reason=reason,
                contained=contained,
                growth=len(more) / len(less) - 1,
                is_against_time=of_whole.opened_ns < of_part.opened_ns,
            )


def mode_for(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> tuple[Mode, str] | None:
    """By what two changes are compared, and why; None if there is nothing that both have.

    Rewrites by fingerprints, others by shingles, unless these have hardly anything in common: then the same
    declarations may have been written differently, and names are compared.
    """
    rewritten = rewrite_reason(a, b, rules)
    if rewritten is not None and _both_have(Mode.REWRITE, a, b):
        return Mode.REWRITE, rewritten
    named = min(len(a.symbols), len(b.symbols)) >= CONTAIN_SYMBOLS_MIN
    if not _both_have(Mode.PATCH, a, b):
        return (Mode.SYMBOLS, "not both have lines to compare, but both have names") if named else None
    shared = max(containment(a.shingles, b.shingles) or 0.0, containment(b.shingles, a.shingles) or 0.0)
    if named and shared < rules.rewrite_minhash_min:
        return Mode.SYMBOLS, f"they share only {shared:.0%} of the smaller one's code"
    return Mode.PATCH, f"they share {shared:.0%} of the smaller one's code"


def _both_have(mode: Mode, a: ChangeSet, b: ChangeSet) -> bool:
    return bool(a.elements(mode)) and bool(b.elements(mode))


def _sureness(edge: DescentLink) -> tuple[bool, float, float, int, int]:
    return edge.is_against_time, -edge.contained, -edge.growth, edge.part, edge.whole


def _leads_to(wholes: Mapping[int, set[int]], start: int, goal: int) -> bool:
    seen, todo = {start}, [start]
    while todo:
        if (change := todo.pop()) == goal:
            return True
        further = wholes.get(change, set()) - seen
        seen |= further
        todo.extend(further)
    return False


def _bases(changes: Mapping[int, ChangeSet], edges: list[DescentLink]) -> tuple[DescentBase, ...]:
    """The changes of which no other is a part: those that most others contain first, then those opened first."""
    containing = {change: sum(edge.part == change for edge in edges) for change in changes}
    roots = changes.keys() - {edge.whole for edge in edges}
    first_ns = min((of.opened_ns for of in changes.values()), default=0)
    ordered = sorted(roots, key=lambda change: (-containing[change], changes[change].opened_ns, change))
    return tuple(
        DescentBase(
            change, tuple(_why(containing[change], len(changes), is_first=changes[change].opened_ns == first_ns))
        )
        for change in ordered
    )


def _why(containing: int, of: int, *, is_first: bool) -> Iterator[str]:
    yield "no other change of the cluster is part of it"
    if containing:
        yield f"{containing} of {of - 1} others contain it"
    if is_first and of > 1:
        yield "none was opened earlier"
