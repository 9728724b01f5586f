"""Which new line comes from which old line: equal lines first, then white space aside, then moved blocks, then words.

One function for every step of a line's life: from one captured state to the next call's text, inside one call, from a
parent's file to a commit's. Positions count: of two equal lines, the one at the same place is the same line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from custody.attribution.text import bare, is_informative, split_line_words

GAP_PRODUCT_MAX = 1_000_000
"""Old times new lines of a stretch in which no line is unique: beyond it, only its two ends are compared."""
SLID_LINES_MIN = 3
"""How many lines must be the same before what was added beside a replacement is taken to stand below them."""
WORDS_PRODUCT_MAX = 4_000_000
"""The same for words."""

MOVED_CHARACTERS_MIN = 24
"""Characters other than white space that a block needs to be recognized at another place; less occurs by chance."""

LinePair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class UnmatchedRange:
    """A stretch without a match: old lines ``old_first`` up to ``old_end``, new lines likewise."""

    old_first: int
    old_end: int
    new_first: int
    new_end: int


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[LinePair]:
    """Pairs of equal items, rising on both sides.

    >>> align("abcd", "xbcy")
    [(1, 1), (2, 2)]
    """
    return [pair for block in equal_blocks(old, new) for pair in block.pairs]


def equal_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list["EqualBlock"]:
    """Runs of equal items, rising on both sides: ends first, then items that are unique on both, then what is between.

    Runs are as long as they can be: two that touch are one.
    """
    old, new = list(old), list(new)  # slices of both are compared, which a tuple and a list never survive
    found: list[EqualBlock] = []
    waiting = [UnmatchedRange(0, len(old), 0, len(new))]
    while waiting:
        gap = waiting.pop()
        inner = _trimmed(old, new, gap, found)
        if inner.old_first == inner.old_end or inner.new_first == inner.new_end:
            continue
        anchors = _anchors(old, new, inner)
        if anchors:
            blocks = [EqualBlock(run[0][0], run[0][1], len(run)) for run in runs(anchors)]
            found.extend(blocks)
            waiting.extend(gaps_of(blocks, inner))
        else:
            found.extend(_longest(old, new, inner))
    return _slid(old, new, _joined(sorted(found)))


class EqualBlock(NamedTuple):
    """``length`` equal items from ``old`` and from ``new`` on."""

    old: int
    new: int
    length: int

    @property
    def pairs(self) -> Iterator[LinePair]:
        """Its items one by one, as pairs (old, new)."""
        return zip(range(self.old, self.old + self.length), range(self.new, self.new + self.length), strict=True)


def _joined(blocks: Iterable[EqualBlock]) -> list[EqualBlock]:
    joined: list[EqualBlock] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and (last.old + last.length, last.new + last.length) == (block.old, block.new):
            joined[-1] = EqualBlock(last.old, last.new, last.length + block.length)
        else:
            joined.append(block)
    return joined


def _slid(old: Sequence[Hashable], new: Sequence[Hashable], blocks: list[EqualBlock]) -> list[EqualBlock]:
    """The blocks with everything inserted or deleted as far down as it can stand: a copy comes after its original.

    Where lines were replaced too, these are taken one for one, and what is more slides only past several lines.
    """
    slid: list[EqualBlock] = []
    for block in blocks:
        last = slid[-1] if slid else EqualBlock(0, 0, 0)
        old_at, new_at = last.old + last.length, last.new + last.length
        replaced = min(block.old - old_at, block.new - new_at)
        if block.new - new_at > replaced:
            step = _slide(new, new_at + replaced, block.new, block.length)
        elif block.old - old_at > replaced:
            step = _slide(old, old_at + replaced, block.old, block.length)
        else:
            step = 0
        if step and (not replaced or step >= SLID_LINES_MIN):
            slid.append(EqualBlock(old_at + replaced, new_at + replaced, step))
            block = EqualBlock(block.old + step, block.new + step, block.length - step)
        if block.length:
            slid.append(block)
    return _joined(slid)


def _slide(items: Sequence[Hashable], first: int, end: int, most: int) -> int:
    """How many lines the stretch from ``first`` up to ``end`` can move down: what it takes in equals what it leaves."""
    step = 0
    while step < most and items[first + step] == items[end + step]:
        step += 1
    return step


def gaps_of(blocks: Sequence[EqualBlock], whole: UnmatchedRange) -> Iterator[UnmatchedRange]:
    """The stretches that ``blocks`` leave between them inside ``whole``, where either side has lines."""
    old_at, new_at = whole.old_first, whole.new_first
    for block in (*blocks, EqualBlock(whole.old_end, whole.new_end, 0)):
        if block.old > old_at or block.new > new_at:
            yield UnmatchedRange(old_at, block.old, new_at, block.new)
        old_at, new_at = block.old + block.length, block.new + block.length


def gaps_between(pairs: Sequence[LinePair], whole: UnmatchedRange) -> Iterator[UnmatchedRange]:
    """The stretches that ``pairs`` leave between them inside ``whole``, where either side has lines."""
    old_at, new_at = whole.old_first, whole.new_first
    for i, j in (*pairs, (whole.old_end, whole.new_end)):
        if i > old_at or j > new_at:
            yield UnmatchedRange(old_at, i, new_at, j)
        old_at, new_at = i + 1, j + 1


def matched_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """For each new line the old line that it is: the same text, or the same but for white space, at the same place.

    A line that says little never leads: it is the same line only beside one that says something.
    """
    blocks = equal_blocks(old, new)
    for gap in list(gaps_of(blocks, UnmatchedRange(0, len(old), 0, len(new)))):
        if gap.old_first < gap.old_end and gap.new_first < gap.new_end:
            ours = [bare(line) for line in old[gap.old_first : gap.old_end]]
            theirs = [bare(line) for line in new[gap.new_first : gap.new_end]]
            inside = equal_blocks(ours, theirs)
            blocks.extend(EqualBlock(gap.old_first + b.old, gap.new_first + b.new, b.length) for b in inside)
    found: dict[int, int] = {}
    for block in _joined(sorted(blocks)):
        if any(is_informative(line) for line in islice(new, block.new, block.new + block.length)):
            found.update((j, i) for i, j in block.pairs)
    return found


def runs(pairs: Iterable[LinePair]) -> Iterator[list[LinePair]]:
    """Pairs that follow each other on both sides, together."""
    run: list[LinePair] = []
    for i, j in pairs:
        if run and (i, j) != (run[-1][0] + 1, run[-1][1] + 1):
            yield run
            run = []
        run.append((i, j))
    if run:
        yield run


class SingleOccurrence:
    """Whether an item stands but once in each of several texts; they are counted when it is first asked."""

    def __init__(self, *texts: Iterable[Hashable]) -> None:
        self._texts = texts
        self._counts: list[Counter[Hashable]] = []

    def __call__(self, item: Hashable) -> bool:
        if not self._counts:
            self._counts = [Counter(text) for text in self._texts]
        return all(counts[item] == 1 for counts in self._counts)


class MovedBlocks:
    """Blocks of new lines that are old lines at another place; each line is used once.

    ``old`` and ``new`` are what stands for the lines that are free, by their place; ``signs`` is how much each new one
    says, 0 for one that says little. ``is_only`` tells whether an item stands but once on either side of the whole.
    """

    def __init__(
        self,
        old: Mapping[int, Hashable],
        new: Mapping[int, Hashable],
        signs: Callable[[int], int],
        is_only: Callable[[Hashable], bool],
    ) -> None:
        self._old = old
        self._new = new
        self._signs = signs
        self._is_only = is_only

    def blocks(self, signs_min: int) -> dict[int, int]:
        """For new lines, the old lines that they are, in blocks of at least so many signs."""
        wanted = {item for j, item in self._new.items() if self._signs(j)}
        places: dict[Hashable, list[int]] = {}
        for i, item in self._old.items():
            if item in wanted:
                places.setdefault(item, []).append(i)
        moved: dict[int, int] = {}
        taken: set[int] = set()
        for j, item in self._new.items() if places else ():
            if item in places and j not in moved and self._signs(j):
                block = self._longest(j, places[item], taken, moved)
                if sum(self._signs(k) for k, _ in block) >= signs_min and self._is_recognised(block):
                    moved.update(block)
                    taken.update(i for _, i in block)
        return moved

    def _is_recognised(self, block: Sequence[LinePair]) -> bool:
        """Whether a block is known again: two lines that say something are; a single one must be the only one."""
        telling = [k for k, _ in block if self._signs(k)]
        return len(telling) > 1 or all(self._is_only(self._new[k]) for k in telling)

    def _longest(self, j: int, starts: Sequence[int], taken: set[int], moved: dict[int, int]) -> list[LinePair]:
        """The longest run of new lines around ``j`` that some free run of old lines equals, as pairs (new, old)."""
        best: list[LinePair] = []
        for start in starts:
            block: list[LinePair] = []
            for step, (i, k) in ((1, (start, j)), (-1, (start - 1, j - 1))):
                while self._is_same(i, k, taken) and k not in moved and (step > 0 or not self._signs(k)):
                    block.append((k, i))
                    i, k = i + step, k + step
            if len(block) > len(best):
                best = block
        return best

    def _is_same(self, i: int, k: int, taken: set[int]) -> bool:
        return i in self._old and k in self._new and i not in taken and self._old[i] == self._new[k]


def signs_of(line: str) -> int:
    """How much a line says: its signs other than white space, 0 for one that says little."""
    return len(bare(line)) if is_informative(line) else 0


def moved_blocks(old: Sequence[str], new: Sequence[str], found: dict[int, int], signs_min: int) -> dict[int, int]:
    """For new lines that have no match, old ones without a match elsewhere: blocks of at least so many signs."""
    taken = set(found.values())
    return MovedBlocks(
        {i: bare(line) for i, line in enumerate(old) if i not in taken},
        {j: bare(line) for j, line in enumerate(new) if j not in found},
        lambda j: signs_of(new[j]),
        SingleOccurrence(map(bare, old), map(bare, new)),
    ).blocks(signs_min)


@dataclass(frozen=True, slots=True)
class WordShare:
    """How much of a new line's words come from which old lines."""

    parts: tuple[tuple[int, int], ...]
    """Old line and how many words it gave, the most generous first."""
    total: int

    @property
    def share(self) -> float:
        """The part of the line's words that is from old lines."""
        return sum(count for _, count in self.parts) / self.total if self.total else 0.0


