"""Reverse one captured edit in a later text of its file, line by line, and spare what others changed since.

A line goes only if the selected work wrote it, or if its former text comes back in exchange. A block that somebody
changed is left as it is, and listed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from custody.core.patterns import lazy_pattern

SAME_WORDS_MIN = 0.95
"""Minimum share of a line's words in the text that comes back for it to be the same line with another layout."""

NEIGHBOR_LINES_MAX = 4
"""Maximum lines from a deleted block to the informative line that shows its place."""

_WORD = lazy_pattern(r"\w+")

EditPair = tuple[int, int]


class SparedReason(Enum):
    """Why a block was spared."""

    CHANGED = "changed"
    """Somebody else changed it since."""
    OTHERS = "others"
    """Its lines are not shown to be of the selected work."""
    REPLACED = "replaced"
    """What replaced the former text is gone, too."""
    NO_TEXT = "no_text"
    """The former text is neither in git nor in a live recording of this store."""
    MOVED = "moved"
    """Its lines are at another place or in another file now."""
    MIXED = "mixed"
    """Somebody else wrote a part of each line."""
    CONTESTED = "contested"
    """A person says that they wrote the lines."""
    WEAK = "weak"
    """The evidence is weak."""
    IMPORTED = "imported"
    """The evidence is imported, not recorded live."""
    FILE = "file"
    """The file itself cannot be changed."""


class UndoLine(NamedTuple):
    """One line of a file: its text as captures have it, and its key, which ignores white space.

    ``number`` is its line in the file; None for a line that comes back. ``is_own``: the selected work wrote it, and the
    evidence is strong enough. ``source`` is the edit and the line before it that a line comes back from.
    """

    text: str
    key: int
    number: int | None
    is_own: bool
    is_informative: bool
    source: EditPair | None = None


class EditTexts(Struct, frozen=True):
    """An edit's lines before, as they would come back, and after; ``pairs`` are the lines that it left alone."""

    before: Sequence[UndoLine]
    after: Sequence[UndoLine]
    pairs: Sequence[EditPair]


class SparedPlace(Struct, frozen=True):
    """Lines of the file that were left as they are; without any, ``below`` is the line above the place."""

    reason: SparedReason
    numbers: tuple[int, ...]
    below: int
    former: int = 0
    """How many former lines do not come back."""


class Reversal(Struct, frozen=True):
    """A text after an edit was reversed in it, as far as possible."""

    lines: Sequence[UndoLine]
    spared: tuple[SparedPlace, ...]


class _Block(NamedTuple):
    """Lines that an edit replaced: ``old`` before it by ``new`` after it; both ranges may be empty."""

    old: range
    new: range


class _Plan(Struct):
    """What happens to one block: the positions of the text to drop, and where its former lines come back."""

    block: _Block
    inner: range
    """The positions of the text between the neighbors of the block."""
    drops: list[int]
    returns: bool = False
    at: int = 0
    blocked: SparedReason | None = None
    borrowed: list[int] = []
    """Lines after the edit that go only if their text comes back from another block."""
    spared: list[int] = []


FormerText = Callable[[range], Sequence[UndoLine] | None]
"""Returns the lines that come back for a range of those before the edit; None if their text is not to be had."""


def reverse_edit(
    current: Sequence[UndoLine], edit: EditTexts, matches: Mapping[int, int], find_former: FormerText
) -> Reversal:
    """Return ``current`` without the edit; ``matches`` are the lines after the edit by their place in ``current``."""
    reverser = _Reverser(current, edit, matches, find_former)
    return reverser.reverse()


