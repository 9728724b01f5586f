"""What an agent is shown of many sources: as much as a budget of tokens holds, the same for the same inputs.

1. Every source is listed by its id; where not even the ids fit, those that stand lowest are left out and counted.
2. From the highest standing down, each whose title, URL and scores (level 2) fit gets them.
3. From the highest standing down, each that has a text gets it whole (level 0), if it is among the first
   ``recent_sources``, its text is not too long and fits, else its key sentences (level 1), until those of one do not
   fit.

Sources stand in the order of their ids, and a source's lines depend on nothing but itself and its level: a source that
is added later changes no earlier line as long as the levels stay. What changes with every question, the objectives and
how much was left out, comes last.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.cite.compression import Compressed, Level, compress
from custody.cite.model import ResearchSource, SourceID, number_of
from custody.cite.rules import CiteRules
from custody.cite.source_texts import ContextCandidate
from custody.cite.support import support
from custody.core.errors import InputError

# Which sources matter most now: a ranking by objectives, accesses, uses and scores, with no chance in it.
# The document samples (top-k with a temperature); here the highest always come first, so the same inputs give the
# same context. This file is the only one that says what a source's standing is made of.


ACCESS_DECAY = 0.9
"""What an access weighs of the one after it: after about 20 others it hardly counts."""
WEIGHTS: Mapping[str, float] = MappingProxyType({"objective": 4.0, "access": 2.0, "use": 1.0, "score": 1.0})
"""What each part counts: what an agent is after as much as all other parts together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What an agent is after: its objectives, and how much weight it gives single sources (1 where it says nothing)."""

    objectives: tuple[str, ...] = ()
    weights: Mapping[SourceID, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source_id, weight in self.weights.items():
            number_of(source_id)
            if not math.isfinite(weight) or weight < 0:
                raise InputError(f"the weight of '{source_id}' is {weight}", hint="a weight is a number from 0 on")


@dataclass(frozen=True, slots=True)
class SourceRank:
    """How much a source matters, and the parts that this is the weighted sum of, each from 0 to 1."""

    source_id: SourceID
    value: float
    parts: Mapping[str, float]


def standings(candidates: Sequence[ContextCandidate], attention: Attention) -> list[SourceRank]:
    """Every candidate's standing, the highest first; of equals the one that was registered later."""
    access = accesses(candidates, ACCESS_DECAY)
    made = [_standing(candidate, attention, access[candidate.source_id]) for candidate in candidates]
    return sorted(made, key=lambda standing: (-standing.value, -number_of(standing.source_id)))


def accesses(candidates: Sequence[ContextCandidate], decay: float) -> dict[SourceID, float]:
    """How often and how lately each was accessed, as a share of the one accessed most.

    Accesses are counted from the last one back, each weighing ``decay`` of the one after it: age is told by what
    happened since, and no clock is asked.

    >>> from custody.cite.model import ResearchSource as Source
    >>> one = ContextCandidate(source=Source(title="a", source_id="S1"), accesses=(10, 20))
    >>> accesses([one, ContextCandidate(source=Source(title="b", source_id="S2"), accesses=(30,))], 0.5)
    {'S1': 0.75, 'S2': 1.0}
    """
    moments = [
        (at_ns, number_of(candidate.source_id), candidate.source_id)
        for candidate in candidates
        for at_ns in candidate.accesses
    ]
    found = {candidate.source_id: 0.0 for candidate in candidates}
    weight = 1.0
    for _, _, source_id in sorted(moments, reverse=True):
        found[source_id] += weight
        weight *= decay
    most = max(found.values(), default=0.0)
    return {source_id: value / most if most else 0.0 for source_id, value in found.items()}


def _standing(candidate: ContextCandidate, attention: Attention, access: float) -> SourceRank:
    parts = {
        "objective": _objective(candidate, attention.objectives),
        "access": access,
        "use": candidate.uses / (1 + candidate.uses),
        "score": (candidate.source.credibility_score + candidate.source.relevance_score) / 2,
    }
    total = sum(WEIGHTS[name] * part for name, part in parts.items())
    return SourceRank(
        candidate.source_id, attention.weights.get(candidate.source_id, 1.0) * total, MappingProxyType(parts)
    )


