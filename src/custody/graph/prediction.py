"""Which call comes next: a mixture of predictions from all sessions and from this one; the graph explains it.

Four contexts are counted over all sessions: siblings under the same kind of parent, the flat sequence, siblings with
their failures, siblings with marks for the same file and the same message. Two caches hold this session: how often it
made each call, decaying with every step, and what followed the last call before. The weight of each part is fitted by
expectation maximization on calls that it had not counted, and adjusted with every call. While a cache is empty the
other parts share its weight: each pattern of active parts has its own weights.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import repeat
from operator import add, mul, truediv
from types import MappingProxyType

from msgspec import Struct, field

from custody.graph.book import Book
from custody.graph.calls import CallPlace, SequenceCall
from custody.graph.model import Edge

# How often a call came after which calls, with Witten-Bell smoothing.
# The probability of a call after a context is (its count there + kinds · its probability after the shorter context) /
# (all counts there + kinds), where kinds is the number of different calls there. Before any call, all known calls and
# one unknown call are equally likely: so the probabilities of known calls sum to less than 1.


class _Continuations(Struct):
    """The calls that followed one context: their total, and the count of each."""

    total: int = 0
    counts: dict[str, int] = field(default_factory=dict)


class Grams:
    """Counts after contexts of up to ``order`` tokens, latest first; tokens may carry marks, calls do not."""

    def __init__(self, order: int) -> None:
        self.order = order
        self._continuations: dict[tuple[Hashable, ...], _Continuations] = {}

    def add(self, context: Sequence[Hashable], call: str) -> None:
        """Count ``call`` after ``context`` and after each of its shorter forms."""
        for key in self._keys(context):
            continuations = self._continuations.get(key)
            if continuations is None:
                continuations = self._continuations[key] = _Continuations()
            continuations.total += 1
            continuations.counts[call] = continuations.counts.get(call, 0) + 1

    def chance(self, context: Sequence[Hashable], call: str, known: int) -> float:
        """Return the probability that ``call`` is next, among ``known`` calls and one unknown.

        >>> grams = Grams(1)
        >>> for context, call in (((), "a"), (("a",), "b"), (("b",), "a"), (("a",), "b")):
        ...     grams.add(context, call)
        >>> round(grams.chance(("a",), "b", 2), 4)  # (2 + 1 · (2 + 2 · 1/3) / (4 + 2)) / (2 + 1)
        0.8148
        """
        chance = 1 / (known + 1)
        for continuations in self._iterate_continuations(context):
            kinds = len(continuations.counts)
            chance = (continuations.counts.get(call, 0) + kinds * chance) / (continuations.total + kinds)
        return chance

    def chances(self, context: Sequence[Hashable], calls: Mapping[str, int]) -> list[float]:
        """Return the same for each of ``calls``, which maps a call to its index in the result."""
        chances = [1 / (len(calls) + 1)] * len(calls)
        for continuations in self._iterate_continuations(context):
            kinds = len(continuations.counts)
            total = continuations.total + kinds
            share = kinds / total
            chances = [chance * share for chance in chances]
            for call, count in continuations.counts.items():
                chances[calls[call]] += count / total
        return chances

    def _keys(self, context: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        longest = tuple(context[: self.order])
        return [longest[:length] for length in range(len(longest) + 1)]

    def _iterate_continuations(self, context: Sequence[Hashable]) -> Iterator[_Continuations]:
        """Yield the calls that followed the context, from its shortest form on, until there are none."""
        for key in self._keys(context):
            continuations = self._continuations.get(key)
            if continuations is None:
                return
            yield continuations


PARTS = ("siblings", "flat", "failures", "marks", "often", "follower")
"""The parts of the mixture: four contexts, two caches."""

ORDERS = MappingProxyType({"siblings": 4, "flat": 3, "failures": 3, "marks": 3})
"""Previous calls that each context uses."""
CALLS_REMEMBERED = max(ORDERS.values()) + 1
"""Calls of a session that the contexts are built from: one more than any of them uses."""
CACHE_DECAY = 0.95
"""The weight of a call of the session, one call later."""
FIT_SHARES = (0.5, 0.8)
"""The range of all calls that the mixture is fitted on: the first half is only counted, the newest come after."""
FIT_ROUNDS = 30
"""Rounds of expectation maximization."""
ONLINE_SHARE = 0.002
"""How far one call moves the mixture toward the parts that predicted it."""
NEXT_MAX = 5
"""Default number of suggestions."""
_SCALE_MAX = 1e100


class CallSuggestion(Struct, frozen=True):
    """A likely next call: its probability, the probability by each part, and the edges that explain it."""

    name: str
    node: str
    chance: float
    parts: tuple[tuple[str, float], ...]
    edges: tuple[Edge, ...]


CallContexts = dict[str, list[Hashable]]
"""The calls before a call, for each context, latest first."""


class SessionState(Struct):
    """The calls of one session so far, as far as the model uses them."""

    flat: deque[str] = field(default_factory=lambda: deque(maxlen=CALLS_REMEMBERED))
    inside: dict[str, deque[SequenceCall]] = field(default_factory=dict)
    last: SequenceCall | None = None
    often: dict[str, float] = field(default_factory=dict)
    often_total: float = 0.0
    scale: float = 1.0
    followers: dict[str, dict[str, int]] = field(default_factory=dict)

    def add_call(self, call: SequenceCall) -> None:
        """Add a call; each earlier one counts for less from now on."""
        if self.last is not None:
            followed = self.followers.setdefault(self.last.name, {})
            followed[call.name] = followed.get(call.name, 0) + 1
        self.flat.appendleft(call.name)
        self.inside.setdefault(call.place.inside, deque(maxlen=CALLS_REMEMBERED)).appendleft(call)
        # The newest call gets more weight instead of all others less.
        self.scale /= CACHE_DECAY
        self.often[call.name] = self.often.get(call.name, 0.0) + self.scale
        self.often_total += self.scale
        if self.scale > _SCALE_MAX:
            self.often = {name: count / self.scale for name, count in self.often.items()}
            self.often_total /= self.scale
            self.scale = 1.0
        self.last = call

    def contexts(self, place: CallPlace) -> CallContexts:
        """Return the calls before ``place``, for each context, latest first."""
        siblings = list(self.inside.get(place.inside, ()))
        marked: list[Hashable] = []
        for number, sibling in enumerate(siblings):
            before = siblings[number + 1] if number + 1 < len(siblings) else None
            same_file = before is not None and sibling.file is not None and sibling.file == before.file
            same_message = before is not None and sibling.message is not None and sibling.message == before.message
            marked.append((sibling.name, same_file, same_message))
        return {
            "siblings": [place.node, *(sibling.name for sibling in siblings)],
            "flat": list(self.flat),
            "failures": [(sibling.name, sibling.failed) for sibling in siblings],
            "marks": marked,
        }


class NextModel:
    """Counts over all sessions, and the weight of each part of the mixture."""

    def __init__(self) -> None:
        # For siblings, the kind of parent comes before the calls.
        orders = {**ORDERS, "siblings": ORDERS["siblings"] + 1}
        self._grams = {name: Grams(order) for name, order in orders.items()}
        self._places: dict[str, int] = {}
        self._nodes: dict[str, str] = {}
        self._mixtures: dict[tuple[bool, ...], list[float]] = {}

    def chance(self, session: SessionState, call: SequenceCall) -> float:
        """Return the probability that exactly this call is next; the rest up to 1 is for unknown calls."""
        return _mix_call_probabilities(self._mixture(session), self._parts(session, call, session.contexts(call.place)))

    def add_call(self, session: SessionState, call: SequenceCall) -> float:
        """Learn from a call; return its probability before it was made."""
        contexts = session.contexts(call.place)
        parts, mixture = self._parts(session, call, contexts), self._mixture(session)
        chance = _mix_call_probabilities(mixture, parts)
        for place, part in enumerate(parts):
            mixture[place] += ONLINE_SHARE * (mixture[place] * part / chance - mixture[place])
        self._count(session, call, contexts)
        return chance

    def fit(self, sessions: Sequence[Sequence[SequenceCall]]) -> None:
        """Learn from sessions, oldest first: count all calls, and fit the mixture on the middle range."""
        total = sum(len(calls) for calls in sessions)
        first, last = (int(total * share) for share in FIT_SHARES)
        rows: dict[tuple[bool, ...], list[list[float]]] = {}
        counted = 0
        for calls in sessions:
            session = SessionState()
            for call in calls:
                contexts = session.contexts(call.place)
                if first <= counted < last:
                    rows.setdefault(self._list_active_parts(session), []).append(self._parts(session, call, contexts))
                self._count(session, call, contexts)
                counted += 1
        for active, part_rows in rows.items():
            self._mixtures[active] = fit_call_mixture(part_rows, active)

    def suggest(
        self, session: SessionState, place: CallPlace | None = None, limit: int = NEXT_MAX
    ) -> list[CallSuggestion]:
        """Return the likeliest next calls in order, ties by name; their ``edges`` are empty."""
        if place is None:
            place = CallPlace() if session.last is None else session.last.place
        contexts = session.contexts(place)
        parts = [self._grams[name].chances(contexts[name], self._places) for name in PARTS[:4]]
        names = list(self._places)
        parts += [[compute_call_cache_probability(session, part, name) for name in names] for part in PARTS[4:]]
        mixture = self._mixture(session)
        chances = [_mix_call_probabilities(mixture, [part[number] for part in parts]) for number in range(len(names))]
        best = sorted(range(len(names)), key=lambda number: (-chances[number], names[number]))
        return [
            CallSuggestion(
                names[number],
                self._nodes[names[number]],
                chances[number],
                tuple((part, parts[which][number]) for which, part in enumerate(PARTS)),
                (),
            )
            for number in best[:limit]
        ]

    def _count(self, session: SessionState, call: SequenceCall, contexts: CallContexts) -> None:
        for name, context in contexts.items():
            self._grams[name].add(context, call.name)
        self._places.setdefault(call.name, len(self._places))
        self._nodes[call.name] = call.node
        session.add_call(call)

    def _parts(self, session: SessionState, call: SequenceCall, contexts: CallContexts) -> list[float]:
        known = len(self._places)
        probabilities = [self._grams[name].chance(contexts[name], call.name, known) for name in PARTS[:4]]
        return probabilities + [compute_call_cache_probability(session, part, call.name) for part in PARTS[4:]]

    @staticmethod
    def _list_active_parts(session: SessionState) -> tuple[bool, ...]:
        """Return which parts can make a prediction."""
        last = session.last
        return True, True, True, True, last is not None, last is not None and last.name in session.followers

    def _mixture(self, session: SessionState) -> list[float]:
        active = self._list_active_parts(session)
        if active not in self._mixtures:
            self._mixtures[active] = _make_even_mixture(active)
        return self._mixtures[active]


def compute_call_cache_probability(session: SessionState, part: str, name: str) -> float:
    """Return the probability of a call by one of the session's caches."""
    if session.last is None:
        return 0.0
    if part == "often":
        return session.often.get(name, 0.0) / session.often_total
    followed = session.followers.get(session.last.name, {})
    return followed.get(name, 0) / sum(followed.values()) if followed else 0.0