def align_words(
    old: Sequence[str], new: Sequence[str] | Mapping[int, str], gap: UnmatchedRange
) -> dict[int, WordShare]:
    """For the new lines of a replaced stretch, where their words come from, aligned over the whole stretch."""
    ours = [(word, i) for i in range(gap.old_first, gap.old_end) for word in split_line_words(old[i])]
    theirs = [(word, j) for j in range(gap.new_first, gap.new_end) for word in split_line_words(new[j])]
    if not ours or not theirs or len(ours) * len(theirs) > WORDS_PRODUCT_MAX:
        return {}
    given: dict[int, Counter[int]] = {}
    for i, j in align([word for word, _ in ours], [word for word, _ in theirs]):
        given.setdefault(theirs[j][1], Counter())[ours[i][1]] += 1
    return {
        j: WordShare(tuple(sorted(counts.items(), key=lambda part: (-part[1], part[0]))), len(split_line_words(new[j])))
        for j, counts in given.items()
    }


def _trimmed(
    old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange, found: list[EqualBlock]
) -> UnmatchedRange:
    """The gap without the equal items at its ends, which are added to ``found``."""
    i, j, i_end, j_end = gap.old_first, gap.new_first, gap.old_end, gap.new_end
    room = min(i_end - i, j_end - j)
    head = _equal_length(lambda at, to: old[i + at : i + to] == new[j + at : j + to], room)
    room -= head
    tail = _equal_length(lambda at, to: old[i_end - to : i_end - at] == new[j_end - to : j_end - at], room)
    if head:
        found.append(EqualBlock(i, j, head))
    if tail:
        found.append(EqualBlock(i_end - tail, j_end - tail, tail))
    return UnmatchedRange(i + head, i_end - tail, j + head, j_end - tail)


def _equal_length(is_equal: Callable[[int, int], bool], room: int) -> int:
    """How far two stretches are equal, compared in steps that grow while they are and shrink when they are not."""
    length, step = 0, 1
    while length < room:
        step = min(step, room - length)
        if is_equal(length, length + step):
            length += step
            step *= 2
        elif step == 1:
            break
        else:
            step = max(1, step // 4)
    return length


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange) -> list[LinePair]:
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


def _rising(pairs: list[LinePair]) -> list[LinePair]:
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
    chain: list[LinePair] = []
    n = top_index[-1] if top_index else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]


def _longest(old: Sequence[Hashable], new: Sequence[Hashable], gap: UnmatchedRange) -> list[EqualBlock]:
    """Blocks in a stretch where nothing is unique: the longest equal run first, then what is on its two sides."""
    ours, theirs = old[gap.old_first : gap.old_end], new[gap.new_first : gap.new_end]
    if len(ours) * len(theirs) > GAP_PRODUCT_MAX:
        return []
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return [EqualBlock(gap.old_first + block.a, gap.new_first + block.b, block.size) for block in blocks if block.size]
