"""Whether a commit took back what an earlier one did, by the lines of the files that the earlier one changed.

A file is looked at in four states: before and after the earlier commit, before and after the later one. What the
earlier one added and the later one removed is taken back, and what it removed and the later one added. Only what was
left of the earlier one can be taken back: what others had changed in between counts on neither side. Which line stood
where does not matter, so that an edit in between does not hide a revert.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from custody.trust.rules import TrustRules

T = TypeVar("T")
LineCounts = Mapping[bytes, int]
"""How often each line stands in a file; none in one that is not there."""


class UndoShare(Enum):
    """How much of a commit was taken back."""

    WHOLE = "whole"
    PARTIAL = "partial"
    NOTHING = "nothing"
    """All of it is still there."""
    GONE = "gone"
    """Some or all of it was rewritten before, and nothing that was left of it was taken back."""


@dataclass(frozen=True, slots=True)
class UndoMeasure:
    """Of ``changed`` lines of a commit ``left`` were still as it had left them, and ``taken`` of these were undone."""

    changed: int = 0
    left: int = 0
    taken: int = 0

    def __add__(self, other: "UndoMeasure") -> "UndoMeasure":
        return UndoMeasure(self.changed + other.changed, self.left + other.left, self.taken + other.taken)

    @property
    def share(self) -> float:
        """What was taken back of what was left."""
        return self.taken / self.left if self.left else 0.0

    def how_much(self, rules: TrustRules) -> UndoShare:
        """In a word."""
        if not self.taken:
            return UndoShare.NOTHING if self.left and self.left == self.changed else UndoShare.GONE
        enough = self.left >= self.changed * rules.revert_left_min and self.share >= rules.revert_share_min
        return UndoShare.WHOLE if enough else UndoShare.PARTIAL


UNDONE_NOTHING = UndoMeasure()


class States(NamedTuple, Generic[T]):
    """One file before and after the earlier commit, and before and after the later one."""

    old: T
    new: T
    then: T
    now: T


def undone_lines(states: States[LineCounts]) -> UndoMeasure:
    """What of the lines that the earlier commit added or removed the later one took back.

    >>> undone_lines(States({b"a": 1}, {b"a": 1, b"b": 2}, {b"a": 1, b"b": 2}, {b"a": 1}))
    UndoMeasure(changed=2, left=2, taken=2)
    """
    return sum((_undone(line, states) for line in _telling(states.old, states.new)), UNDONE_NOTHING)


def undone_whole(states: States[str | None]) -> UndoMeasure:
    """The same for what is compared as a whole: a binary file, a link, a mode."""
    old, new, then, now = states
    left = int(then == new)
    return UndoMeasure(1, left, int(bool(left) and now == old))


def has_word(line: bytes) -> bool:
    """Whether a line says anything: a bracket, or nothing at all, is in every file."""
    return any(byte > 127 or chr(byte).isalnum() for byte in line)


def lines_of(text: bytes) -> LineCounts:
    """The lines of a file, without the white space around them."""
    return Counter(line.strip() for line in text.splitlines())


def _telling(old: LineCounts, new: LineCounts) -> Iterable[bytes]:
    """The lines of which there are more or fewer than before: those with a word in them, where there are any."""
    changed = [line for line in {**old, **new} if old.get(line, 0) != new.get(line, 0)]
    return [line for line in changed if has_word(line)] or changed


def _undone(line: bytes, states: States[LineCounts]) -> UndoMeasure:
    old, new, then, now = (state.get(line, 0) for state in states)
    added = new > old
    changed = abs(new - old)
    # What moved in the commit's own direction takes nothing from it; what moved against it does.
    lost = max(0, new - then) if added else max(0, then - new)
    left = max(0, changed - lost)
    back = max(0, then - now) if added else max(0, now - then)
    return UndoMeasure(changed, left, min(left, back))
