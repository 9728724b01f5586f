"""How often a call came after which calls, smoothed by the method of Witten and Bell.

The chance of a call after a context is (its count there + kinds · its chance after the shorter context) / (all counts
there + kinds), where kinds is the number of different calls that came there. Before any call stands an even chance over
all known calls and one unknown: so the chances of known calls sum to less than 1.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Continuations:
    """What came after one context: how often in all, and each call."""

    total: int = 0
    counts: dict[str, int] = field(default_factory=dict)


class Grams:
    """Counts after contexts of up to ``order`` tokens, the latest token first; tokens may carry marks, calls do not."""

    def __init__(self, order: int) -> None:
        self.order = order
        self._came: dict[tuple[Hashable, ...], _Continuations] = {}

    def add(self, context: Sequence[Hashable], call: str) -> None:
        """Count that ``call`` came after ``context``, and after each of its shorter forms."""
        for key in self._keys(context):
            came = self._came.setdefault(key, _Continuations())
            came.total += 1
            came.counts[call] = came.counts.get(call, 0) + 1

    def chance(self, context: Sequence[Hashable], call: str, known: int) -> float:
        """How likely ``call`` is next, among ``known`` calls and one unknown.

        >>> grams = Grams(1)
        >>> for context, call in (((), "a"), (("a",), "b"), (("b",), "a"), (("a",), "b")):
        ...     grams.add(context, call)
        >>> round(grams.chance(("a",), "b", 2), 4)  # (2 + 1 · (2 + 2 · 1/3) / (4 + 2)) / (2 + 1)
        0.8148
        """
        chance = 1 / (known + 1)
        for came in self._known(context):
            kinds = len(came.counts)
            chance = (came.counts.get(call, 0) + kinds * chance) / (came.total + kinds)
        return chance

    def chances(self, context: Sequence[Hashable], calls: Mapping[str, int]) -> list[float]:
        """The same for every one of ``calls``, which gives each its place."""
        chances = [1 / (len(calls) + 1)] * len(calls)
        for came in self._known(context):
            kinds, all_ = len(came.counts), came.total + len(came.counts)
            share = kinds / all_
            chances = [chance * share for chance in chances]
            for call, count in came.counts.items():
                chances[calls[call]] += count / all_
        return chances

    def _keys(self, context: Sequence[Hashable]) -> Iterator[tuple[Hashable, ...]]:
        return (tuple(context[:length]) for length in range(min(self.order, len(context)) + 1))

    def _known(self, context: Sequence[Hashable]) -> Iterator[_Continuations]:
        """What came after the context, from its shortest form on, as long as anything did."""
        for key in self._keys(context):
            came = self._came.get(key)
            if came is None:
                return
            yield came
