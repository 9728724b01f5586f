"""Which new line comes from which old line: equal lines first, then white space aside, then moved blocks, then words.

One function for every step of a line's life: from one captured state to the next call's text, inside one call, from a
parent's file to a commit's. Positions count: of two equal lines, the one at the same place is the same line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from custody.attribute.text import bare, is_informative, words_of

GAP_PRODUCT_MAX = 1_000_000
"""Old times new lines of a stretch in which no line is unique: beyond it, only its two ends are compared."""
WORDS_PRODUCT_MAX = 4_000_000
"""The same for words."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without a match: old lines ``old_first`` up to ``old_end``, new lines likewise."""

    old_first: int
    old_end: int
    new_first: int
    new_end: int


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Pairs of equal items, rising on both sides: ends first, then items that are unique on both, then what is between.

    >>> align("abcd", "xbcy")
    [(1, 1), (2, 2)]
    """
    pairs: list[Pair] = []
    waiting = [Gap(0, len(old), 0, len(new))]
    while waiting:
        gap = waiting.pop()
        inner = _trimmed(old, new, gap, pairs)
        if inner.old_first == inner.old_end or inner.new_first == inner.new_end:
            continue
        anchors = _anchors(old, new, inner)
        if anchors:
            pairs.extend(anchors)
            waiting.extend(gaps_between(anchors, inner))
        else:
            pairs.extend(_longest(old, new, inner))
    pairs.sort()
    return pairs


def gaps_between(pairs: Sequence[Pair], whole: Gap) -> Iterator[Gap]:
    """The stretches that ``pairs`` leave between them inside ``whole``, where either side has lines."""
    old_at, new_at = whole.old_first, whole.new_first
    for i, j in (*pairs, (whole.old_end, whole.new_end)):
        if i > old_at or j > new_at:
            yield Gap(old_at, i, new_at, j)
        old_at, new_at = i + 1, j + 1


def matched_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """For each new line the old line that it is: the same text, or the same but for white space, at the same place.

    A line that says little never leads: it is the same line only beside one that says something.
    """
    pairs = align(old, new)
    for gap in list(gaps_between(pairs, Gap(0, len(old), 0, len(new)))):
        if gap.old_first < gap.old_end and gap.new_first < gap.new_end:
            ours = [bare(line) for line in old[gap.old_first : gap.old_end]]
            theirs = [bare(line) for line in new[gap.new_first : gap.new_end]]
            pairs.extend((gap.old_first + i, gap.new_first + j) for i, j in align(ours, theirs))
    return {j: i for run in runs(sorted(pairs)) if any(is_informative(new[j]) for _, j in run) for i, j in run}


def runs(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs that follow each other on both sides, together."""
    run: list[Pair] = []
    for i, j in pairs:
        if run and (i, j) != (run[-1][0] + 1, run[-1][1] + 1):
            yield run
            run = []
        run.append((i, j))
    if run:
        yield run


class Moved:
    """Blocks of new lines that are old lines at another place; each line is used once.

    ``old`` and ``new`` are what stands for a line; ``signs`` is how much each new line says, 0 for one that says
    little. ``taken`` and ``placed`` are old and new lines that are spoken for.
    """

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable], signs: Sequence[int]) -> None:
        self._old = old
        self._new = new
        self._signs = signs

    def blocks(self, taken: set[int], placed: Container[int], signs_min: int) -> dict[int, int]:
        """For new lines that are not placed, the free old lines that they are, in blocks of at least so many signs."""
        wanted = {item for j, item in enumerate(self._new) if self._signs[j] and j not in placed}
        places: dict[Hashable, list[int]] = {}
        for i, item in enumerate(self._old):
            if item in wanted and i not in taken:
                places.setdefault(item, []).append(i)
        moved: dict[int, int] = {}
        for j in range(len(self._new)) if places else ():
            if self._signs[j] and j not in placed and j not in moved:
                block = self._longest(j, places, taken, placed, moved)
                if sum(self._signs[k] for k, _ in block) >= signs_min and self._is_recognised(block):
                    moved.update(block)
                    taken.update(i for _, i in block)
        return moved

    def _is_recognised(self, block: Sequence[Pair]) -> bool:
        """Whether a block is known again: two lines that say something are; a single one must be the only one."""
        telling = [(k, i) for k, i in block if self._signs[k]]
        if len(telling) > 1:
            return True
        return all(
            self._count(self._new, self._new[k]) == 1 == self._count(self._old, self._old[i]) for k, i in telling
        )

    @staticmethod
    def _count(items: Sequence[Hashable], item: Hashable) -> int:
        return sum(1 for other in items if other == item)

    def _longest(
        self,
        j: int,
        places: dict[Hashable, list[int]],
        taken: set[int],
        placed: Container[int],
        moved: dict[int, int],
    ) -> list[Pair]:
        """The longest run of new lines around ``j`` that some free run of old lines equals, as pairs (new, old)."""
        best: list[Pair] = []
        for start in places.get(self._new[j], ()):
            block: list[Pair] = []
            for step, (i, k) in ((1, (start, j)), (-1, (start - 1, j - 1))):
                while self._is_same(i, k, taken, placed) and k not in moved and (step > 0 or not self._signs[k]):
                    block.append((k, i))
                    i, k = i + step, k + step
            if len(block) > len(best):
                best = block
        return best

    def _is_same(self, i: int, k: int, taken: set[int], placed: Container[int]) -> bool:
        inside = 0 <= i < len(self._old) and 0 <= k < len(self._new)
        return inside and i not in taken and k not in placed and self._old[i] == self._new[k]


