"""Match new lines with old lines: equal lines first, then without white space, then moved blocks, then words.

The same matching is used between captured states, inside one call, and from a parent's file to a commit's. Positions
count: of two equal lines, the one at the same place is the same line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from custody.attribution.longest_runs import find_longest_runs
from custody.attribution.text import (
    is_informative_lineage_line,
    split_lineage_operators,
    split_lineage_words,
    strip_lineage_whitespace,
)

GAP_PRODUCT_MAX = 1_000_000
"""Old times new lines of a gap without unique lines; in a larger gap only the two ends are compared."""
SLID_LINES_MIN = 3
"""Minimum equal lines before lines added beside a replacement slide below them."""
WORDS_PRODUCT_MAX = 4_000_000
"""Old times new words of a gap; words of a larger gap are not compared."""

MOVED_CHARACTERS_MIN = 24
"""Minimum characters, without white space, of a block that is recognized elsewhere; less occurs by chance."""

LinePair = tuple[int, int]


class UnmatchedRange(Struct, frozen=True):
    """A gap without a match: old lines from ``old_first`` before ``old_end``, new lines likewise."""

    old_first: int
    old_end: int
    new_first: int
    new_end: int


def align_carried_items(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[LinePair]:
    """Return pairs of equal items, rising on both sides.

    >>> align_carried_items("abcd", "xbcy")
    [(1, 1), (2, 2)]
    """
    return [pair for block in find_carried_blocks(old, new) for pair in block.pairs]


def find_carried_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list["EqualBlock"]:
    """Return runs of equal items, rising on both sides: ends first, then unique items, then the gaps between them.

    Adjacent runs are joined.
    """
    old, new = list(old), list(new)  # slices of both are compared, and a tuple never equals a list
    blocks: list[EqualBlock] = []
    gaps = [UnmatchedRange(0, len(old), 0, len(new))]
    while gaps:
        gap = gaps.pop()
        inner = _trim_carried_line_ends(old, new, gap, blocks)
        if inner.old_first == inner.old_end or inner.new_first == inner.new_end:
            continue
        anchors = _find_unique_line_anchors(old, new, inner)
        if anchors:
            anchored = [EqualBlock(run[0][0], run[0][1], len(run)) for run in group_line_pair_runs(anchors)]
            blocks.extend(anchored)
            gaps.extend(find_gaps_between_blocks(anchored, inner))
        else:
            blocks.extend(_find_longest_carried_blocks(old, new, inner))
    return _slide_carried_blocks(old, new, _join_carried_blocks(sorted(blocks)))


class EqualBlock(NamedTuple):
    """``length`` equal items, from positions ``old`` and ``new`` on."""

    old: int
    new: int
    length: int

    @property
    def pairs(self) -> Iterator[LinePair]:
        """Its positions as pairs (old, new)."""
        return zip(range(self.old, self.old + self.length), range(self.new, self.new + self.length), strict=True)


def _join_carried_blocks(blocks: Iterable[EqualBlock]) -> list[EqualBlock]:
    joined: list[EqualBlock] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and (last.old + last.length, last.new + last.length) == (block.old, block.new):
            joined[-1] = EqualBlock(last.old, last.new, last.length + block.length)
        else:
            joined.append(block)
    return joined


def _slide_carried_blocks(
    old: Sequence[Hashable], new: Sequence[Hashable], blocks: list[EqualBlock]
) -> list[EqualBlock]:
    """Return the blocks with insertions and deletions moved down as far as possible: a copy follows its original.

    Replaced lines are paired one to one; further lines beside them slide only past ``SLID_LINES_MIN`` or more lines.
    """
    slid: list[EqualBlock] = []
    for block in blocks:
        last = slid[-1] if slid else EqualBlock(0, 0, 0)
        old_at, new_at = last.old + last.length, last.new + last.length
        replaced = min(block.old - old_at, block.new - new_at)
        if block.new - new_at > replaced:
            step = _count_slidable_lines(new, new_at + replaced, block.new, block.length)
        elif block.old - old_at > replaced:
            step = _count_slidable_lines(old, old_at + replaced, block.old, block.length)
        else:
            step = 0
        if step and (not replaced or step >= SLID_LINES_MIN):
            slid.append(EqualBlock(old_at + replaced, new_at + replaced, step))
            block = EqualBlock(block.old + step, block.new + step, block.length - step)
        if block.length:
            slid.append(block)
    return _join_carried_blocks(slid)


def _count_slidable_lines(items: Sequence[Hashable], first: int, end: int, most: int) -> int:
    """Return how far the range from ``first`` before ``end`` can move down without changing the text."""
    step = 0
    while step < most and items[first + step] == items[end + step]:
        step += 1
    return step


def find_gaps_between_blocks(blocks: Sequence[EqualBlock], whole: UnmatchedRange) -> Iterator[UnmatchedRange]:
    """Yield the gaps between ``blocks`` inside ``whole`` in which either side has lines."""
    old_at, new_at = whole.old_first, whole.new_first
    for block in (*blocks, EqualBlock(whole.old_end, whole.new_end, 0)):
        if block.old > old_at or block.new > new_at:
            yield UnmatchedRange(old_at, block.old, new_at, block.new)
        old_at, new_at = block.old + block.length, block.new + block.length


def find_gaps_between_pairs(pairs: Sequence[LinePair], whole: UnmatchedRange) -> Iterator[UnmatchedRange]:
    """Yield the gaps between ``pairs`` inside ``whole`` in which either side has lines."""
    old_at, new_at = whole.old_first, whole.new_first
    for i, j in (*pairs, (whole.old_end, whole.new_end)):
        if i > old_at or j > new_at:
            yield UnmatchedRange(old_at, i, new_at, j)
        old_at, new_at = i + 1, j + 1


def match_carried_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return the old line of each new line with the same text, apart from white space, at the same place.

    An uninformative line matches only beside an informative one, or if no line changed at all.
    """
    matches: dict[int, int] = {}
    for block in _find_equal_line_blocks(old, new):
        is_unchanged = block.length == len(old) == len(new)
        if is_unchanged or any(
            is_informative_lineage_line(line) for line in islice(new, block.new, block.new + block.length)
        ):
            matches.update((j, i) for i, j in block.pairs)
    return matches


