"""Which call comes next: a mixture of what came before in all sessions and in this one; the graph explains it.

Four contexts are counted over all sessions: siblings under the same kind of parent, the flat sequence, siblings with
marks of failure, siblings with marks of the same file and the same message. Two caches know this session: how often it
made each call, fading with every step, and what followed the last call before. How much each part counts is fitted by
expectation maximisation on calls that it had not seen, and moves with every call. While a cache is empty the other
parts share its weight: each pattern of what is there has weights of its own.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.graph.book import Book
from custody.graph.calls import CallPlace, SequenceCall
from custody.graph.model import Edge

# How often a call came after which calls, smoothed by the method of Witten and Bell.
# The chance of a call after a context is (its count there + kinds · its chance after the shorter context) / (all
# counts there + kinds), where kinds is the number of different calls that came there. Before any call stands an even
# chance over all known calls and one unknown: so the chances of known calls sum to less than 1.


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


PARTS = ("siblings", "flat", "failures", "marks", "often", "follower")
"""The parts of the mixture: four contexts, two caches."""

ORDERS = MappingProxyType({"siblings": 4, "flat": 3, "failures": 3, "marks": 3})
"""Calls before the next one that each context looks at."""
CALLS_REMEMBERED = 16
"""Calls of a session that the contexts are made from: more than any of them looks back."""
CACHE_DECAY = 0.95
"""What a call of the session counts for, one call later."""
FIT_SHARES = (0.5, 0.8)
"""The slice of all calls on which the mixture is fitted: counts know the first half, the newest calls come after."""
FIT_ROUNDS = 30
"""Rounds of expectation maximisation."""
ONLINE_SHARE = 0.002
"""How far one call moves the mixture towards the parts that foresaw it."""
NEXT_MAX = 5
"""Next calls that are suggested unless the caller wants more."""
_SCALE_MAX = 1e100


@dataclass(frozen=True, slots=True)
class CallSuggestion:
    """A call that may come next: its chance, what each part says, and the edges that explain it."""

    name: str
    node: str
    chance: float
    parts: tuple[tuple[str, float], ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class SessionState:
    """What one session did so far, as far as the model looks back."""

    flat: deque[str] = field(default_factory=lambda: deque(maxlen=CALLS_REMEMBERED))
    inside: dict[str, deque[SequenceCall]] = field(default_factory=dict)
    last: SequenceCall | None = None
    often: dict[str, float] = field(default_factory=dict)
    often_total: float = 0.0
    scale: float = 1.0
    followers: dict[str, dict[str, int]] = field(default_factory=dict)

    def see(self, call: SequenceCall) -> None:
        """Take a call in; each earlier one counts for less from now on."""
        if self.last is not None:
            followed = self.followers.setdefault(self.last.name, {})
            followed[call.name] = followed.get(call.name, 0) + 1
        self.flat.appendleft(call.name)
        self.inside.setdefault(call.place.inside, deque(maxlen=CALLS_REMEMBERED)).appendleft(call)
        # The newest counts for more instead of all others for less.
        self.scale /= CACHE_DECAY
        self.often[call.name] = self.often.get(call.name, 0.0) + self.scale
        self.often_total += self.scale
        if self.scale > _SCALE_MAX:
            self.often = {name: count / self.scale for name, count in self.often.items()}
            self.often_total /= self.scale
            self.scale = 1.0
        self.last = call

    def contexts(self, place: CallPlace) -> dict[str, list[Hashable]]:
        """What stands before a call at ``place``, for each context, the latest first."""
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
    """Counts over all sessions, and how much each part of the mixture counts."""

    def __init__(self) -> None:
        # Under siblings, the kind of parent stands before the calls.
        orders = {**ORDERS, "siblings": ORDERS["siblings"] + 1}
        self._grams = {name: Grams(order) for name, order in orders.items()}
        self._places: dict[str, int] = {}
        self._nodes: dict[str, str] = {}
        self._mixtures: dict[tuple[bool, ...], list[float]] = {}

    def chance(self, session: SessionState, call: SequenceCall) -> float:
        """How likely exactly this call is next; what is left to 1 over all known calls is for unknown ones."""
        return _mixed(self._mixture(session), self._parts(session, call))

    def see(self, session: SessionState, call: SequenceCall) -> float:
        """Learn from a call that was made; its chance before it was."""
        parts, mixture = self._parts(session, call), self._mixture(session)
        chance = _mixed(mixture, parts)
        for place, part in enumerate(parts):
            mixture[place] += ONLINE_SHARE * (mixture[place] * part / chance - mixture[place])
        self._count(session, call)
        return chance

    def fit(self, sessions: Sequence[Sequence[SequenceCall]]) -> None:
        """Learn from sessions, the oldest first: count, then fit the mixture on the middle slice, then go on."""
        total = sum(len(calls) for calls in sessions)
        first, last = (int(total * share) for share in FIT_SHARES)
        rows: dict[tuple[bool, ...], list[list[float]]] = {}
        seen = 0
        for calls in sessions:
            session = SessionState()
            for call in calls:
                if first <= seen < last:
                    rows.setdefault(self._there(session), []).append(self._parts(session, call))
                self._count(session, call)
                seen += 1
        for there, told in rows.items():
            self._mixtures[there] = fit_weights(told, there)

    def suggest(
        self, session: SessionState, place: CallPlace | None = None, limit: int = NEXT_MAX
    ) -> list[CallSuggestion]:
        """The likeliest next calls, the likeliest first, by name where equal; without edges yet."""
        if place is None:
            place = CallPlace() if session.last is None else session.last.place
        contexts = session.contexts(place)
        parts = [self._grams[name].chances(contexts[name], self._places) for name in PARTS[:4]]
        names = list(self._places)
        parts += [[cached(session, part, name) for name in names] for part in PARTS[4:]]
        mixture = self._mixture(session)
        chances = [_mixed(mixture, [part[number] for part in parts]) for number in range(len(names))]
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

    def _count(self, session: SessionState, call: SequenceCall) -> None:
        for name, context in session.contexts(call.place).items():
            self._grams[name].add(context, call.name)
        self._places.setdefault(call.name, len(self._places))
        self._nodes[call.name] = call.node
        session.see(call)

    def _parts(self, session: SessionState, call: SequenceCall) -> list[float]:
        contexts = session.contexts(call.place)
        known = len(self._places)
        counted = [self._grams[name].chance(contexts[name], call.name, known) for name in PARTS[:4]]
        return counted + [cached(session, part, call.name) for part in PARTS[4:]]

    @staticmethod
    def _there(session: SessionState) -> tuple[bool, ...]:
        """Which parts can say something."""
        last = session.last
        return True, True, True, True, last is not None, last is not None and last.name in session.followers

    def _mixture(self, session: SessionState) -> list[float]:
        there = self._there(session)
        if there not in self._mixtures:
            self._mixtures[there] = _even(there)
        return self._mixtures[there]


def cached(session: SessionState, part: str, name: str) -> float:
    """What one of the session's caches says about a call."""
    if session.last is None:
        return 0.0
    if part == "often":
        return session.often.get(name, 0.0) / session.often_total
    followed = session.followers.get(session.last.name, {})
    return followed.get(name, 0) / sum(followed.values()) if followed else 0.0


