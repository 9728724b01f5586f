"""Which change is part of which (document 002, section 8): descent, and the changes that it begins with.

An edge goes from a change to one that contains it. No chain of edges is circular, whatever is compared and whenever
the changes were opened: edges are taken one after the other, the surest first, and one that would close a circle is
dropped. Time is a soft constraint. An edge against time (the larger change was opened first) is marked, and taken only
after all edges that go with time; so where two changes contain each other, the one opened first is the part, and of
two opened at the same moment the one with the smaller id.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from custody.dupes.evidence import production_shingles
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece
from custody.dupes.rules import DedupeRules
from custody.sketch.tokens import containment, jaccard, mask_literals, tokens_of
from custody.sketch.winnow import fingerprints_of

# The production side of a change as a set, in the three forms in which one change can be part of another.
# Documents and tests play no part: what a change is, is its production code.


WINNOW_TOKENS = 10
"""Tokens in a fingerprint of a rewrite: a line or two; a shorter run in common never shows."""
WINNOW_WINDOW = 6
"""Of so many runs in a row one is kept: 15 tokens in common always show."""


class Mode(Enum):
    """What of two changes is compared."""

    PATCH = "patch"
    """Shingles of the lines that were removed and added."""
    REWRITE = "rewrite"
    """Fingerprints of what was added, wherever it stands."""
    SYMBOLS = "symbols"
    """Names of changed declarations and exports; document 002 calls this ts mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """A change's production code in all three modes, with its size: ``lines`` removed and added, files, renames.

    ``paths`` holds both names of a file that moved.
    """

    opened_ns: int
    shingles: frozenset[str] = frozenset()
    fingerprints: frozenset[int] = frozenset()
    symbols: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    lines_changed: int = 0
    files_changed: int = 0
    files_renamed: int = 0

    def elements(self, mode: Mode) -> Set[str] | Set[int]:
        """The set that stands for the change in this mode; empty if it has nothing to compare there."""
        match mode:
            case Mode.PATCH:
                return self.shingles
            case Mode.REWRITE:
                return self.fingerprints
            case Mode.SYMBOLS:
                return self.symbols


def change_set(change: ChangeDescription, rules: DedupeRules) -> ChangeSet:
    """The set of a change; of files whose lines are not shown only name and number count."""
    pieces = change.of(Channel.PRODUCTION)
    return ChangeSet(
        opened_ns=change.opened_ns,
        shingles=production_shingles(change, rules),
        fingerprints=frozenset(print_ for piece in pieces for print_ in _prints(piece, rules)),
        symbols=frozenset(name for piece in pieces for name in _names(piece)),
        paths=frozenset(path for piece in pieces for path in (piece.path, piece.old_path) if path is not None),
        lines_changed=sum(piece.removed + piece.added for piece in pieces),
        files_changed=len(pieces),
        files_renamed=sum(piece.old_path is not None for piece in pieces),
    )


def _prints(piece: ChangedPiece, rules: DedupeRules) -> tuple[int, ...]:
    """What was added to a file is one stream: where a diff happens to cut it says nothing about what was written."""
    return fingerprints_of(_added_tokens(piece, rules), WINNOW_TOKENS, WINNOW_WINDOW)


def _added_tokens(piece: ChangedPiece, rules: DedupeRules) -> Iterator[str]:
    for run in piece.runs:
        for line in run.added:
            yield from mask_literals(tokens_of(line), numbers=rules.mask_numbers, strings=rules.mask_strings)


def _names(piece: ChangedPiece) -> Iterator[str]:
    for facts in (piece.before, piece.after):
        yield from (f"symbol {name}" for name in facts.symbols)
        yield from (f"export {name}" for name in facts.exports)


# When two changes are compared as rewrites (document 002, section 9).
# This file is the only one that says what makes a rewrite.


def rewrite_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    """Return why the two are compared as rewrites; None if they are not.

    The first three triggers are of one change alone, the last of both. What is missing triggers nothing.
    """
    return _own_reason(a, rules) or _own_reason(b, rules) or _mutual_reason(a, b, rules)


def _own_reason(change: ChangeSet, rules: DedupeRules) -> str | None:
    if change.lines_changed > rules.rewrite_lines_max:
        return f"one of them changes {change.lines_changed:,} lines, more than {rules.rewrite_lines_max:,}"
    if change.files_changed > rules.rewrite_files_max:
        return f"one of them changes {change.files_changed:,} files, more than {rules.rewrite_files_max:,}"
    if change.files_renamed > rules.rewrite_renames_share_max * change.files_changed:
        limit = f"{rules.rewrite_renames_share_max:.0%}"
        return f"one of them renames {change.files_renamed:,} of {change.files_changed:,} files, more than {limit}"
    return None


def _mutual_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    if not a.shingles or not b.shingles:
        return None
    code, paths = jaccard(a.shingles, b.shingles), jaccard(a.paths, b.paths)
    if code is None or paths is None:
        return None
    if code < rules.rewrite_minhash_min and paths > rules.rewrite_paths_max:
        return f"they share {paths:.0%} of their files, but only {code:.0%} of their code"
    return None


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