class _Reverser:
    def __init__(
        self, current: Sequence[UndoLine], edit: EditTexts, matches: Mapping[int, int], find_former: FormerText
    ) -> None:
        self._current = current
        self._edit = edit
        self._matches = matches
        self._find_former = find_former
        self._above, self._below = _find_neighbors(len(edit.after), matches, len(current))
        self._former: dict[range, Sequence[UndoLine] | None] = {}

    def reverse(self) -> Reversal:
        plans = [self._plan(block) for block in list_changed_blocks(self._edit)]
        while self._withdraw_borrowed(plans) or self._withdraw_copies(plans):
            pass
        drops = {position for plan in plans for position in plan.drops}
        returns: dict[int, list[UndoLine]] = {}
        for plan in plans:
            if plan.returns:
                returns.setdefault(plan.at, []).extend(self._find_text(plan.block.old) or ())
        lines: list[UndoLine] = []
        for position in range(len(self._current) + 1):
            lines.extend(returns.get(position, ()))
            if position < len(self._current) and position not in drops:
                lines.append(self._current[position])
        spared = tuple(self._spare(plan) for plan in plans if plan.blocked is not None)
        return Reversal(lines, spared)

    def _find_text(self, old: range) -> Sequence[UndoLine] | None:
        if old not in self._former:
            self._former[old] = self._find_former(old)
        return self._former[old]

    def _plan(self, block: _Block) -> _Plan:
        above = self._above[block.new.start]
        below = self._below[block.new.stop]
        plan = _Plan(block, range(above + 1, below), [])
        alive = [j for j in block.new if j in self._matches]
        here = {self._matches[j] for j in alive}
        extras = [position for position in plan.inner if position not in here]
        if block.old and self._is_back(block, extras, alive):
            return plan
        if not block.new:
            return self._plan_deletion(plan, extras)
        is_untouched = len(alive) == len(block.new) and not self._find_inner_extras(alive)
        removable = self._list_removable(alive, plan, is_untouched=is_untouched)
        if not block.old:
            return self._plan_addition(plan, alive, removable, extras)
        return self._plan_replacement(plan, alive, removable, extras)

    def _is_back(self, block: _Block, extras: Sequence[int], alive: Sequence[int]) -> bool:
        """Return whether somebody has brought the former text back already."""
        if alive or not extras:
            return False
        back = Counter(self._current[position].key for position in extras)
        former = Counter(self._edit.before[i].key for i in block.old)
        return former <= back

    def _plan_deletion(self, plan: _Plan, extras: Sequence[int]) -> _Plan:
        if extras or self._is_elsewhere(plan.block) or not self._is_anchored(plan.block):
            plan.blocked, plan.spared = SparedReason.CHANGED, [*extras]
        elif self._find_text(plan.block.old) is None:
            plan.blocked = SparedReason.NO_TEXT
        else:
            plan.returns, plan.at = True, plan.inner.start
        return plan

    def _is_elsewhere(self, block: _Block) -> bool:
        """Return whether the text has the deleted lines, though not from the edit: then it is another version."""
        former = Counter(self._edit.before[i].key for i in block.old if self._edit.before[i].is_informative)
        return bool(former) and former <= self._unmatched

    @cached_property
    def _unmatched(self) -> Counter[int]:
        known = set(self._matches.values())
        return Counter(line.key for position, line in enumerate(self._current) if position not in known)

    def _is_anchored(self, block: _Block) -> bool:
        """Return whether the place of deleted lines is recognized: beside it is what was beside it."""
        if not self._edit.after:
            return not self._current
        return self._has_neighbor(block.new.start - 1, -1) or self._has_neighbor(block.new.stop, 1)

    def _has_neighbor(self, first: int, step: int) -> bool:
        """Return whether the lines from ``first`` on in one direction are here in a row, up to an informative one."""
        after, place = self._edit.after, self._matches.get(first)
        for count in range(NEIGHBOR_LINES_MAX):
            at = first + count * step
            if not 0 <= at < len(after):
                edge = -1 if step < 0 else len(self._current)
                return count == 0 or (place is not None and place + count * step == edge)
            if place is None or self._matches.get(at) != place + count * step:
                return False
            if after[at].is_informative:
                return True
        return True

    def _plan_addition(
        self, plan: _Plan, alive: Sequence[int], removable: Sequence[int], extras: Sequence[int]
    ) -> _Plan:
        kept = [self._matches[j] for j in alive if j not in set(removable)]
        is_gone = len(alive) < len(plan.block.new)
        says_something = any(self._edit.after[j].is_informative for j in plan.block.new)
        if says_something and not any(self._edit.after[j].is_informative for j in removable):
            # What is left of it says too little to be recognized without its neighbors.
            kept, removable = [self._matches[j] for j in alive], []
        plan.drops = [self._matches[j] for j in removable]
        plan.borrowed = [j for j in plan.borrowed if j in set(removable)]
        if kept:
            plan.blocked, plan.spared = SparedReason.OTHERS, kept
        elif is_gone and extras:
            plan.blocked, plan.spared = SparedReason.CHANGED, [*extras]
        return plan

    def _plan_replacement(
        self, plan: _Plan, alive: Sequence[int], removable: Sequence[int], extras: Sequence[int]
    ) -> _Plan:
        is_gone = len(alive) < len(plan.block.new)
        here = [self._matches[j] for j in alive]
        if not alive:
            plan.blocked = SparedReason.CHANGED if extras else SparedReason.REPLACED
        elif len(removable) < len(alive):
            plan.blocked = SparedReason.OTHERS
        elif (is_gone and extras) or (not is_gone and self._find_inner_extras(alive)):
            plan.blocked = SparedReason.CHANGED
        elif self._find_text(plan.block.old) is None:
            plan.blocked = SparedReason.NO_TEXT
        if plan.blocked is not None:
            plan.spared = sorted({*here, *(extras if plan.blocked is SparedReason.CHANGED else ())})
            plan.borrowed = []
            return plan
        plan.drops, plan.returns, plan.at = here, True, here[0]
        return plan

    def _find_inner_extras(self, alive: Sequence[int]) -> bool:
        """Return whether there is anything else between the lines of a block."""
        if not alive:
            return False
        return self._matches[alive[-1]] - self._matches[alive[0]] + 1 != len(alive)

    def _list_removable(self, alive: Sequence[int], plan: _Plan, *, is_untouched: bool) -> list[int]:
        """Return the lines of a block that may go.

        A line that says little goes with its neighbors if the block is as it was written. It does not matter then which
        of several equal lines it is. Without neighbors it goes only if the whole text is as it was after the edit.
        """
        informative = [j for j in alive if self._edit.after[j].is_informative]
        sure = {j for j in informative if self._is_removable(j, plan)}
        follows = is_untouched and (len(sure) == len(informative) > 0 or self._is_whole)
        others = (j for j in alive if not self._edit.after[j].is_informative)
        sure.update(j for j in others if (follows and self._is_equal(j)) or self._is_removable(j, plan))
        return [j for j in alive if j in sure]

    @cached_property
    def _is_whole(self) -> bool:
        """Whether the text is as it was after the edit."""
        return [line.text for line in self._current] == [line.text for line in self._edit.after]

    def _is_equal(self, j: int) -> bool:
        return self._current[self._matches[j]].text == self._edit.after[j].text

    def _is_removable(self, j: int, plan: _Plan) -> bool:
        line, after = self._current[self._matches[j]], self._edit.after[j]
        if line.is_own:
            return True
        if line.text != after.text:
            return False
        if _comes_back(after, [self._edit.before[i] for i in plan.block.old]):
            return True
        plan.borrowed.append(j)
        return any(self._edit.before[i].key == after.key for i in self._list_changed_before())

    def _list_changed_before(self) -> Iterator[int]:
        kept = {i for i, _ in self._edit.pairs}
        return (i for i in range(len(self._edit.before)) if i not in kept)

    def _withdraw_borrowed(self, plans: Sequence[_Plan]) -> bool:
        """Give up the first block with a line that would not come back anywhere; return whether there was one."""
        back = Counter(self._edit.before[i].key for plan in plans if plan.returns for i in plan.block.old)
        for plan in plans:
            for j in plan.borrowed:
                if j in plan.block.new and self._matches[j] in plan.drops:
                    back[self._edit.after[j].key] -= 1
                    if back[self._edit.after[j].key] < 0:
                        self._withdraw(plan, SparedReason.OTHERS)
                        return True
        return False

    def _withdraw_copies(self, plans: Sequence[_Plan]) -> bool:
        """Give up the first block with lines that the edit only moved, and that stay where they are now."""
        drops = {position for plan in plans for position in plan.drops}
        stay = Counter(
            self._edit.after[j].key
            for plan in plans
            for j in plan.block.new
            if j in self._matches and self._matches[j] not in drops
        )
        for plan in plans:
            former = [self._edit.before[i] for i in plan.block.old] if plan.returns else []
            informative = Counter(line.key for line in former if line.is_informative)
            if informative and (informative & stay).total() * 2 >= informative.total():
                self._withdraw(plan, SparedReason.MOVED)
                return True
        return False

    def _withdraw(self, plan: _Plan, reason: SparedReason) -> None:
        plan.spared = [self._matches[j] for j in plan.block.new if j in self._matches]
        plan.drops, plan.returns, plan.borrowed = [], False, []
        plan.blocked = reason

    def _spare(self, plan: _Plan) -> SparedPlace:
        assert plan.blocked is not None, "the caller spares blocked plans only"
        numbers = [self._current[position].number for position in plan.spared]
        above = (self._current[position].number for position in range(plan.inner.start - 1, -1, -1))
        return SparedPlace(
            reason=plan.blocked,
            numbers=tuple(sorted(number for number in numbers if number is not None)),
            below=next((number for number in above if number is not None), 0),
            former=0 if plan.returns else len(plan.block.old),
        )


def list_changed_blocks(edit: EditTexts) -> list[_Block]:
    """Return what an edit replaced, from the first line on."""
    blocks, old, new = [], 0, 0
    for i, j in (*edit.pairs, (len(edit.before), len(edit.after))):
        if i > old or j > new:
            blocks.append(_Block(range(old, i), range(new, j)))
        old, new = i + 1, j + 1
    return blocks


def _find_neighbors(count: int, matches: Mapping[int, int], end: int) -> tuple[list[int], list[int]]:
    """Return, for each line after the edit, the place of the last matched line above it and of the first from it on."""
    above, below = [-1] * (count + 1), [end] * (count + 1)
    for j in range(count):
        above[j + 1] = matches.get(j, above[j])
    for j in range(count - 1, -1, -1):
        below[j] = matches.get(j, below[j + 1])
    return above, below


def _comes_back(line: UndoLine, former: Sequence[UndoLine]) -> bool:
    """Return whether the text before a block has the same line, perhaps with another layout."""
    words = _WORD.findall(line.text)
    if any(other.key == line.key for other in former):
        return True
    if not words or not former:
        return False
    known = Counter(word for other in former for word in _WORD.findall(other.text))
    return (Counter(words) & known).total() >= SAME_WORDS_MIN * len(words)
