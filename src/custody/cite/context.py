"""A context of many sources within a token budget, deterministic for the same inputs.

1. List all sources by id. If not all ids fit, leave out and count the lowest ranked.
2. From the highest rank down, add title, URL and scores (level 2) if they fit.
3. From the highest rank down, show the full text (level 0) of the first ``recent_sources`` if it is not too long and
   fits, else the key sentences (level 1). Stop at the first source that does not fit.

Sources are in the order of their ids, and the lines of a source depend only on it and its level. So a new source
changes no earlier line while the levels stay. Objectives and the count of omitted sources come last.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field

from custody.cite.compression import Compressed, Level, compress_source
from custody.cite.model import ResearchSource, SourceID, source_number_from_id
from custody.cite.rules import CiteRules
from custody.cite.source_texts import ContextCandidate
from custody.cite.support import score_citation_support
from custody.core.errors import InputError
from custody.core.plural import count_noun

# Rank sources by objectives, accesses, uses and scores. The document samples (top-k with a temperature); here the rank
# is deterministic, so that the same inputs give the same context. Only this file defines the rank.


ACCESS_DECAY = 0.9
"""Weight of an access relative to the next one; after about 20 more it hardly counts."""
WEIGHTS: Mapping[str, float] = MappingProxyType({"objective": 4.0, "access": 2.0, "use": 1.0, "score": 1.0})
"""Weights of the parts; the objectives count as much as all other parts together."""


class Attention(Struct, frozen=True, kw_only=True):
    """The objectives of an agent, and its weights of single sources (default 1)."""

    objectives: tuple[str, ...] = ()
    weights: Mapping[SourceID, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source_id, weight in self.weights.items():
            source_number_from_id(source_id)
            if not math.isfinite(weight) or weight < 0:
                raise InputError(f"invalid weight {weight} for '{source_id}'", hint="a weight is 0 or more")


class SourceRank(Struct, frozen=True):
    """The rank of a source: the weighted sum of its parts, each from 0 to 1."""

    source_id: SourceID
    value: float
    parts: Mapping[str, float]


def rank_context_sources(candidates: Sequence[ContextCandidate], attention: Attention) -> list[SourceRank]:
    """Return the ranks of all candidates, the highest first; the later registration wins a tie."""
    access = score_source_accesses(candidates, ACCESS_DECAY)
    ranks = [_rank_context_source(candidate, attention, access[candidate.source_id]) for candidate in candidates]
    return sorted(ranks, key=lambda rank: (-rank.value, -source_number_from_id(rank.source_id)))


def score_source_accesses(candidates: Sequence[ContextCandidate], decay: float) -> dict[SourceID, float]:
    """Return how often and how recently each source was accessed, relative to the highest.

    Counted from the last access back, each access weighs ``decay`` of the next one. Age is measured in accesses, not
    in time.

    >>> from custody.cite.model import ResearchSource as Source
    >>> first = ContextCandidate(source=Source(title="a", source_id="S1"), accesses=(10, 20))
    >>> score_source_accesses([first, ContextCandidate(source=Source(title="b", source_id="S2"), accesses=(30,))], 0.5)
    {'S1': 0.75, 'S2': 1.0}
    """
    accesses = [
        (at_ns, source_number_from_id(candidate.source_id), candidate.source_id)
        for candidate in candidates
        for at_ns in candidate.accesses
    ]
    scores = {candidate.source_id: 0.0 for candidate in candidates}
    weight = 1.0
    for _, _, source_id in sorted(accesses, reverse=True):
        scores[source_id] += weight
        weight *= decay
    highest = max(scores.values(), default=0.0)
    return {source_id: score / highest if highest else 0.0 for source_id, score in scores.items()}


def _rank_context_source(candidate: ContextCandidate, attention: Attention, access: float) -> SourceRank:
    parts = {
        "objective": _score_source_objectives(candidate, attention.objectives),
        "access": access,
        "use": candidate.uses / (1 + candidate.uses),
        "score": (candidate.source.credibility_score + candidate.source.relevance_score) / 2,
    }
    total = sum(WEIGHTS[name] * part for name, part in parts.items())
    return SourceRank(
        candidate.source_id, attention.weights.get(candidate.source_id, 1.0) * total, MappingProxyType(parts)
    )


def _score_source_objectives(candidate: ContextCandidate, objectives: Sequence[str]) -> float:
    """Return the largest share of an objective's terms that are close together in the title or text."""
    text = f"{candidate.source.title}\n{candidate.text or ''}"
    supports = (score_citation_support(objective, text) for objective in objectives)
    return max((support.score for support in supports if support is not None), default=0.0)


HEAD = "Sources by id; cite them as [S1]. Request any of them in full by its id.\n"
OBJECTIVES = "Objectives:\n"

TokenCounter = Callable[[str], int]
"""Counts the tokens of a text; its count of the whole context is the one that must fit."""
Compress = Callable[[ResearchSource, str | None, int], Compressed]


class Context(Struct, frozen=True, kw_only=True):
    """A context for an agent; ``tokens`` never exceeds ``budget``."""

    text: str
    tokens: int
    budget: int
    full_tokens: int
    """Tokens of all sources at level 0."""
    levels: Mapping[SourceID, Level]
    left_out: tuple[SourceID, ...]
    without_text: tuple[SourceID, ...]
    """Sources without stored text, shown at level 2 at most."""
    standings: tuple[SourceRank, ...]


