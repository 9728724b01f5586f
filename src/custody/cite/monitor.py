"""Performance metrics of contexts, and tuning steps from a table, deterministic and bounded.

A context manager reports events and durations. ``adapt`` takes every step whose condition holds for the events since
the last step, then starts a new measurement, so that no cause triggers a step twice.
"""

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.rules import check_rule_range

ENOUGH_LOOKUPS = 32
"""Minimum lookups before anything is adapted."""
LOOKUPS_STORED_MAX = 4096
"""Maximum lookups stored since the last step; the latest win."""
HIT_RATE_LOW, HIT_RATE_HIGH = 0.8, 0.98
LATENCY_NS_MAX = 100_000_000
"""Document 003's limit of a registration, 100 ms; below a quarter of it there is room."""
PREFETCH_USED_LOW = 0.25
TAIL = 0.95

CACHE_SOURCES_MIN, CACHE_SOURCES_MAX = 16, 65_536
PREFETCH_SOURCES_MAX = 64
PREFETCH_STEP = 4
FULL_TOKENS_MIN, FULL_TOKENS_MAX = 500, 64_000


class ContextSettings(Struct, frozen=True, kw_only=True):
    """The adapted settings: the cache size, the number of prefetched sources, the maximum length of a full text."""

    cache_sources: int = 256
    prefetch_sources: int = 0
    full_tokens_max: int = 8_000

    def __post_init__(self) -> None:
        check_rule_range("cache_sources", self.cache_sources, least=CACHE_SOURCES_MIN, most=CACHE_SOURCES_MAX)
        check_rule_range("prefetch_sources", self.prefetch_sources, least=0, most=PREFETCH_SOURCES_MAX)
        check_rule_range("full_tokens_max", self.full_tokens_max, least=FULL_TOKENS_MIN, most=FULL_TOKENS_MAX)


class ContextMetrics(Struct, frozen=True, kw_only=True):
    """The metrics since the last step; None where there is nothing to measure."""

    look_ups: int
    hit_rate: float | None
    """Share of lookups that hit the cache."""
    latency_ns: int | None
    """Median duration of a lookup."""
    latency_tail_ns: int | None
    """95th percentile of the duration of a lookup."""
    compression_ratio: float | None
    """Tokens shown divided by tokens of the full texts."""
    registrations: int
    duplicates_found: int
    dedup_effectiveness: float | None
    """Share of registrations of a source that was already known."""
    kept: int
    """Maximum number of cached sources."""
    evicted: int
    prefetched: int
    prefetch_used: float | None
    """Share of the prefetched sources that were used."""


class TuningStep(Struct, frozen=True):
    """A changed setting, and why."""

    name: str
    why: str
    before: int
    after: int


class _ContextStats(Struct):
    """The events since the last step."""

    took_ns: list[int] = field(default_factory=list)
    hits: list[bool] = field(default_factory=list)
    full: int = 0
    shown: int = 0
    registrations: int = 0
    known: int = 0
    kept: int = 0
    evicted: int = 0
    prefetched: int = 0
    prefetch_used: int = 0