def _objective(candidate: ContextCandidate, objectives: Sequence[str]) -> float:
    """The largest share of an objective's terms that stand together in the title or text."""
    said = f"{candidate.source.title}\n{candidate.text or ''}"
    supports = (support(objective, said) for objective in objectives)
    return max((found.score for found in supports if found is not None), default=0.0)


HEAD = "Sources by id; cite them as [S1]. Any of them can be had in full by its id.\n"
OBJECTIVES = "Objectives:\n"

TokenCounter = Callable[[str], int]
"""How many tokens a text takes. It may count any way it likes: what it says of the whole context is what holds."""
Compress = Callable[[ResearchSource, str | None, int], Compressed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an agent is shown, and how it came about; ``tokens`` is never above ``budget``."""

    text: str
    tokens: int
    budget: int
    full_tokens: int
    """What all sources would take at level 0."""
    levels: Mapping[SourceID, Level]
    left_out: tuple[SourceID, ...]
    without_text: tuple[SourceID, ...]
    """Sources of which no passage was kept: there is nothing to show beyond level 2."""
    standings: tuple[SourceRank, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a context is asked for."""

    rules: CiteRules = field(default_factory=CiteRules)
    attention: Attention = field(default_factory=Attention)
    budget: int | None = None
    """In tokens; without it, the rule ``context_tokens``."""
    count: TokenCounter | None = None
    """Without it, ``tokens_of`` with the rule ``context_bytes_each``."""
    compress: Compress | None = None
    """Without it, ``compression.compress``; whoever keeps what it made hands in his own."""
    held: Mapping[SourceID, Level] = field(default_factory=dict)
    """Levels of the context before: they are kept if everything still fits, so that its beginning stays the same."""


def tokens_of(text: str, bytes_per_token: float = 1.0) -> int:
    """An upper bound of a text's tokens: one for every byte of UTF-8.

    A tokeniser that works on bytes (byte-pair encoding, or words with bytes to fall back on) makes a token of at least
    one byte, so none of them counts more. English prose takes about a quarter of it; whoever knows his tokeniser hands
    in its own count, or sets ``bytes_per_token``.

    >>> tokens_of("größe"), tokens_of("sixteen letters.", 4.0)
    (7, 4)
    """
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / bytes_per_token)


def build_context(candidates: Sequence[ContextCandidate], asked: ContextRequest) -> Context:
    """The context for these sources; the order in which they are given does not matter."""
    return _Builder(candidates, asked).context()


