"""What an agent is shown of a registry's sources, again and again: document 003's attention-aware context manager.

It remembers what the agent is after and looked at, and what it made already. What it remembers is gone with the
program; the registry is never written by showing it.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace

from custody.cite.app.source_registry import SourceRegistry
from custody.cite.compression import Compressed, Level, RestorableSourceCompressor, compress, digest_of
from custody.cite.context import Context, ContextRequest, TokenCounter, build_context
from custody.cite.model import ResearchSource, SourceID, SourceIdentity, number_of
from custody.cite.monitor import (
    FULL_TOKENS_MAX,
    FULL_TOKENS_MIN,
    ContextPerformanceMonitor,
    ContextSettings,
    TuningStep,
)
from custody.cite.rules import CiteRules
from custody.cite.source_rank import Attention
from custody.cite.source_texts import ContextCandidate
from custody.workspace.clock import now_ns

ACCESSES_KEPT_MAX = 10_000


class AttentionAwareContextManager:
    """Contexts under a budget, steered by weights, accesses and objectives; the same history gives the same bytes."""

    def __init__(
        self,
        registry: SourceRegistry,
        rules: CiteRules | None = None,
        *,
        count: TokenCounter | None = None,
        monitor: ContextPerformanceMonitor | None = None,
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self.registry = registry
        self.rules = rules or CiteRules()
        self.monitor = monitor or ContextPerformanceMonitor(_settings(self.rules))
        self.compressor = RestorableSourceCompressor(registry.known, self.rules)
        self._count = count
        self._cache = _CompressionCache(self.monitor, self.rules, clock)
        self._attention_weights: dict[SourceID, float] = {}
        self._access_history: list[tuple[SourceID, int]] = []
        self._source_objectives: tuple[str, ...] = ()
        self._clock = clock
        self._steering: tuple[object, ...] = ()
        """What the context before was steered by."""
        self._levels: Mapping[SourceID, Level] = {}
        """The levels of the context before."""

    def register(self, source: ResearchSource) -> SourceIdentity:
        """Register a source, and let the monitor know whether it was known."""
        identity, is_new = self.registry.registered(source)
        self.monitor.registered(was_known=not is_new)
        return identity

    def weigh(self, source_id: SourceID, weight: float) -> None:
        """Give a source more (above 1) or less (below 1) attention from now on."""
        weights = {**self._attention_weights, source_id: weight}
        Attention(weights=weights)
        self._attention_weights = weights

    def aim(self, *objectives: str) -> None:
        """Say what the agent is after now, instead of what it was after before."""
        self._source_objectives = objectives

    def accessed(self, source_id: SourceID) -> None:
        """Note that the agent used a source just now; the registry is not written."""
        number_of(source_id)
        self._access_history = [*self._access_history, (source_id, self._clock())][-ACCESSES_KEPT_MAX:]

    def context(self, budget: int | None = None) -> Context:
        """The context now. Levels of the one before are kept if nothing was steered and everything fits."""
        attention = Attention(objectives=self._source_objectives, weights=self._attention_weights)
        steering = (attention, tuple(self._access_history), budget)
        held = self._levels if self._steering == steering else {}
        rules = replace(self.rules, full_tokens_max=self.monitor.settings.full_tokens_max)
        found = self._candidates()
        asked = ContextRequest(
            rules=rules, attention=attention, budget=budget, count=self._count, held=held, compress=self._cache
        )
        made = build_context(found, asked)
        self.monitor.compressed(full_tokens=made.full_tokens, shown_tokens=made.tokens)
        self._steering, self._levels = steering, made.levels
        self._make_ready(found, made)
        return made

    def restore(self, source_id: SourceID) -> str | None:
        """The whole text that is known of a source, to the byte; None when no passage was kept. It is an access."""
        text = self.compressor.restored_text(source_id)
        self.accessed(source_id)
        return text

    def adapt(self) -> tuple[TuningStep, ...]:
        """Let the monitor take its steps; what is kept follows its settings at once."""
        taken = self.monitor.adapt()
        self._cache.fit()
        return taken

    def _candidates(self) -> list[ContextCandidate]:
        more: dict[SourceID, tuple[int, ...]] = {}
        for source_id, at_ns in self._access_history:
            more[source_id] = (*more.get(source_id, ()), at_ns)
        return [
            replace(candidate, accesses=(*candidate.accesses, *more[candidate.source_id]))
            if candidate.source_id in more
            else candidate
            for candidate in self.registry.candidates()
        ]

    def _make_ready(self, candidates: list[ContextCandidate], made: Context) -> None:
        """Find the key sentences of the next sources ahead: those that stand highest and are shown by less."""
        by_id = {candidate.source_id: candidate for candidate in candidates}
        order = (standing.source_id for standing in made.standings)
        less = [
            source_id
            for source_id in order
            if made.levels.get(source_id, Level.ID) > Level.KEY and by_id[source_id].text is not None
        ]
        for source_id in less[: self.monitor.settings.prefetch_sources]:
            self._cache.make_ready(by_id[source_id].source, by_id[source_id].text, Level.KEY)


class _CompressionCache:
    """Compressed sources that were made before, the ones used last kept; a changed source is another one."""

    def __init__(self, monitor: ContextPerformanceMonitor, rules: CiteRules, clock: Callable[[], int]) -> None:
        self._monitor, self._rules, self._clock = monitor, rules, clock
        self._kept: OrderedDict[tuple[object, ...], Compressed] = OrderedDict()
        self._ahead: set[tuple[object, ...]] = set()

    def __call__(self, source: ResearchSource, text: str | None, level: int) -> Compressed:
        """The source at a level, from what is kept or made now."""
        begun = self._clock()
        key = _key(source, text, level)
        hit = key in self._kept
        made = self._kept[key] if hit else compress(source, text, level, self._rules)
        if key in self._ahead:
            self._ahead.discard(key)
            self._monitor.prefetched(used=True)
        self._keep(key, made)
        self._monitor.looked_up(hit=hit, took_ns=max(0, self._clock() - begun))
        return made

    def make_ready(self, source: ResearchSource, text: str | None, level: int) -> None:
        """Make a source at a level before anybody asks."""
        key = _key(source, text, level)
        if key not in self._kept:
            self._keep(key, compress(source, text, level, self._rules))
            self._ahead.add(key)

    def fit(self) -> None:
        """Let go what is more than the settings allow."""
        while len(self._kept) > self._monitor.settings.cache_sources:
            gone, _ = self._kept.popitem(last=False)
            self._monitor.evicted()
            if gone in self._ahead:
                self._ahead.discard(gone)
                self._monitor.prefetched(used=False)

    def _keep(self, key: tuple[object, ...], made: Compressed) -> None:
        self._kept[key] = made
        self._kept.move_to_end(key)
        self.fit()
        self._monitor.keeps(len(self._kept))


def _key(source: ResearchSource, text: str | None, level: int) -> tuple[object, ...]:
    """Everything that a source's lines depend on, beside the rules."""
    scores = (source.credibility_score, source.relevance_score)
    return (source.source_id, source.title, source.url, scores, None if text is None else digest_of(text), int(level))


def _settings(rules: CiteRules) -> ContextSettings:
    return ContextSettings(full_tokens_max=min(FULL_TOKENS_MAX, max(FULL_TOKENS_MIN, rules.full_tokens_max)))
