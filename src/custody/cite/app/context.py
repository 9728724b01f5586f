"""What agents are shown of this store's sources, a source's text in full, near copies, and search. Nothing is written.

Showing a source is no access: only what is recorded (that it was registered, read, excerpted) counts as one. So the
same store gives the same context however often it is asked.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from custody.cite.app.registry_stores import RecordRegistryStore, registry_name
from custody.cite.app.report_file import read_report, rules_for
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.compression import Compressed, Level, RestorableSourceCompressor, compress, digest_of
from custody.cite.context import Attention, Context, ContextRequest, SourceRank, TokenCounter, build_context
from custody.cite.model import ResearchSource, SourceID, SourceIdentity, UnknownSource, number_of
from custody.cite.monitor import (
    FULL_TOKENS_MAX,
    FULL_TOKENS_MIN,
    ContextPerformanceMonitor,
    ContextSettings,
    TuningStep,
)
from custody.cite.near_copies import WAYS, Near, Way, find_duplicates, near_to
from custody.cite.registry import entry_of, root
from custody.cite.rules import CiteRules
from custody.cite.shelf import Shelf
from custody.cite.source_texts import ContextCandidate, candidate, candidates
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
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.workspace.machine import now_ns
from custody.workspace.workspace import Workspace

SCORE_DIGITS = 6


def cite_context(
    workspace: Workspace, *, budget: int | None = None, objectives: Sequence[str] = ()
) -> CiteContextReport:
    """The context of every source here under a budget of tokens."""
    rules = rules_for(workspace)
    registry, found = _candidates(workspace)
    made = build_context(
        found, ContextRequest(rules=rules, attention=Attention(objectives=tuple(objectives)), budget=budget)
    )
    without = frozenset(made.without_text)
    return CiteContextReport(
        registry=registry,
        context=made.text,
        budget=made.budget,
        tokens=made.tokens,
        full_tokens=made.full_tokens,
        objectives=list(objectives),
        sources=[
            ContextSource(
                id=standing.source_id,
                level=None if standing.source_id not in made.levels else int(made.levels[standing.source_id]),
                has_text=standing.source_id not in without,
                standing=_standing(standing),
            )
            for standing in made.standings
        ],
        left_out=list(made.left_out),
        without_text=list(made.without_text),
        rules_digest=digest_text(rules_digest({"cite": rules})),
    )


def cite_text(workspace: Workspace, source_id: str) -> CiteTextReport:
    """The whole text that is known of one source, by any of its ids."""

    def look(shelf: Shelf) -> CiteTextReport:
        found = candidate(shelf, root(shelf, entry_of(shelf, source_id)))
        if found is None:
            raise UnknownSource(source_id)
        return CiteTextReport(
            registry=registry_name(shelf),
            id=found.source_id,
            title=found.source.title,
            url=found.source.url,
            text=found.text,
            digest=None if found.text is None else digest_of(found.text),
        )

    return RecordRegistryStore(workspace).look(look)


def cite_near(
    workspace: Workspace,
    source_id: str | None = None,
    *,
    file: str | None = None,
    stdin: bytes = b"",
    way: Way = "winnowing",
    least: float | None = None,
) -> CiteNearReport:
    """Near copies among the sources here, of one of them, or of a file."""
    registry, context_candidates = _candidates(workspace)
    texts = [
        (context_candidate.source_id, context_candidate.text)
        for context_candidate in context_candidates
        if context_candidate.text is not None
    ]
    if file is not None:
        pairs = _near_one(file, read_report(workspace, file, stdin).decode("utf-8", "replace"), texts, way, least)
    elif source_id is not None:
        said = cite_text(workspace, source_id)
        others = [pair for pair in texts if pair[0] != said.id]
        pairs = [] if said.text is None else _near_one(said.id, said.text, others, way, least)
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
        without_text=[
            context_candidate.source_id for context_candidate in context_candidates if context_candidate.text is None
        ],
    )


def cite_search(workspace: Workspace, question: str, *, most: int) -> CiteSearchReport:
    """The sources here whose title and text are most like a question."""
    registry, context_candidates = _candidates(workspace)
    index = VectorIndex(
        [
            (context_candidate.source_id, f"{context_candidate.source.title}\n{context_candidate.text or ''}")
            for context_candidate in context_candidates
        ]
    )
    by_id = {context_candidate.source_id: context_candidate.source for context_candidate in context_candidates}
    return CiteSearchReport(
        registry=registry,
        question=question,
        searched=len(context_candidates),
        hits=[
            CiteHit(id=source_id, title=by_id[source_id].title, url=by_id[source_id].url, likeness=likeness)
            for source_id, likeness in index.search(question, most)
        ],
    )


def _near_one(name: str, text: str, texts: Sequence[tuple[str, str]], way: Way, least: float | None) -> list[Near]:
    index = WAYS[way]()
    for source_id, other in texts:
        index.add(source_id, other)
    return [Near(name, other, nearness) for other, nearness in near_to(index, text, least)]


def _candidates(workspace: Workspace) -> tuple[str | None, list[ContextCandidate]]:
    def look(shelf: Shelf) -> tuple[str | None, list[ContextCandidate]]:
        workspace.progress.start("reading sources", shelf.last())
        found: list[ContextCandidate] = []
        for context_candidate in candidates(shelf):
            workspace.progress.step(1)
            found.append(context_candidate)
        return registry_name(shelf), found

    return RecordRegistryStore(workspace).look(look)


def _standing(rank: SourceRank) -> SourceRankReport:
    parts = {name: round(part, SCORE_DIGITS) for name, part in rank.parts.items()}
    return SourceRankReport(value=round(rank.value, SCORE_DIGITS), **parts)


# What an agent is shown of a registry's sources, again and again: document 003's attention-aware context manager.
# It remembers what the agent is after and looked at, and what it made already. What it remembers is gone with the
# program; the registry is never written by showing it.


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