class _Builder:
    """One context on its way: the levels so far, and what they cost."""

    def __init__(self, candidates: Sequence[ContextCandidate], asked: ContextRequest) -> None:
        self._rules, self._held = asked.rules, asked.held
        self._count = asked.count or (lambda text: tokens_of(text, asked.rules.context_bytes_each))
        self._compress = asked.compress or (lambda source, text, level: compress(source, text, level, asked.rules))
        self._budget = asked.rules.context_tokens if asked.budget is None else asked.budget
        self._objectives = tuple(
            " ".join(objective.split()) for objective in asked.attention.objectives if objective.strip()
        )
        self._by_id = {
            candidate.source_id: candidate
            for candidate in sorted(candidates, key=lambda context_candidate: number_of(context_candidate.source_id))
        }
        if len(self._by_id) != len(candidates):
            raise InputError("two sources have the same id", hint="a context is made from one registry")
        self._standings = standings(list(self._by_id.values()), asked.attention)
        self._order = [standing.source_id for standing in self._standings]
        self._made: dict[tuple[SourceID, Level], tuple[str, int]] = {}
        self._levels: dict[SourceID, Level] = {}
        self._spare = 0
        """What is left of the budget with these levels."""

    def context(self) -> Context:
        """Plan, then hold the plan against the count of the whole."""
        if not self._keep_held():
            self._plan()
        self._shrink()
        text = self._text()
        return Context(
            text=text,
            tokens=self._count(text),
            budget=self._budget,
            full_tokens=sum(self._cost(source_id, Level.FULL) for source_id in self._by_id),
            levels={source_id: self._levels[source_id] for source_id in self._by_id if source_id in self._levels},
            left_out=tuple(source_id for source_id in self._by_id if source_id not in self._levels),
            without_text=tuple(candidate.source_id for candidate in self._by_id.values() if candidate.text is None),
            standings=tuple(self._standings),
        )

    def _keep_held(self) -> bool:
        """Keep the levels of before and give new sources the best that fits; False if that cannot be."""
        if not self._held or not all(source_id in self._by_id for source_id in self._held):
            return False
        self._begin({**dict.fromkeys(self._order, Level.ID), **self._held})
        if self._spare < 0:
            return False
        for source_id in self._order:
            if source_id not in self._held:
                self._raise(source_id, Level.LISTED)
                self._show_text(source_id, may_be_full=True)
        return True

    def _plan(self) -> None:
        self._list_by_id()
        listed = list(self._levels)
        for source_id in listed:
            self._raise(source_id, Level.LISTED)
        for place, source_id in enumerate(listed):
            if not self._show_text(source_id, may_be_full=place < self._rules.recent_sources):
                break

    def _list_by_id(self) -> None:
        """Step 1: ids only, all of them or those that stand highest."""
        self._begin(dict.fromkeys(self._order, Level.ID))
        if self._spare >= 0:
            return
        self._begin({})
        for source_id in self._order:
            cost = self._cost(source_id, Level.ID)
            if cost > self._spare:
                break
            self._levels[source_id] = Level.ID
            self._spare -= cost

    def _begin(self, levels: dict[SourceID, Level]) -> None:
        fixed = self._count(HEAD) + self._count(self._tail(len(self._order) - len(levels)))
        self._levels = levels
        self._spare = self._budget - fixed - sum(self._cost(source_id, level) for source_id, level in levels.items())

    def _show_text(self, source_id: SourceID, *, may_be_full: bool) -> bool:
        """Step 3 for one source; False when not even its key sentences fit."""
        if self._by_id[source_id].text is None:
            return True
        full = self._cost(source_id, Level.FULL)
        fits = full <= self._rules.full_tokens_max
        if may_be_full and fits and self._raise(source_id, Level.FULL):
            return True
        # A text as short as its key sentences is shown whole, wherever its source stands.
        is_short = fits and full <= self._cost(source_id, Level.KEY)
        return self._raise(source_id, Level.FULL if is_short else Level.KEY)

    def _raise(self, source_id: SourceID, level: Level) -> bool:
        spare = self._spare + self._cost(source_id, self._levels[source_id]) - self._cost(source_id, level)
        if spare < 0:
            return False
        self._levels[source_id], self._spare = level, spare
        return True

    def _shrink(self) -> None:
        """Whatever the count says of parts, the whole stays within the budget: the lowest lose their levels first."""
        while (taken := self._count(self._text())) > self._budget:
            lowest = next((source_id for source_id in reversed(self._order) if source_id in self._levels), None)
            if lowest is None:
                raise InputError(
                    f"a budget of {self._budget:,} tokens holds no context",
                    hint=f"without any source it takes {taken:,} already: give more, or shorter objectives",
                )
            level = self._levels.pop(lowest)
            if level is not Level.ID:
                self._levels[lowest] = Level(level + 1)

    def _cost(self, source_id: SourceID, level: Level) -> int:
        return self._lines(source_id, level)[1]

    def _lines(self, source_id: SourceID, level: Level) -> tuple[str, int]:
        if (source_id, level) not in self._made:
            held = self._by_id[source_id]
            lines = self._compress(held.source, held.text, level).lines
            self._made[source_id, level] = (lines, self._count(lines))
        return self._made[source_id, level]

    def _text(self) -> str:
        shown = (
            self._lines(source_id, self._levels[source_id])[0] for source_id in self._by_id if source_id in self._levels
        )
        return HEAD + "".join(shown) + self._tail(len(self._order) - len(self._levels))

    def _tail(self, left_out: int) -> str:
        more = f"{left_out:,} more source(s) did not fit.\n" if left_out else ""
        return more + (
            OBJECTIVES + "".join(f"- {objective}\n" for objective in self._objectives) if self._objectives else ""
        )