def match_equal_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return the old line of each new line with the same text, apart from white space, in order."""
    return {j: i for block in _find_equal_line_blocks(old, new) for i, j in block.pairs}


def _find_equal_line_blocks(old: Sequence[str], new: Sequence[str]) -> list[EqualBlock]:
    """Return the runs of lines that are equal, then of those that are equal apart from white space."""
    blocks = find_carried_blocks(old, new)
    for gap in list(find_gaps_between_blocks(blocks, UnmatchedRange(0, len(old), 0, len(new)))):
        if gap.old_first < gap.old_end and gap.new_first < gap.new_end:
            ours = [strip_lineage_whitespace(line) for line in old[gap.old_first : gap.old_end]]
            theirs = [strip_lineage_whitespace(line) for line in new[gap.new_first : gap.new_end]]
            inside = find_carried_blocks(ours, theirs)
            blocks.extend(EqualBlock(gap.old_first + b.old, gap.new_first + b.new, b.length) for b in inside)
    return _join_carried_blocks(sorted(blocks))


def group_line_pair_runs(pairs: Iterable[LinePair]) -> Iterator[list[LinePair]]:
    """Yield runs of pairs that are consecutive on both sides."""
    run: list[LinePair] = []
    for i, j in pairs:
        if run and (i, j) != (run[-1][0] + 1, run[-1][1] + 1):
            yield run
            run = []
        run.append((i, j))
    if run:
        yield run


class SingleOccurrence:
    """A test whether an item occurs exactly once in each of several texts, which are counted on first use."""

    def __init__(self, *texts: Iterable[Hashable]) -> None:
        self._texts = texts
        self._counts: list[Counter[Hashable]] = []

    def __call__(self, item: Hashable) -> bool:
        if not self._counts:
            self._counts = [Counter(text) for text in self._texts]
        return all(counts[item] == 1 for counts in self._counts)


class MovedBlocks:
    """Blocks of new lines that are old lines at another place; each line is used once.

    ``old`` and ``new`` are the items of unmatched lines by position. ``count_characters`` returns the informative
    characters of a new line, 0 for an uninformative one. ``is_only`` tests whether an item is unique on both sides.
    """

    def __init__(
        self,
        old: Mapping[int, Hashable],
        new: Mapping[int, Hashable],
        count_characters: Callable[[int], int],
        is_only: Callable[[Hashable], bool],
    ) -> None:
        self._old = old
        self._new = new
        self._count_characters = count_characters
        self._is_only = is_only

    def blocks(self, characters_min: int) -> dict[int, int]:
        """Return the old line of each moved new line, in blocks of at least ``characters_min`` characters."""
        candidates = {item for j, item in self._new.items() if self._count_characters(j)}
        positions: dict[Hashable, list[int]] = {}
        for i, item in self._old.items():
            if item in candidates:
                positions.setdefault(item, []).append(i)
        moved: dict[int, int] = {}
        used: set[int] = set()
        for j, item in self._new.items() if positions else ():
            if item in positions and j not in moved and self._count_characters(j):
                block = self._longest(j, positions[item], used, moved)
                characters = sum(self._count_characters(k) for k, _ in block)
                if characters >= characters_min and self._is_recognized(block):
                    moved.update(block)
                    used.update(i for _, i in block)
        return moved

    def _is_recognized(self, block: Sequence[LinePair]) -> bool:
        """Return whether a block has two informative lines, or a unique one."""
        informative = [k for k, _ in block if self._count_characters(k)]
        return len(informative) > 1 or all(self._is_only(self._new[k]) for k in informative)

    def _longest(self, j: int, starts: Sequence[int], used: set[int], moved: dict[int, int]) -> list[LinePair]:
        """Return the longest run of new lines around ``j`` that equals unused old lines, as pairs (new, old)."""
        best: list[LinePair] = []
        for start in starts:
            block: list[LinePair] = []
            for step, (i, k) in ((1, (start, j)), (-1, (start - 1, j - 1))):
                while self._is_same(i, k, used) and k not in moved and (step > 0 or not self._count_characters(k)):
                    block.append((k, i))
                    i, k = i + step, k + step
            if len(block) > len(best):
                best = block
        return best

    def _is_same(self, i: int, k: int, used: set[int]) -> bool:
        return i in self._old and k in self._new and i not in used and self._old[i] == self._new[k]


def count_informative_characters(line: str) -> int:
    """Return the characters of a line without white space; 0 for an uninformative line."""
    return len(strip_lineage_whitespace(line)) if is_informative_lineage_line(line) else 0


def match_moved_line_blocks(
    old: Sequence[str], new: Sequence[str], matches: dict[int, int], characters_min: int
) -> dict[int, int]:
    """Return moved old lines of new lines that ``matches`` lacks, in blocks of at least ``characters_min``."""
    used = set(matches.values())
    return MovedBlocks(
        {i: strip_lineage_whitespace(line) for i, line in enumerate(old) if i not in used},
        {j: strip_lineage_whitespace(line) for j, line in enumerate(new) if j not in matches},
        lambda j: count_informative_characters(new[j]),
        SingleOccurrence(map(strip_lineage_whitespace, old), map(strip_lineage_whitespace, new)),
    ).blocks(characters_min)


class WordShare(Struct, frozen=True):
    """The old lines that a new line's words come from, and the words that they lost on the way."""

    parts: tuple[tuple[int, int], ...]
    """Old line and its count of words, the highest count first."""
    total: int
    removed: tuple[str, ...] = ()

    @property
    def whole(self) -> int:
        """The words of the line before or after the change, whichever are more: removing counts as adding does."""
        kept = sum(count for _, count in self.parts)
        return max(self.total, kept + len(self.removed))

    @property
    def share(self) -> float:
        """The share of the line's words that are unchanged from old lines."""
        return sum(count for _, count in self.parts) / self.whole if self.whole else 0.0