class ContextRequest(Struct, frozen=True, kw_only=True):
    """A request for a context."""

    rules: CiteRules = field(default_factory=CiteRules)
    attention: Attention = field(default_factory=Attention)
    budget: int | None = None
    """In tokens; default: the rule ``context_tokens``."""
    count: TokenCounter | None = None
    """Default: ``tokens_of`` with the rule ``context_bytes_each``."""
    compress: Compress | None = None
    """Default: ``compression.compress_source``; a caller may pass a cache."""
    held: Mapping[SourceID, Level] = field(default_factory=dict)
    """Levels of the previous context; reused if everything fits, so that the start of the text stays the same."""


def tokens_of(text: str, bytes_per_token: float = 1.0) -> int:
    """Return an upper bound of a text's tokens: one per UTF-8 byte.

    A token of a byte-level tokenizer has at least one byte, so none counts more. English prose needs about a quarter.
    Pass the count of your tokenizer, or set ``bytes_per_token``, for a closer bound.

    >>> tokens_of("größe"), tokens_of("sixteen letters.", 4.0)
    (7, 4)
    """
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / bytes_per_token)


def build_source_context(candidates: Sequence[ContextCandidate], request: ContextRequest) -> Context:
    """Return the context of these sources, whatever their order."""
    return _Builder(candidates, request).context()


class _Builder:
    """A context under construction: the levels so far, and their cost."""

    def __init__(self, candidates: Sequence[ContextCandidate], request: ContextRequest) -> None:
        self._rules, self._held = request.rules, request.held
        self._count = request.count or (lambda text: tokens_of(text, request.rules.context_bytes_each))
        self._compress = request.compress or (
            lambda source, text, level: compress_source(source, text, level, request.rules)
        )
        self._budget = request.rules.context_tokens if request.budget is None else request.budget
        self._objectives = tuple(
            " ".join(objective.split()) for objective in request.attention.objectives if objective.strip()
        )
        self._by_id = {
            candidate.source_id: candidate
            for candidate in sorted(
                candidates, key=lambda context_candidate: source_number_from_id(context_candidate.source_id)
            )
        }
        if len(self._by_id) != len(candidates):
            raise InputError("two sources have the same id", hint="build a context from one registry")
        self._standings = rank_context_sources(list(self._by_id.values()), request.attention)
        self._order = [standing.source_id for standing in self._standings]
        self._made: dict[tuple[SourceID, Level], tuple[str, int]] = {}
        self._levels: dict[SourceID, Level] = {}
        self._spare = 0
        """Return the rest of the budget at these levels."""

    def context(self) -> Context:
        """Plan the levels, then check the plan with the count of the whole text."""
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
        """Reuse the previous levels and give new sources the best that fits; return False if that is impossible."""
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
        for rank, source_id in enumerate(listed):
            if not self._show_text(source_id, may_be_full=rank < self._rules.recent_sources):
                break

    def _list_by_id(self) -> None:
        """Step 1: list ids only, all or the highest ranked."""
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
        """Step 3 for one source; return False if its key sentences do not fit."""
        if self._by_id[source_id].text is None:
            return True
        full = self._cost(source_id, Level.FULL)
        fits = full <= self._rules.full_tokens_max
        if may_be_full and fits and self._raise(source_id, Level.FULL):
            return True
        # A text that is as short as its key sentences is shown in full, whatever its rank.
        is_short = fits and full <= self._cost(source_id, Level.KEY)
        return self._raise(source_id, Level.FULL if is_short else Level.KEY)

    def _raise(self, source_id: SourceID, level: Level) -> bool:
        spare = self._spare + self._cost(source_id, self._levels[source_id]) - self._cost(source_id, level)
        if spare < 0:
            return False
        self._levels[source_id], self._spare = level, spare
        return True

    def _shrink(self) -> None:
        """Lower the levels, lowest rank first, until the whole text fits, whatever the counts of its parts."""
        while (taken := self._count(self._text())) > self._budget:
            lowest = next((source_id for source_id in reversed(self._order) if source_id in self._levels), None)
            if lowest is None:
                raise InputError(
                    f"a budget of {self._budget:,} tokens is too small",
                    hint=f"the text without sources needs {taken:,}: raise the budget or shorten the objectives",
                )
            level = self._levels.pop(lowest)
            if level is not Level.ID:
                self._levels[lowest] = Level(level + 1)

    def _cost(self, source_id: SourceID, level: Level) -> int:
        return self._lines(source_id, level)[1]

    def _lines(self, source_id: SourceID, level: Level) -> tuple[str, int]:
        if (source_id, level) not in self._made:
            candidate = self._by_id[source_id]
            lines = self._compress(candidate.source, candidate.text, level).lines
            self._made[source_id, level] = (lines, self._count(lines))
        return self._made[source_id, level]

    def _text(self) -> str:
        shown = (
            self._lines(source_id, self._levels[source_id])[0] for source_id in self._by_id if source_id in self._levels
        )
        return HEAD + "".join(shown) + self._tail(len(self._order) - len(self._levels))

    def _tail(self, left_out: int) -> str:
        more = f"{count_noun(left_out, 'more source')} did not fit.\n" if left_out else ""
        return more + (
            OBJECTIVES + "".join(f"- {objective}\n" for objective in self._objectives) if self._objectives else ""
        )
