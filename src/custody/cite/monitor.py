"""How well contexts are made, and what to set otherwise because of it: bounded steps from a table, no chance, no clock.

Whoever makes contexts tells the monitor what happened and how long it took. ``adapt`` looks at what was told since the
last step and takes every step whose condition holds; then it begins to look anew, so that no step is taken twice for
the same cause.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from custody.core.errors import InputError
from custody.core.rules import check_range

ENOUGH_LOOKS = 32
"""With fewer look-ups nothing is adapted."""
LOOKS_KEPT_MAX = 4096
"""Of more look-ups since the last step the latest are kept."""
HIT_RATE_LOW, HIT_RATE_HIGH = 0.8, 0.98
LATENCY_NS_MAX = 100_000_000
"""The document's own bound of a registration, 100 ms; below a quarter of it there is room."""
PREFETCH_USED_LOW = 0.25
TAIL = 0.95

CACHE_SOURCES_MIN, CACHE_SOURCES_MAX = 16, 65_536
PREFETCH_SOURCES_MAX = 64
PREFETCH_STEP = 4
FULL_TOKENS_MIN, FULL_TOKENS_MAX = 500, 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """What is adapted: how many shown sources are kept, how many are made ready ahead, how long a whole text may be."""

    cache_sources: int = 256
    prefetch_sources: int = 0
    full_tokens_max: int = 8_000

    def __post_init__(self) -> None:
        check_range("cache_sources", self.cache_sources, least=CACHE_SOURCES_MIN, most=CACHE_SOURCES_MAX)
        check_range("prefetch_sources", self.prefetch_sources, least=0, most=PREFETCH_SOURCES_MAX)
        check_range("full_tokens_max", self.full_tokens_max, least=FULL_TOKENS_MIN, most=FULL_TOKENS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMetrics:
    """What was seen; a figure is None where nothing was seen that it could be made of."""

    look_ups: int
    hit_rate: float | None
    """Of all look-ups, the share that was answered from what was kept."""
    latency_ns: int | None
    """The median time of a look-up."""
    latency_tail_ns: int | None
    """Of 20 look-ups 19 took no longer."""
    compression_ratio: float | None
    """Tokens shown over tokens of the whole texts; 0.1 is a tenth."""
    registrations: int
    duplicates_found: int
    dedup_effectiveness: float | None
    """Of all registrations, the share that was of a source already known."""
    kept: int
    """The most that was kept at once."""
    evicted: int
    prefetched: int
    prefetch_used: float | None
    """Of the sources made ready ahead, the share that was asked for."""


@dataclass(frozen=True, slots=True)
class TuningStep:
    """One thing that was set otherwise, and why."""

    name: str
    why: str
    before: int
    after: int


@dataclass(slots=True)
class _ContextStats:
    """What was told since the last step."""

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
    """Told what happens, it says how well things go and takes the steps of ``STEPS``."""

    def __init__(self, settings: ContextSettings | None = None) -> None:
        self.settings = settings or ContextSettings()
        self._seen = _ContextStats()

    def looked_up(self, *, hit: bool, took_ns: int) -> None:
        """A source's lines were asked for: whether they were kept, and how long it took."""
        _check_counts(took_ns)
        self._seen.hits.append(hit)
        self._seen.took_ns.append(took_ns)
        del self._seen.hits[:-LOOKS_KEPT_MAX], self._seen.took_ns[:-LOOKS_KEPT_MAX]

    def compressed(self, *, full_tokens: int, shown_tokens: int) -> None:
        """A context was made: what its sources would take whole, and what they take."""
        _check_counts(full_tokens, shown_tokens)
        self._seen.full += full_tokens
        self._seen.shown += shown_tokens

    def registered(self, *, was_known: bool) -> None:
        """A source was registered: whether it was known already."""
        self._seen.registrations += 1
        self._seen.known += was_known

    def evicted(self) -> None:
        """Something kept had to go for want of room."""
        self._seen.evicted += 1

    def keeps(self, sources: int) -> None:
        """So much is kept now."""
        _check_counts(sources)
        self._seen.kept = max(self._seen.kept, sources)

    def prefetched(self, *, used: bool) -> None:
        """Something made ready ahead was asked for, or went unused."""
        self._seen.prefetched += 1
        self._seen.prefetch_used += used

    def metrics(self) -> ContextMetrics:
        """What was seen since the last step."""
        seen = self._seen
        took = sorted(seen.took_ns)
        return ContextMetrics(
            look_ups=len(took),
            hit_rate=_share(sum(seen.hits), len(seen.hits)),
            latency_ns=took[len(took) // 2] if took else None,
            latency_tail_ns=took[min(len(took) - 1, int(len(took) * TAIL))] if took else None,
            compression_ratio=_share(seen.shown, seen.full),
            registrations=seen.registrations,
            duplicates_found=seen.known,
            dedup_effectiveness=_share(seen.known, seen.registrations),
            kept=seen.kept,
            evicted=seen.evicted,
            prefetched=seen.prefetched,
            prefetch_used=_share(seen.prefetch_used, seen.prefetched),
        )

    def adapt(self) -> tuple[TuningStep, ...]:
        """Take every step whose condition holds; none before enough was seen."""
        seen = self.metrics()
        if seen.look_ups < ENOUGH_LOOKS:
            return ()
        taken: dict[str, TuningStep] = {}
        for rule in STEPS:
            before = int(getattr(self.settings, rule.setting))
            after = max(rule.least, min(rule.most, rule.change(before)))
            if after != before and rule.holds(seen, self.settings):
                taken[rule.setting] = TuningStep(rule.name, rule.why, before, after)
        if taken:
            self.settings = replace(self.settings, **{setting: step.after for setting, step in taken.items()})
            self._seen = _ContextStats()
        return tuple(taken.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRule:
    """A row of the table: when it holds, one setting changes, within its bounds."""

    name: str
    setting: str
    why: str
    holds: Callable[[ContextMetrics, ContextSettings], bool]
    change: Callable[[int], int]
    least: int
    most: int


def _check_counts(*counts: int) -> None:
    for count in counts:
        if count < 0:
            raise InputError(f"{count} cannot be counted", hint="times and sizes are numbers from 0 on")


def _misses(seen: ContextMetrics) -> bool:
    return seen.hit_rate is not None and seen.hit_rate < HIT_RATE_LOW


def _hits(seen: ContextMetrics) -> bool:
    return seen.hit_rate is not None and seen.hit_rate >= HIT_RATE_HIGH


def _slow(seen: ContextMetrics) -> bool:
    return seen.latency_tail_ns is not None and seen.latency_tail_ns > LATENCY_NS_MAX


def _quick(seen: ContextMetrics) -> bool:
    return seen.latency_tail_ns is not None and 4 * seen.latency_tail_ns < LATENCY_NS_MAX


def _unused(seen: ContextMetrics) -> bool:
    return seen.prefetch_used is not None and seen.prefetch_used < PREFETCH_USED_LOW


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


_CACHE = (CACHE_SOURCES_MIN, CACHE_SOURCES_MAX)
_FULL = (FULL_TOKENS_MIN, FULL_TOKENS_MAX)
STEPS: tuple[StepRule, ...] = (
    StepRule(
        name="cache-grow",
        setting="cache_sources",
        why="too few look-ups were answered from what is kept, and something had to go",
        holds=lambda seen, _: _misses(seen) and seen.evicted > 0,
        change=lambda now: 2 * now,
        least=_CACHE[0],
        most=_CACHE[1],
    ),
    StepRule(
        name="cache-shrink",
        setting="cache_sources",
        why="nearly every look-up is answered, and not even a quarter of the room was taken",
        holds=lambda seen, now: _hits(seen) and seen.evicted == 0 and 4 * seen.kept < now.cache_sources,
        change=lambda now: now // 2,
        least=_CACHE[0],
        most=_CACHE[1],
    ),
    StepRule(
        name="prefetch-less",
        setting="prefetch_sources",
        why="little of what was made ready ahead was asked for",
        holds=lambda seen, _: _unused(seen),
        change=lambda now: now // 2,
        least=0,
        most=PREFETCH_SOURCES_MAX,
    ),
    StepRule(
        name="prefetch-more",
        setting="prefetch_sources",
        why="look-ups miss although there is room, so the next sources are made ready ahead",
        holds=lambda seen, _: _misses(seen) and seen.evicted == 0 and not _unused(seen),
        change=lambda now: now + PREFETCH_STEP,
        least=0,
        most=PREFETCH_SOURCES_MAX,
    ),
    StepRule(
        name="compress-more",
        setting="full_tokens_max",
        why="look-ups take too long, so long texts are shown by their key sentences",
        holds=lambda seen, _: _slow(seen),
        change=lambda now: now // 2,
        least=_FULL[0],
        most=_FULL[1],
    ),
    StepRule(
        name="compress-less",
        setting="full_tokens_max",
        why="look-ups are quick and answered from what is kept, so longer texts are shown whole",
        holds=lambda seen, _: _quick(seen) and _hits(seen),
        change=lambda now: 2 * now,
        least=_FULL[0],
        most=_FULL[1],
    ),
)
"""Every step. Of the rows of one setting at most one holds, and no setting leaves its bounds."""