def trace_carried_words(
    old: Sequence[str], new: Sequence[str] | Mapping[int, str], gap: UnmatchedRange
) -> dict[int, WordShare]:
    """Return where the words of a gap's new lines come from, aligned over the whole gap."""
    ours = [(word, i) for i in range(gap.old_first, gap.old_end) for word in split_lineage_words(old[i])]
    theirs = [(word, j) for j in range(gap.new_first, gap.new_end) for word in split_lineage_words(new[j])]
    if not ours or not theirs or len(ours) * len(theirs) > WORDS_PRODUCT_MAX:
        return {}
    pairs = align_carried_items([word for word, _ in ours], [word for word, _ in theirs])
    word_counts: dict[int, Counter[int]] = {}
    for at, to in pairs:
        word_counts.setdefault(theirs[to][1], Counter())[ours[at][1]] += 1
    parts = {
        j: tuple(sorted(counts.items(), key=lambda part: (-part[1], part[0]))) for j, counts in word_counts.items()
    }
    removed = _find_removed_words(ours, {at for at, _ in pairs}, parts)
    return {
        j: _count_changed_operators(
            WordShare(sources, len(split_lineage_words(new[j])), tuple(removed.get(j, ()))), old, new[j]
        )
        for j, sources in parts.items()
    }


