"""Contexts for agents, the full text of a source, near copies, and search. Nothing is written.

Showing a source does not count as an access; only recorded registrations, readings and excerpts do. So the same store
always gives the same context.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from custody.cite.app.registry_stores import RecordRegistryStore, source_registry_name
from custody.cite.app.report_file import load_citation_rules, read_cited_report
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.catalog import Catalog
from custody.cite.compression import Compressed, Level, RestorableSourceCompressor, compress_source, hash_source_text
from custody.cite.context import Attention, Context, ContextRequest, SourceRank, TokenCounter, build_source_context
from custody.cite.model import ResearchSource, SourceID, SourceIdentity, UnknownSource, source_number_from_id
from custody.cite.monitor import (
    FULL_TOKENS_MAX,
    FULL_TOKENS_MIN,
    ContextPerformanceMonitor,
    ContextSettings,
    TuningStep,
)
from custody.cite.near_copies import WAYS, Near, Way, find_duplicates, find_near_sources
from custody.cite.registry import find_source_entry, resolve_merged_source
from custody.cite.rules import CiteRules
from custody.cite.source_texts import ContextCandidate, build_context_source, iterate_context_sources
from custody.cite.vectors import VectorIndex
from custody.cite.wire import (
    CiteContextReport,
    CiteHit,
    CiteNearPair,
    CiteNearReport,
    CiteSearchReport,
    CiteTextReport,
    ContextSource,
    SourceRankReport,
)
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.workspace.machine import machine_now_ns
from custody.workspace.workspace import Workspace

SCORE_DIGITS = 6


def cite_context(
    workspace: Workspace, *, budget: int | None = None, objectives: Sequence[str] = ()
) -> CiteContextReport:
    """Return a context of all sources within a token budget."""
    rules = load_citation_rules(workspace)
    registry, candidates = _load_context_sources(workspace)
    source_context = build_source_context(
        candidates, ContextRequest(rules=rules, attention=Attention(objectives=tuple(objectives)), budget=budget)
    )
    without = frozenset(source_context.without_text)
    return CiteContextReport(
        registry=registry,
        context=source_context.text,
        budget=source_context.budget,
        tokens=source_context.tokens,
        full_tokens=source_context.full_tokens,
        objectives=list(objectives),
        sources=[
            ContextSource(
                id=standing.source_id,
                level=None
                if standing.source_id not in source_context.levels
                else int(source_context.levels[standing.source_id]),
                has_text=standing.source_id not in without,
                standing=_to_source_rank_report(standing),
            )
            for standing in source_context.standings
        ],
        left_out=list(source_context.left_out),
        without_text=list(source_context.without_text),
        rules_digest=format_digest(digest_rule_tables({"cite": rules})),
    )


def cite_text(workspace: Workspace, source_id: str) -> CiteTextReport:
    """Return the full stored text of a source, by any of its ids."""

    def read(catalog: Catalog) -> CiteTextReport:
        candidate = build_context_source(catalog, resolve_merged_source(catalog, find_source_entry(catalog, source_id)))
        if candidate is None:
            raise UnknownSource(source_id)
        return CiteTextReport(
            registry=source_registry_name(catalog),
            id=candidate.source_id,
            title=candidate.source.title,
            url=candidate.source.url,
            text=candidate.text,
            digest=None if candidate.text is None else hash_source_text(candidate.text),
        )

    return RecordRegistryStore(workspace).read(read)


def cite_near(
    workspace: Workspace,
    source_id: str | None = None,
    *,
    file: str | None = None,
    stdin: bytes = b"",
    way: Way = "winnowing",
    least: float | None = None,
) -> CiteNearReport:
    """Return near copies among all sources, of one source, or of a file."""
    registry, candidates = _load_context_sources(workspace)
    texts = [(candidate.source_id, candidate.text) for candidate in candidates if candidate.text is not None]
    if file is not None:
        pairs = _find_near_source_copies(
            file, read_cited_report(workspace, file, stdin).decode("utf-8", "replace"), texts, way, least
        )
    elif source_id is not None:
        subject = cite_text(workspace, source_id)
        others = [pair for pair in texts if pair[0] != subject.id]
        pairs = [] if subject.text is None else _find_near_source_copies(subject.id, subject.text, others, way, least)
    else:
        pairs = find_duplicates(texts, way, least)
    return CiteNearReport(
        registry=registry,
        way=way,
        least=WAYS[way].least if least is None else least,
        compared=len(texts),
        pairs=[
            CiteNearPair(one=near.one, other=near.other, nearness=round(near.nearness, SCORE_DIGITS)) for near in pairs
        ],
        without_text=[candidate.source_id for candidate in candidates if candidate.text is None],
    )


def cite_search(workspace: Workspace, question: str, *, most: int) -> CiteSearchReport:
    """Return the sources with the title and text most similar to a question."""
    registry, candidates = _load_context_sources(workspace)
    index = VectorIndex(
        [(candidate.source_id, f"{candidate.source.title}\n{candidate.text or ''}") for candidate in candidates]
    )
    by_id = {candidate.source_id: candidate.source for candidate in candidates}
    return CiteSearchReport(
        registry=registry,
        question=question,
        searched=len(candidates),
        hits=[
            CiteHit(id=source_id, title=by_id[source_id].title, url=by_id[source_id].url, likeness=likeness)
            for source_id, likeness in index.search(question, most)
        ],
    )


def _find_near_source_copies(
    name: str, text: str, texts: Sequence[tuple[str, str]], way: Way, least: float | None
) -> list[Near]:
    index = WAYS[way]()
    for source_id, other in texts:
        index.add(source_id, other)
    return [Near(name, other, nearness) for other, nearness in find_near_sources(index, text, least)]


def _load_context_sources(workspace: Workspace) -> tuple[str | None, list[ContextCandidate]]:
    def read(catalog: Catalog) -> tuple[str | None, list[ContextCandidate]]:
        workspace.progress.start("reading sources", catalog.last())
        candidates: list[ContextCandidate] = []
        for candidate in iterate_context_sources(catalog):
            workspace.progress.step(1)
            candidates.append(candidate)
        return source_registry_name(catalog), candidates

    return RecordRegistryStore(workspace).read(read)


def _to_source_rank_report(rank: SourceRank) -> SourceRankReport:
    parts = {name: round(part, SCORE_DIGITS) for name, part in rank.parts.items()}
    return SourceRankReport(value=round(rank.value, SCORE_DIGITS), **parts)


# The attention-aware context manager of document 003. It keeps objectives, accesses and compressed sources in memory
# only, and never writes the registry.


ACCESSES_KEPT_MAX = 10_000


class AttentionAwareContextManager:
    """Contexts within a budget, ranked by weights, accesses and objectives; the same history gives the same bytes."""

    def __init__(
        self,
        registry: SourceRegistry,
        rules: CiteRules | None = None,
        *,
        count: TokenCounter | None = None,
        monitor: ContextPerformanceMonitor | None = None,
        clock: Callable[[], int] = machine_now_ns,
    ) -> None:
        self.registry = registry
        self.rules = rules or CiteRules()
        self.monitor = monitor or ContextPerformanceMonitor(_context_settings_from_rules(self.rules))
        self.compressor = RestorableSourceCompressor(registry.find_with_text, self.rules)
        self._count = count
        self._cache = _CompressionCache(self.monitor, self.rules, clock)
        self._attention_weights: dict[SourceID, float] = {}
        self._access_history: list[tuple[SourceID, int]] = []
        self._source_objectives: tuple[str, ...] = ()
        self._clock = clock
        self._steering: tuple[object, ...] = ()
        """Attention, accesses and budget of the previous context."""
        self._levels: Mapping[SourceID, Level] = {}
        """Levels of the previous context."""

    def register(self, source: ResearchSource) -> SourceIdentity:
        """Register a source, and report to the monitor whether it was known."""
        identity, is_new = self.registry.register_or_find(source)
        self.monitor.registered(was_known=not is_new)
        return identity

    def weigh(self, source_id: SourceID, weight: float) -> None:
        """Set the weight of a source: above 1 raises its rank, below 1 lowers it."""
        weights = {**self._attention_weights, source_id: weight}
        Attention(weights=weights)
        self._attention_weights = weights

    def aim(self, *objectives: str) -> None:
        """Replace the objectives of the agent."""
        self._source_objectives = objectives

    def accessed(self, source_id: SourceID) -> None:
        """Count an access to a source now; the registry is not written."""
        source_number_from_id(source_id)
        self._access_history = [*self._access_history, (source_id, self._clock())][-ACCESSES_KEPT_MAX:]

    def context(self, budget: int | None = None) -> Context:
        """Return the current context; the previous levels stay if nothing was changed and everything fits."""
        attention = Attention(objectives=self._source_objectives, weights=self._attention_weights)
        steering = (attention, tuple(self._access_history), budget)
        previous_levels = self._levels if self._steering == steering else {}
        rules = replace(self.rules, full_tokens_max=self.monitor.settings.full_tokens_max)
        candidates = self._candidates()
        request = ContextRequest(
            rules=rules,
            attention=attention,
            budget=budget,
            count=self._count,
            held=previous_levels,
            compress=self._cache,
        )
        context = build_source_context(candidates, request)
        self.monitor.compressed(full_tokens=context.full_tokens, shown_tokens=context.tokens)
        self._steering, self._levels = steering, context.levels
        self._prefetch(candidates, context)
        return context

    def restore(self, source_id: SourceID) -> str | None:
        """Return the full stored text of a source and count an access; None if no text is stored."""
        text = self.compressor.restored_text(source_id)
        self.accessed(source_id)
        return text

    def adapt(self) -> tuple[TuningStep, ...]:
        """Apply the tuning steps of the monitor, also to the cache."""
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

    def _prefetch(self, candidates: list[ContextCandidate], context: Context) -> None:
        """Compress ahead the highest ranked sources that are shown with less than their key sentences."""
        by_id = {candidate.source_id: candidate for candidate in candidates}
        order = (standing.source_id for standing in context.standings)
        less = [
            source_id
            for source_id in order
            if context.levels.get(source_id, Level.ID) > Level.KEY and by_id[source_id].text is not None
        ]
        for source_id in less[: self.monitor.settings.prefetch_sources]:
            self._cache.prefetch(by_id[source_id].source, by_id[source_id].text, Level.KEY)


class _CompressionCache:
    """A least-recently-used cache of compressed sources; a changed source has another key."""

    def __init__(self, monitor: ContextPerformanceMonitor, rules: CiteRules, clock: Callable[[], int]) -> None:
        self._monitor, self._rules, self._clock = monitor, rules, clock
        self._entries: OrderedDict[tuple[object, ...], Compressed] = OrderedDict()
        self._ahead: set[tuple[object, ...]] = set()

    def __call__(self, source: ResearchSource, text: str | None, level: int) -> Compressed:
        """Return the source at a level, from the cache or compressed now."""
        start_ns = self._clock()
        key = _compressed_source_key(source, text, level)
        hit = key in self._entries
        result = self._entries[key] if hit else compress_source(source, text, level, self._rules)
        if key in self._ahead:
            self._ahead.discard(key)
            self._monitor.prefetched(used=True)
        self._keep(key, result)
        self._monitor.looked_up(hit=hit, took_ns=max(0, self._clock() - start_ns))
        return result

    def prefetch(self, source: ResearchSource, text: str | None, level: int) -> None:
        """Compress a source at a level before it is requested."""
        key = _compressed_source_key(source, text, level)
        if key not in self._entries:
            self._keep(key, compress_source(source, text, level, self._rules))
            self._ahead.add(key)

    def fit(self) -> None:
        """Evict entries beyond the size in the settings."""
        while len(self._entries) > self._monitor.settings.cache_sources:
            evicted, _ = self._entries.popitem(last=False)
            self._monitor.evicted()
            if evicted in self._ahead:
                self._ahead.discard(evicted)
                self._monitor.prefetched(used=False)

    def _keep(self, key: tuple[object, ...], compressed: Compressed) -> None:
        self._entries[key] = compressed
        self._entries.move_to_end(key)
        self.fit()
        self._monitor.keeps(len(self._entries))


def _compressed_source_key(source: ResearchSource, text: str | None, level: int) -> tuple[object, ...]:
    """Return everything that the text of a source depends on, apart from the rules."""
    scores = (source.credibility_score, source.relevance_score)
    return (
        source.source_id,
        source.title,
        source.url,
        scores,
        None if text is None else hash_source_text(text),
        int(level),
    )


def _context_settings_from_rules(rules: CiteRules) -> ContextSettings:
    return ContextSettings(full_tokens_max=min(FULL_TOKENS_MAX, max(FULL_TOKENS_MIN, rules.full_tokens_max)))
