"""Compare two texts of a file word by word: which lines are new, changed or gone, and which words each one lost."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from custody.attribution.carry import (
    UnmatchedRange,
    WordShare,
    find_gaps_between_pairs,
    match_equal_lines,
    match_moved_line_blocks,
    trace_carried_words,
)
from custody.attribution.text import INFORMATIVE_CHARACTERS_MIN, split_lineage_words


class LineEdit(Struct, frozen=True):
    """How a line came from an older text: the words added and removed; ``old`` is its former line, None if new."""

    added: int
    removed: tuple[str, ...] = ()
    old: int | None = None


class TextComparison(Struct, frozen=True):
    """The edits of a text's new or changed lines, and the old line of every line that survived."""

    edits: Mapping[int, LineEdit]
    survivors: Mapping[int, int]
    """For each old line that is still there, changed or not, its new line."""

    def list_gone(self, count: int) -> Iterator[int]:
        """Yield those of ``count`` old lines that are gone."""
        return (i for i in range(count) if i not in self.survivors)


def compare_texts(old: Sequence[str], new: Sequence[str]) -> TextComparison:
    """Return which lines of ``new`` are new or changed, and which lines of ``old`` survived.

    >>> compared = compare_texts(["if a and check(b):", "    log(b)"], ["if a:"])
    >>> compared.edits[0].removed, list(compared.list_gone(2))
    (('and', 'check', 'b'), [1])
    """
    matches = match_equal_lines(old, new)
    moved = match_moved_line_blocks(old, new, matches, INFORMATIVE_CHARACTERS_MIN) if len(matches) < len(new) else {}
    survivors = {i: j for j, i in (*matches.items(), *moved.items())}
    edits: dict[int, LineEdit] = {}
    pairs = [(i, j) for j, i in sorted(matches.items())]
    for gap in find_gaps_between_pairs(pairs, UnmatchedRange(0, len(old), 0, len(new))):
        shares = trace_carried_words(old, new, gap) if gap.old_first < gap.old_end else {}
        for j in range(gap.new_first, gap.new_end):
            if j not in moved:
                edits[j] = _line_edit_from_share(shares.get(j), new[j], survivors)
    for j, edit in edits.items():
        if edit.old is not None:
            survivors.setdefault(edit.old, j)
    return TextComparison({j: edit for j, edit in edits.items() if edit.added or edit.removed}, survivors)


def _line_edit_from_share(words: WordShare | None, line: str, taken: Mapping[int, int]) -> LineEdit:
    """Return the edit of a line; it is a new line unless at least half of its words are from old lines."""
    kept = 0 if words is None else sum(count for _, count in words.parts)
    if words is None or kept * 2 < words.total:
        return LineEdit(max(1, len(split_lineage_words(line))))
    source = words.parts[0][0]
    return LineEdit(words.total - kept, words.removed, None if source in taken else source)


def find_removed_words(old: str, new: str) -> tuple[str, ...]:
    """Return the words of a line that are gone from its later text, or its operators if all words are the same.

    >>> find_removed_words("if a and not b:", "if a and b:"), find_removed_words("if !a {", "if a {")
    (('not',), ('!',))
    """
    shares = trace_carried_words([old], [new], UnmatchedRange(0, 1, 0, 1))
    return shares[0].removed if 0 in shares else split_lineage_words(old)