def _find_removed_words(
    words: Sequence[tuple[str, int]], kept: Container[int], parts: Mapping[int, Sequence[tuple[int, int]]]
) -> dict[int, list[str]]:
    """Return the words that each new line lost; ``words`` have their old lines, ``kept`` are positions among them.

    A word is lost by the new line that has most words of the old one. The old line must be the main source of the new
    one, or have most of its words there: a few common words do not make it an earlier version.
    """
    totals = Counter(i for _, i in words)
    targets: dict[int, tuple[int, int]] = {}
    for j, sources in sorted(parts.items()):
        for i, count in sources:
            if count > targets.get(i, (0, 0))[0]:
                targets[i] = (count, j)
    removed: dict[int, list[str]] = {}
    for at, (word, i) in enumerate(words):
        count, j = targets.get(i, (0, 0))
        if count and at not in kept and (parts[j][0][0] == i or count * 2 >= totals[i]):
            removed.setdefault(j, []).append(word)
    return removed


def _count_changed_operators(words: WordShare, old: Sequence[str], new: str) -> WordShare:
    """Return the share of a line with the words of one old line, where each changed operator counts as a word."""
    is_same_words = len(words.parts) == 1 and not words.removed and words.parts[0][1] == words.total
    if not is_same_words:
        return words
    (i, count) = words.parts[0]
    if len(split_lineage_words(old[i])) != count:
        return words
    before, after = Counter(split_lineage_operators(old[i])), Counter(split_lineage_operators(new))
    removed = tuple((before - after).elements())
    return WordShare(words.parts, words.total + (after - before).total(), removed)


def _trim_carried_line_ends(
    old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange, blocks: list[EqualBlock]
) -> UnmatchedRange:
    """Return the gap without the equal items at its ends, which are added to ``blocks``."""
    i, j, i_end, j_end = gap.old_first, gap.new_first, gap.old_end, gap.new_end
    length = min(i_end - i, j_end - j)
    head = _measure_carried_run(lambda at, to: old[i + at : i + to] == new[j + at : j + to], length)
    length -= head
    tail = _measure_carried_run(lambda at, to: old[i_end - to : i_end - at] == new[j_end - to : j_end - at], length)
    if head:
        blocks.append(EqualBlock(i, j, head))
    if tail:
        blocks.append(EqualBlock(i_end - tail, j_end - tail, tail))
    return UnmatchedRange(i + head, i_end - tail, j + head, j_end - tail)


def _measure_carried_run(is_equal: Callable[[int, int], bool], length_max: int) -> int:
    """Return the length of an equal run, compared in steps that grow while equal and shrink otherwise."""
    length, step = 0, 1
    while length < length_max:
        step = min(step, length_max - length)
        if is_equal(length, length + step):
            length += step
            step *= 2
        elif step == 1:
            break
        else:
            step = max(1, step // 4)
    return length


def _find_unique_line_anchors(old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange) -> list[LinePair]:
    """Return the longest rising chain of items that occur once on each side."""
    ours = _index_unique_lines(old, gap.old_first, gap.old_end)
    theirs = _index_unique_lines(new, gap.new_first, gap.new_end)
    common = sorted((i, theirs[item]) for item, i in ours.items() if item in theirs)
    return _find_rising_line_pairs(common)


def _index_unique_lines(items: Sequence[Hashable], first: int, end: int) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for position in range(first, end):
        item = items[position]
        if item in positions:
            repeated.add(item)
        else:
            positions[item] = position
    for item in repeated:
        del positions[item]
    return positions


def _find_rising_line_pairs(pairs: list[LinePair]) -> list[LinePair]:
    """Return the longest subsequence with rising second numbers (patience sorting)."""
    tops: list[int] = []
    top_index: list[int] = []
    before: list[int] = [-1] * len(pairs)
    for n, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        if pile:
            before[n] = top_index[pile - 1]
        if pile == len(tops):
            tops.append(j)
            top_index.append(n)
        else:
            tops[pile] = j
            top_index[pile] = n
    chain: list[LinePair] = []
    n = top_index[-1] if top_index else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]


def _find_longest_carried_blocks(
    old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange
) -> list[EqualBlock]:
    """Return the blocks of a gap without unique items: the longest equal run first, then both sides of it."""
    ours, theirs = old[gap.old_first : gap.old_end], new[gap.new_first : gap.new_end]
    if len(ours) * len(theirs) > GAP_PRODUCT_MAX or set(ours).isdisjoint(theirs):
        return []
    if len(ours) == 1 or len(theirs) == 1:
        i, j = next((i, theirs.index(item)) for i, item in enumerate(ours) if item in theirs)
        return [EqualBlock(gap.old_first + i, gap.new_first + j, 1)]
    runs = find_longest_runs(ours, theirs)
    return [EqualBlock(gap.old_first + i, gap.new_first + j, length) for i, j, length in runs]