class ContextPerformanceMonitor:
    """Metrics of contexts, and the tuning steps of ``STEPS``."""

    def __init__(self, settings: ContextSettings | None = None) -> None:
        self.settings = settings or ContextSettings()
        self._stats = _ContextStats()

    def looked_up(self, *, hit: bool, took_ns: int) -> None:
        """Report a lookup: whether it hit the cache, and how long it took."""
        _check_context_counts(took_ns)
        self._stats.hits.append(hit)
        self._stats.took_ns.append(took_ns)
        del self._stats.hits[:-LOOKUPS_STORED_MAX], self._stats.took_ns[:-LOOKUPS_STORED_MAX]

    def compressed(self, *, full_tokens: int, shown_tokens: int) -> None:
        """Report a context: the tokens of its full texts, and the tokens shown."""
        _check_context_counts(full_tokens, shown_tokens)
        self._stats.full += full_tokens
        self._stats.shown += shown_tokens

    def registered(self, *, was_known: bool) -> None:
        """Report a registration: whether the source was known."""
        self._stats.registrations += 1
        self._stats.known += was_known

    def evicted(self) -> None:
        """Report an eviction from the cache."""
        self._stats.evicted += 1

    def keeps(self, sources: int) -> None:
        """Report the number of cached sources."""
        _check_context_counts(sources)
        self._stats.kept = max(self._stats.kept, sources)

    def prefetched(self, *, used: bool) -> None:
        """Report whether a prefetched source was used."""
        self._stats.prefetched += 1
        self._stats.prefetch_used += used

    def metrics(self) -> ContextMetrics:
        """Return the metrics since the last step."""
        stats = self._stats
        took = sorted(stats.took_ns)
        return ContextMetrics(
            look_ups=len(took),
            hit_rate=_compute_context_ratio(sum(stats.hits), len(stats.hits)),
            latency_ns=took[len(took) // 2] if took else None,
            latency_tail_ns=took[min(len(took) - 1, int(len(took) * TAIL))] if took else None,
            compression_ratio=_compute_context_ratio(stats.shown, stats.full),
            registrations=stats.registrations,
            duplicates_found=stats.known,
            dedup_effectiveness=_compute_context_ratio(stats.known, stats.registrations),
            kept=stats.kept,
            evicted=stats.evicted,
            prefetched=stats.prefetched,
            prefetch_used=_compute_context_ratio(stats.prefetch_used, stats.prefetched),
        )

    def adapt(self) -> tuple[TuningStep, ...]:
        """Take every step whose condition holds; none before there are enough lookups."""
        metrics = self.metrics()
        if metrics.look_ups < ENOUGH_LOOKUPS:
            return ()
        taken: dict[str, TuningStep] = {}
        for rule in STEPS:
            before = int(getattr(self.settings, rule.setting))
            after = max(rule.least, min(rule.most, rule.change(before)))
            if after != before and rule.holds(metrics, self.settings):
                taken[rule.setting] = TuningStep(rule.name, rule.why, before, after)
        if taken:
            self.settings = replace(self.settings, **{setting: step.after for setting, step in taken.items()})
            self._stats = _ContextStats()
        return tuple(taken.values())


class StepRule(Struct, frozen=True, kw_only=True):
    """A row of the table: if it holds, one setting changes within its bounds."""

    name: str
    setting: str
    why: str
    holds: Callable[[ContextMetrics, ContextSettings], bool]
    change: Callable[[int], int]
    least: int
    most: int


def _check_context_counts(*counts: int) -> None:
    for count in counts:
        if count < 0:
            raise InputError(f"invalid count {count}", hint="times and sizes are 0 or more")


def _has_low_source_hit_rate(metrics: ContextMetrics) -> bool:
    return metrics.hit_rate is not None and metrics.hit_rate < HIT_RATE_LOW


def _has_high_source_hit_rate(metrics: ContextMetrics) -> bool:
    return metrics.hit_rate is not None and metrics.hit_rate >= HIT_RATE_HIGH


def _is_source_lookup_slow(metrics: ContextMetrics) -> bool:
    return metrics.latency_tail_ns is not None and metrics.latency_tail_ns > LATENCY_NS_MAX


def _is_source_lookup_fast(metrics: ContextMetrics) -> bool:
    return metrics.latency_tail_ns is not None and 4 * metrics.latency_tail_ns < LATENCY_NS_MAX


def _has_unused_source_prefetch(metrics: ContextMetrics) -> bool:
    return metrics.prefetch_used is not None and metrics.prefetch_used < PREFETCH_USED_LOW


def _compute_context_ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


_CACHE = (CACHE_SOURCES_MIN, CACHE_SOURCES_MAX)
_FULL = (FULL_TOKENS_MIN, FULL_TOKENS_MAX)
STEPS: tuple[StepRule, ...] = (
    StepRule(
        name="cache-grow",
        setting="cache_sources",
        why="too few lookups hit the cache, and entries were evicted",
        holds=lambda metrics, _: _has_low_source_hit_rate(metrics) and metrics.evicted > 0,
        change=lambda now: 2 * now,
        least=_CACHE[0],
        most=_CACHE[1],
    ),
    StepRule(
        name="cache-shrink",
        setting="cache_sources",
        why="nearly every lookup hits the cache, and less than a quarter of it is used",
        holds=lambda metrics, now: (
            _has_high_source_hit_rate(metrics) and metrics.evicted == 0 and 4 * metrics.kept < now.cache_sources
        ),
        change=lambda now: now // 2,
        least=_CACHE[0],
        most=_CACHE[1],
    ),
    StepRule(
        name="prefetch-less",
        setting="prefetch_sources",
        why="few prefetched sources were used",
        holds=lambda metrics, _: _has_unused_source_prefetch(metrics),
        change=lambda now: now // 2,
        least=0,
        most=PREFETCH_SOURCES_MAX,
    ),
    StepRule(
        name="prefetch-more",
        setting="prefetch_sources",
        why="lookups miss although the cache has room, so more sources are prefetched",
        holds=lambda metrics, _: (
            _has_low_source_hit_rate(metrics) and metrics.evicted == 0 and not _has_unused_source_prefetch(metrics)
        ),
        change=lambda now: now + PREFETCH_STEP,
        least=0,
        most=PREFETCH_SOURCES_MAX,
    ),
    StepRule(
        name="compress-more",
        setting="full_tokens_max",
        why="lookups are slow, so long texts are reduced to their key sentences",
        holds=lambda metrics, _: _is_source_lookup_slow(metrics),
        change=lambda now: now // 2,
        least=_FULL[0],
        most=_FULL[1],
    ),
    StepRule(
        name="compress-less",
        setting="full_tokens_max",
        why="lookups are fast and hit the cache, so longer texts are shown in full",
        holds=lambda metrics, _: _is_source_lookup_fast(metrics) and _has_high_source_hit_rate(metrics),
        change=lambda now: 2 * now,
        least=_FULL[0],
        most=_FULL[1],
    ),
)
"""All steps; at most one row per setting holds, and no setting leaves its bounds."""