def fit_call_mixture(rows: Sequence[Sequence[float]], active: Sequence[bool], rounds: int = FIT_ROUNDS) -> list[float]:
    """Return the weights of maximum likelihood (expectation maximization), with one pseudo-count per active part.

    >>> [round(weight, 2) for weight in fit_call_mixture([[0.9, 0.1]] * 98, (True, True))]
    [0.99, 0.01]
    """
    weights = _make_even_mixture(active)
    columns = list(zip(*rows, strict=True))
    for _ in range(rounds):
        chances = [_mix_call_probabilities(weights, row) for row in rows]
        # One column after the other, each added up in the order of the rows.
        counts = [
            reduce(add, map(truediv, map(mul, repeat(weight), column), chances), 1.0) if is_active else 0.0
            for weight, column, is_active in zip(weights, columns, active, strict=True)
        ]
        weights = [count / sum(counts) for count in counts]
    return weights


def explain_call_suggestions(
    suggestions: Sequence[CallSuggestion], book: Book, session: SessionState, place: CallPlace | None = None
) -> list[CallSuggestion]:
    """Return the suggestions with the edges of the graph that lead to them: from the last call, and from around it."""
    last = session.last
    around = place.node if place is not None else "" if last is None else last.place.node
    starts = [] if last is None else [last.node]
    return [
        CallSuggestion(
            suggestion.name,
            suggestion.node,
            suggestion.chance,
            suggestion.parts,
            tuple(edge for start in (*starts, around) for edge in book.list_edges_between(start, suggestion.node)),
        )
        for suggestion in suggestions
    ]


def _make_even_mixture(active: Sequence[bool]) -> list[float]:
    return [1 / sum(active) if is_active else 0.0 for is_active in active]


def _mix_call_probabilities(weights: Sequence[float], parts: Sequence[float]) -> float:
    mixed: float = sum(map(mul, weights, parts))
    return mixed
