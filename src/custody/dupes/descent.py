"""Descent of changes, and the changes that it starts from (document 002, section 8).

An edge goes from a change to one that contains it. The graph is acyclic: edges are added one by one, the surest first,
and an edge that would close a cycle is dropped. Time is a soft constraint. An edge against time (the larger change was
opened first) is marked, and added after all others. So if two changes contain each other, the one opened first is the
part; if opened at the same time, the one with the smaller id.
"""

from collections.abc import Iterator, Mapping, Set
from enum import Enum
from itertools import combinations

from msgspec import Struct

from custody.dupes.evidence import shingle_production_code
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece
from custody.dupes.rules import DedupeRules
from custody.sketch.tokens import compute_set_containment, compute_set_jaccard, mask_literals, tokenize_text
from custody.sketch.winnow import winnow_fingerprints

# The production code of a change as sets, one per mode of comparison. Documents and tests are ignored.


WINNOW_TOKENS = 10
"""Tokens per fingerprint of a rewrite, a line or two; shorter common runs are never found."""
WINNOW_WINDOW = 6
"""Runs per fingerprint; 15 common tokens are always found."""


class Mode(Enum):
    """The compared parts of two changes."""

    PATCH = "patch"
    """Shingles of removed and added lines."""
    REWRITE = "rewrite"
    """Fingerprints of added code, wherever it is."""
    SYMBOLS = "symbols"
    """Names of changed declarations and exports; document 002 calls this ts mode."""