def signs_of(line: str) -> int:
    """How much a line says: its signs other than white space, 0 for one that says little."""
    return len(bare(line)) if is_informative(line) else 0


def moved_blocks(old: Sequence[str], new: Sequence[str], found: dict[int, int], signs_min: int) -> dict[int, int]:
    """For new lines that have no match, old ones without a match elsewhere: blocks of at least so many signs."""
    moved = Moved([bare(line) for line in old], [bare(line) for line in new], [signs_of(line) for line in new])
    return moved.blocks(set(found.values()), found, signs_min)


@dataclass(frozen=True, slots=True)
class Words:
    """How much of a new line's words come from which old lines."""

    parts: tuple[tuple[int, int], ...]
    """Old line and how many words it gave, the most generous first."""
    total: int

    @property
    def share(self) -> float:
        """The part of the line's words that is from old lines."""
        return sum(count for _, count in self.parts) / self.total if self.total else 0.0


def shared_words(old: Sequence[str], new: Sequence[str], gap: Gap) -> dict[int, Words]:
    """For the new lines of a replaced stretch, where their words come from, aligned over the whole stretch."""
    ours = [(word, i) for i in range(gap.old_first, gap.old_end) for word in words_of(old[i])]
    theirs = [(word, j) for j in range(gap.new_first, gap.new_end) for word in words_of(new[j])]
    if not ours or not theirs or len(ours) * len(theirs) > WORDS_PRODUCT_MAX:
        return {}
    given: dict[int, Counter[int]] = {}
    for i, j in align([word for word, _ in ours], [word for word, _ in theirs]):
        given.setdefault(theirs[j][1], Counter())[ours[i][1]] += 1
    return {
        j: Words(tuple(sorted(counts.items(), key=lambda part: (-part[1], part[0]))), len(words_of(new[j])))
        for j, counts in given.items()
    }


def _trimmed(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap, pairs: list[Pair]) -> Gap:
    """The gap without the equal items at its ends, which are added to ``pairs``."""
    i, j, i_end, j_end = gap.old_first, gap.new_first, gap.old_end, gap.new_end
    while i < i_end and j < j_end and old[i] == new[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
        pairs.append((i_end, j_end))
    return Gap(i, i_end, j, j_end)


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    """The longest rising chain of items that occur once on either side."""
    ours = _places_of_unique(old, gap.old_first, gap.old_end)
    theirs = _places_of_unique(new, gap.new_first, gap.new_end)
    common = sorted((i, theirs[item]) for item, i in ours.items() if item in theirs)
    return _rising(common)


def _places_of_unique(items: Sequence[Hashable], first: int, end: int) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    again: set[Hashable] = set()
    for place in range(first, end):
        item = items[place]
        if item in places:
            again.add(item)
        else:
            places[item] = place
    for item in again:
        del places[item]
    return places


def _rising(pairs: list[Pair]) -> list[Pair]:
    """The longest subsequence whose second numbers rise (patience sorting)."""
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
    chain: list[Pair] = []
    n = top_index[-1] if top_index else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]


def _longest(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    """Pairs in a stretch where nothing is unique: the longest equal run first, then what is on its two sides."""
    ours, theirs = old[gap.old_first : gap.old_end], new[gap.new_first : gap.new_end]
    if len(ours) * len(theirs) > GAP_PRODUCT_MAX:
        return []
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return [
        (gap.old_first + block.a + step, gap.new_first + block.b + step)
        for block in blocks
        for step in range(block.size)
    ]
