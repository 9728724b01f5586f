"""When two changes are compared as rewrites (document 002, section 9), and what two rewrites have in common, and where.

This file is the only one that says what makes a rewrite.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from custody.dupes.changeset import ChangeSet, Mode
from custody.dupes.rules import DedupeRules
from custody.sketch.shingles import containment, jaccard


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """A stretch that both changes added: where it begins in each, and how many lines of ``a`` it reaches over."""

    a_path: str
    a_line: int
    b_path: str
    b_line: int
    lines: int

    @property
    def is_move(self) -> bool:
        """Whether the two have it in different files."""
        return self.a_path != self.b_path


@dataclass(frozen=True, slots=True)
class RewriteOverlap:
    """What two rewrites have in common, from 0 to 1, None where there is nothing to compare; longest stretch first."""

    overlap: float | None
    a_in_b: float | None
    b_in_a: float | None
    matches: tuple[Match, ...]


def rewrite_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules, *, minhash_sim: float | None = None) -> str | None:
    """Why the two are compared as rewrites; None if they are not.

    The first three triggers are of one change alone, the last of both: their likeness is ``minhash_sim`` if given,
    else the exact one. What is missing triggers nothing.
    """
    return _own_reason(a, rules) or _own_reason(b, rules) or _mutual_reason(a, b, rules, minhash_sim)


def compare_rewrites(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> RewriteOverlap:
    """Overlap and containment of the fingerprints of two changes, and where they stand: paths play no part in them."""
    ours, theirs = a.elements(Mode.REWRITE), b.elements(Mode.REWRITE)
    return RewriteOverlap(
        overlap=jaccard(ours, theirs) if ours and theirs else None,
        a_in_b=containment(ours, theirs) if theirs else None,
        b_in_a=containment(theirs, ours) if ours else None,
        matches=tuple(sorted(_stretches(_pairs(a, b), rules), key=lambda match: (-match.lines, match))),
    )


def _own_reason(change: ChangeSet, rules: DedupeRules) -> str | None:
    if change.lines_changed > rules.rewrite_lines_max:
        return f"one of them changes {change.lines_changed:,} lines, more than {rules.rewrite_lines_max:,}"
    if change.files_changed > rules.rewrite_files_max:
        return f"one of them changes {change.files_changed:,} files, more than {rules.rewrite_files_max:,}"
    if change.files_renamed > rules.rewrite_renames_share_max * change.files_changed:
        limit = f"{rules.rewrite_renames_share_max:.0%}"
        return f"one of them renames {change.files_renamed:,} of {change.files_changed:,} files, more than {limit}"
    return None


def _mutual_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules, minhash_sim: float | None) -> str | None:
    if minhash_sim is None and a.shingles and b.shingles:
        minhash_sim = jaccard(a.shingles, b.shingles)
    shared = jaccard(a.paths, b.paths)
    if minhash_sim is None or shared is None:
        return None
    if minhash_sim < rules.rewrite_minhash_min and shared > rules.rewrite_paths_max:
        return f"they share {shared:.0%} of their files, but only {minhash_sim:.0%} of their code"
    return None


def _pairs(a: ChangeSet, b: ChangeSet) -> Iterator[Match]:
    """Each fingerprint of ``a`` with one of ``b``, none of which is used twice.

    Of several, the next one in the file where the last match was is taken, else one in the file of the same path, else
    the first: so a stretch stays together, moved or not.
    """
    places = _places(b)
    last_path = ""
    for file in a.files:
        for found in file.prints:
            if not (by_path := places.get(found.hash)):
                continue
            path = next((path for path in (last_path, file.path) if path in by_path), None) or next(iter(by_path))
            yield Match(file.path, found.line, path, by_path[path].popleft(), 1)
            last_path = path
            if not by_path[path]:
                del by_path[path]


def _places(change: ChangeSet) -> dict[int, dict[str, deque[int]]]:
    places: dict[int, dict[str, deque[int]]] = {}
    for file in change.files:
        for found in file.prints:
            places.setdefault(found.hash, {}).setdefault(file.path, deque()).append(found.line)
    return places


def _stretches(pairs: Iterable[Match], rules: DedupeRules) -> list[Match]:
    """Pairs that go on from one another in both changes, put together."""
    stretches: list[Match] = []
    last: Match | None = None
    for pair in pairs:
        if last is not None and _goes_on(last, pair, rules.winnow_window):
            stretches[-1] = replace(stretches[-1], lines=pair.a_line - stretches[-1].a_line + 1)
        else:
            stretches.append(pair)
        last = pair
    return stretches


def _goes_on(last: Match, pair: Match, lines_max: int) -> bool:
    """In a common stretch two fingerprints are never more tokens apart than a window has, nor more lines with code."""
    if (last.a_path, last.b_path) != (pair.a_path, pair.b_path):
        return False
    return 0 <= pair.a_line - last.a_line <= lines_max and 0 <= pair.b_line - last.b_line <= lines_max