class ChangeSet(Struct, frozen=True, kw_only=True):
    """The production code of a change in all three modes, and its size.

    ``paths`` holds both names of a moved file.
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
        """Return the set to compare in this mode; may be empty."""
        match mode:
            case Mode.PATCH:
                return self.shingles
            case Mode.REWRITE:
                return self.fingerprints
            case Mode.SYMBOLS:
                return self.symbols


def make_change_set(change: ChangeDescription, rules: DedupeRules) -> ChangeSet:
    """Make the set of a change; opaque files count by path and number only."""
    pieces = change.select_channels(Channel.PRODUCTION)
    return ChangeSet(
        opened_ns=change.opened_ns,
        shingles=shingle_production_code(change, rules),
        fingerprints=frozenset(print_ for piece in pieces for print_ in _fingerprint_added_code(piece, rules)),
        symbols=frozenset(name for piece in pieces for name in _list_changed_symbols(piece)),
        paths=frozenset(path for piece in pieces for path in (piece.path, piece.old_path) if path is not None),
        lines_changed=sum(piece.removed + piece.added for piece in pieces),
        files_changed=len(pieces),
        files_renamed=sum(piece.old_path is not None for piece in pieces),
    )


def _fingerprint_added_code(piece: ChangedPiece, rules: DedupeRules) -> tuple[int, ...]:
    """Fingerprint all added lines as one stream, since hunk borders are accidental."""
    return winnow_fingerprints(_tokenize_added_lines(piece, rules), WINNOW_TOKENS, WINNOW_WINDOW)


def _tokenize_added_lines(piece: ChangedPiece, rules: DedupeRules) -> Iterator[str]:
    for run in piece.runs:
        for line in run.added:
            yield from mask_literals(tokenize_text(line), numbers=rules.mask_numbers, strings=rules.mask_strings)


def _list_changed_symbols(piece: ChangedPiece) -> Iterator[str]:
    for facts in (piece.before, piece.after):
        yield from (f"symbol {name}" for name in facts.symbols)
        yield from (f"export {name}" for name in facts.exports)


# When two changes are compared as rewrites (document 002, section 9).


def find_rewrite_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    """Return why two changes are compared as rewrites; None if they are not.

    Three triggers depend on one change, the last on both. Missing data triggers nothing.
    """
    return (
        _find_own_rewrite_reason(a, rules)
        or _find_own_rewrite_reason(b, rules)
        or _find_pair_rewrite_reason(a, b, rules)
    )


def _find_own_rewrite_reason(change: ChangeSet, rules: DedupeRules) -> str | None:
    if change.lines_changed > rules.rewrite_lines_max:
        return f"one changes {change.lines_changed:,} lines, more than {rules.rewrite_lines_max:,}"
    if change.files_changed > rules.rewrite_files_max:
        return f"one changes {change.files_changed:,} files, more than {rules.rewrite_files_max:,}"
    if change.files_renamed > rules.rewrite_renames_share_max * change.files_changed:
        limit = f"{rules.rewrite_renames_share_max:.0%}"
        return f"one renames {change.files_renamed:,} of {change.files_changed:,} files, more than {limit}"
    return None


def _find_pair_rewrite_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    if not a.shingles or not b.shingles:
        return None
    code, paths = compute_set_jaccard(a.shingles, b.shingles), compute_set_jaccard(a.paths, b.paths)
    if code is None or paths is None:
        return None
    if code < rules.rewrite_minhash_min and paths > rules.rewrite_paths_max:
        return f"they share {paths:.0%} of their files, but only {code:.0%} of their code"
    return None


CONTAIN_SYMBOLS_MIN = 3
"""Names that each change needs to be compared by names: one or two common names mean little."""


class DescentLink(Struct, frozen=True, kw_only=True):
    """A change that is part of another: the contained share, the mode and its reason, and the growth of the other."""

    part: int
    whole: int
    mode: Mode
    reason: str
    contained: float
    growth: float
    is_against_time: bool


class DescentBase(Struct, frozen=True):
    """A change that others may be made from, with the reasons."""

    change: int
    reasons: tuple[str, ...]


class Descent(Struct, frozen=True):
    """Edges, surest first; dropped edges that would close a cycle; base candidates, best first."""

    edges: tuple[DescentLink, ...]
    dropped: tuple[DescentLink, ...]
    bases: tuple[DescentBase, ...]


def build_change_descent(changes: Mapping[int, ChangeSet], rules: DedupeRules) -> Descent:
    """Build the descent of the changes of a cluster, by id; their order does not matter."""
    pairs = combinations(sorted(changes), 2)
    edges = [edge for a, b in pairs for edge in find_descent_links(a, changes[a], b, changes[b], rules)]
    added: list[DescentLink] = []
    dropped: list[DescentLink] = []
    wholes: dict[int, set[int]] = {}
    for edge in sorted(edges, key=_rank_descent_link):
        if _is_descent_reachable(wholes, edge.whole, edge.part):
            dropped.append(edge)
        else:
            added.append(edge)
            wholes.setdefault(edge.part, set()).add(edge.whole)
    return Descent(tuple(added), tuple(dropped), _find_descent_bases(changes, added))


def find_descent_links(a: int, of_a: ChangeSet, b: int, of_b: ChangeSet, rules: DedupeRules) -> Iterator[DescentLink]:
    """Yield the edges of a pair: at most one each way, and both only if no growth is required."""
    if (choice := choose_comparison_mode(of_a, of_b, rules)) is None:
        return
    mode, reason = choice
    for part, of_part, whole, of_whole in ((a, of_a, b, of_b), (b, of_b, a, of_a)):
        less, more = of_part.elements(mode), of_whole.elements(mode)
        contained = compute_set_containment(less, more)
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


def choose_comparison_mode(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> tuple[Mode, str] | None:
    """Return the mode to compare two changes in, and why; None without a mode that fits both.

    Rewrites are compared by fingerprints, others by shingles. If those share very little, names are compared: the same
    declarations may be written differently.
    """
    rewrite_reason = find_rewrite_reason(a, b, rules)
    if rewrite_reason is not None and _can_compare_in_mode(Mode.REWRITE, a, b):
        return Mode.REWRITE, rewrite_reason
    has_names = min(len(a.symbols), len(b.symbols)) >= CONTAIN_SYMBOLS_MIN
    if not _can_compare_in_mode(Mode.PATCH, a, b):
        return (Mode.SYMBOLS, "one has no lines to compare, but both have names") if has_names else None
    shared = max(
        compute_set_containment(a.shingles, b.shingles) or 0.0, compute_set_containment(b.shingles, a.shingles) or 0.0
    )
    if has_names and shared < rules.rewrite_minhash_min:
        return Mode.SYMBOLS, f"they share only {shared:.0%} of the smaller one's code"
    return Mode.PATCH, f"they share {shared:.0%} of the smaller one's code"


def _can_compare_in_mode(mode: Mode, a: ChangeSet, b: ChangeSet) -> bool:
    return bool(a.elements(mode)) and bool(b.elements(mode))


def _rank_descent_link(edge: DescentLink) -> tuple[bool, float, float, int, int]:
    return edge.is_against_time, -edge.contained, -edge.growth, edge.part, edge.whole


def _is_descent_reachable(wholes: Mapping[int, set[int]], start: int, goal: int) -> bool:
    visited, todo = {start}, [start]
    while todo:
        if (change := todo.pop()) == goal:
            return True
        further = wholes.get(change, set()) - visited
        visited |= further
        todo.extend(further)
    return False


def _find_descent_bases(changes: Mapping[int, ChangeSet], edges: list[DescentLink]) -> tuple[DescentBase, ...]:
    """Return the changes that contain no other: those contained in most others first, then the oldest."""
    containers = {change: sum(edge.part == change for edge in edges) for change in changes}
    roots = changes.keys() - {edge.whole for edge in edges}
    first_ns = min((change.opened_ns for change in changes.values()), default=0)
    ordered = sorted(roots, key=lambda change: (-containers[change], changes[change].opened_ns, change))
    return tuple(
        DescentBase(
            change,
            tuple(
                _explain_descent_base(containers[change], len(changes), is_first=changes[change].opened_ns == first_ns)
            ),
        )
        for change in ordered
    )


def _explain_descent_base(containers: int, changes: int, *, is_first: bool) -> Iterator[str]:
    yield "contains no other change"
    if containers:
        yield f"contained in {containers} of {changes - 1} others"
    if is_first and changes > 1:
        yield "opened first"