def fit_weights(rows: Sequence[Sequence[float]], there: Sequence[bool], rounds: int = FIT_ROUNDS) -> list[float]:
    """The weights under which what came was likeliest (expectation maximisation), each part once on the house.

    >>> [round(weight, 2) for weight in fit_weights([[0.9, 0.1]] * 98, (True, True))]
    [0.99, 0.01]
    """
    weights = _even(there)
    for _ in range(rounds):
        owed = [1.0 if is_there else 0.0 for is_there in there]
        for row in rows:
            chance = _mixed(weights, row)
            for place, part in enumerate(row):
                owed[place] += weights[place] * part / chance
        weights = [share / sum(owed) for share in owed]
    return weights


def explain_suggestions(
    found: Sequence[CallSuggestion], book: Book, session: SessionState, place: CallPlace | None = None
) -> list[CallSuggestion]:
    """The same suggestions with the edges of the graph that lead to them: from the last call, and from around it."""
    last = session.last
    around = place.node if place is not None else "" if last is None else last.place.node
    starts = [] if last is None else [last.node]
    return [
        CallSuggestion(
            suggestion.name,
            suggestion.node,
            suggestion.chance,
            suggestion.parts,
            tuple(edge for start in (*starts, around) for edge in book.between(start, suggestion.node)),
        )
        for suggestion in found
    ]


def _even(there: Sequence[bool]) -> list[float]:
    return [1 / sum(there) if is_there else 0.0 for is_there in there]


def _mixed(weights: Sequence[float], parts: Sequence[float]) -> float:
    return sum(weight * part for weight, part in zip(weights, parts, strict=True))
