"""Whether a commit reverts an earlier one, by the lines of the files that the earlier one changed.

A file is compared in four states: before and after the earlier commit, before and after the later one. A line is
reverted if the earlier commit added it and the later one removed it, or the other way around. Only lines that were
still there can be reverted: edits in between count on neither side. The position of lines does not matter, so that an
edit in between does not hide a revert.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

REVERT_SHARE_MIN = 0.8
"""The share of a commit's remaining lines that must be undone for it to count as reverted."""
REVERT_LEFT_MIN = 0.5
"""The share of a commit that must remain for that; a commit that was mostly rewritten is not reverted whole."""

T = TypeVar("T")
LineCounts = Mapping[bytes, int]
"""How often each line occurs in a file; empty for a missing file."""


class UndoShare(Enum):
    """How much of a commit was reverted."""

    WHOLE = "whole"
    PARTIAL = "partial"
    NOTHING = "nothing"
    """All of it is still there."""
    GONE = "gone"
    """Some or all of it was rewritten before, and nothing of the rest was reverted."""


class UndoMeasure(Struct, frozen=True):
    """Of the ``changed`` lines of a commit ``left`` were still unchanged, and ``taken`` of these were reverted."""

    changed: int = 0
    left: int = 0
    taken: int = 0

    def __add__(self, other: "UndoMeasure") -> "UndoMeasure":
        return UndoMeasure(self.changed + other.changed, self.left + other.left, self.taken + other.taken)

    @property
    def share(self) -> float:
        """Return the reverted share of the lines that were left."""
        return self.taken / self.left if self.left else 0.0

    def classify_share(self) -> UndoShare:
        """Return the class of this share."""
        if not self.taken:
            return UndoShare.NOTHING if self.left and self.left == self.changed else UndoShare.GONE
        enough = self.left >= self.changed * REVERT_LEFT_MIN and self.share >= REVERT_SHARE_MIN
        return UndoShare.WHOLE if enough else UndoShare.PARTIAL


UNDONE_NOTHING = UndoMeasure()


class States(NamedTuple, Generic[T]):
    """One file before and after the earlier commit, and before and after the later one."""

    old: T
    new: T
    then: T
    now: T


def measure_reverted_lines(states: States[LineCounts]) -> UndoMeasure:
    """Measure how many of the earlier commit's changed lines the later commit reverted.

    >>> measure_reverted_lines(States({b"a": 1}, {b"a": 1, b"b": 2}, {b"a": 1, b"b": 2}, {b"a": 1}))
    UndoMeasure(changed=2, left=2, taken=2)
    """
    return sum(
        (_measure_reverted_line(line, states) for line in _list_revertible_lines(states.old, states.new)),
        UNDONE_NOTHING,
    )


def measure_reverted_file(states: States[str | None]) -> UndoMeasure:
    """Measure a file that is compared as a whole: a binary file, a link, a mode."""
    old, new, then, now = states
    left = int(then == new)
    return UndoMeasure(1, left, int(bool(left) and now == old))


def has_revertible_word(line: bytes) -> bool:
    """Return whether a line has a word: brackets and empty lines are in every file."""
    return any(byte > 127 or chr(byte).isalnum() for byte in line)


def count_revertible_lines(text: bytes) -> LineCounts:
    """Count the lines of a file, without surrounding white space."""
    return Counter(line.strip() for line in text.splitlines())


def _list_revertible_lines(old: LineCounts, new: LineCounts) -> Iterable[bytes]:
    """List the lines whose count changed; only those with a word, if there are any."""
    changed = [line for line in {**old, **new} if old.get(line, 0) != new.get(line, 0)]
    return [line for line in changed if has_revertible_word(line)] or changed


def _measure_reverted_line(line: bytes, states: States[LineCounts]) -> UndoMeasure:
    old, new, then, now = (state.get(line, 0) for state in states)
    added = new > old
    changed = abs(new - old)
    # Adding more copies of an added line leaves the commit's change whole; removing copies undoes a part of it.
    lost = max(0, new - then) if added else max(0, then - new)
    left = max(0, changed - lost)
    back = max(0, then - now) if added else max(0, now - then)
    return UndoMeasure(changed, left, min(left, back))
