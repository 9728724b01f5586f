"""The size of a change as inputs of its chance: which bucket it is in, compared with the sizes that were seen.

Whether a size is known at all often depends on how a change was treated, so knowing it must say nothing by itself: over
all known sizes the inputs average to 0, and an unknown size is 0 in all of them.
"""

from bisect import bisect_right

from custody.trust.score import COMPLEXITY_LINES_MIN, NS_PER_DAY


class Sizes:
    """How often each bucket was seen; what is seen on a day counts from the next day on, as weights do."""

    def __init__(self) -> None:
        self._seen = [1.0 for _ in COMPLEXITY_LINES_MIN]
        self._counting = list(self._seen)
        self._day: int | None = None

    def of(self, lines: int | None, now_ns: int) -> list[float]:
        """One input for each bucket."""
        if lines is None:
            return [0.0 for _ in COMPLEXITY_LINES_MIN]
        newer = self._day is None or now_ns // NS_PER_DAY > self._day
        seen = self._seen if newer else self._counting
        total, own = sum(seen), _bucket(lines)
        return [(place == own) - count / total for place, count in enumerate(seen)]

    def learn(self, lines: int | None, at_ns: int) -> None:
        """Count a size; an unknown one is none."""
        day = at_ns // NS_PER_DAY
        if self._day is None or day > self._day:
            self._counting, self._day = list(self._seen), day
        if lines is not None:
            self._seen[_bucket(lines)] += 1.0


def _bucket(lines: int) -> int:
    return bisect_right(COMPLEXITY_LINES_MIN, lines) - 1
