"""The monitor of contexts: its metrics, and that its steps are bounded, deterministic and finite."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.monitor import (
    CACHE_SOURCES_MAX,
    CACHE_SOURCES_MIN,
    ENOUGH_LOOKUPS,
    FULL_TOKENS_MAX,
    FULL_TOKENS_MIN,
    LATENCY_NS_MAX,
    PREFETCH_SOURCES_MAX,
    STEPS,
    ContextPerformanceMonitor,
    ContextSettings,
)
from custody.core.errors import InputError

MIDDLING_NS = LATENCY_NS_MAX // 2


def told(
    monitor: ContextPerformanceMonitor,
    *,
    hits: float = 0.9,
    took_ns: int = MIDDLING_NS,
    evicted: int = 0,
    kept: int = 100_000,
    unused: int = 0,
) -> ContextPerformanceMonitor:
    for n in range(100):
        monitor.looked_up(hit=n < 100 * hits, took_ns=took_ns)
    for _ in range(evicted):
        monitor.evicted()
    for _ in range(unused):
        monitor.prefetched(used=False)
    monitor.keeps(kept)
    return monitor


# Conformance: 003-102
def test_metrics_match_the_reported_events() -> None:
    monitor = ContextPerformanceMonitor()
    for n in range(20):
        monitor.looked_up(hit=n < 15, took_ns=n)
    monitor.compressed(full_tokens=900, shown_tokens=90)
    monitor.compressed(full_tokens=100, shown_tokens=10)
    for known in (True, False, False, True):
        monitor.registered(was_known=known)
    monitor.prefetched(used=True)
    monitor.prefetched(used=False)
    monitor.evicted()
    monitor.keeps(5)
    monitor.keeps(3)
    seen = monitor.metrics()
    assert (seen.look_ups, seen.hit_rate, seen.latency_ns, seen.latency_tail_ns) == (20, 0.75, 10, 19)
    assert (seen.compression_ratio, seen.kept, seen.evicted) == (0.1, 5, 1)
    assert (seen.registrations, seen.duplicates_found, seen.dedup_effectiveness) == (4, 2, 0.5)
    assert (seen.prefetched, seen.prefetch_used) == (2, 0.5)


def test_without_events_metrics_are_none() -> None:
    seen = ContextPerformanceMonitor().metrics()
    assert (seen.hit_rate, seen.latency_ns, seen.latency_tail_ns, seen.compression_ratio) == (None,) * 4
    assert (seen.dedup_effectiveness, seen.prefetch_used) == (None, None)


# Conformance: 003-077
@pytest.mark.parametrize(
    ("tell", "steps"),
    [
        (lambda monitor: told(monitor, hits=0.5, evicted=1), [("cache-grow", 256, 512)]),
        (lambda monitor: told(monitor, hits=1.0, kept=10), [("cache-shrink", 256, 128)]),
        (lambda monitor: told(monitor, hits=0.5), [("prefetch-more", 8, 12)]),
        (lambda monitor: told(monitor, hits=0.5, unused=5), [("prefetch-less", 8, 4)]),
        (lambda monitor: told(monitor, took_ns=LATENCY_NS_MAX + 1), [("compress-more", 8000, 4000)]),
        (lambda monitor: told(monitor, hits=1.0, took_ns=1), [("compress-less", 8000, 16_000)]),
        (told, []),
        (
            lambda monitor: told(monitor, hits=0.1, evicted=9, took_ns=10 * LATENCY_NS_MAX),
            [("cache-grow", 256, 512), ("compress-more", 8000, 4000)],
        ),
    ],
)
def test_each_step_has_its_cause(
    tell: Callable[[ContextPerformanceMonitor], ContextPerformanceMonitor], steps: list[tuple[str, int, int]]
) -> None:
    monitor = tell(ContextPerformanceMonitor(ContextSettings(prefetch_sources=8)))
    assert [(step.name, step.before, step.after) for step in monitor.adapt()] == steps
    assert monitor.adapt() == (), "no step twice for the same cause"


def test_too_few_lookups_change_nothing() -> None:
    monitor = ContextPerformanceMonitor()
    for _ in range(ENOUGH_LOOKUPS - 1):
        monitor.looked_up(hit=False, took_ns=10 * LATENCY_NS_MAX)
    assert monitor.adapt() == ()
    monitor.looked_up(hit=False, took_ns=10 * LATENCY_NS_MAX)
    assert monitor.adapt() != ()


workloads = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        st.sampled_from([0, MIDDLING_NS, 10 * LATENCY_NS_MAX]),
        st.integers(0, 2),
        st.sampled_from([0, 100_000]),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(workloads)
def test_settings_never_leave_their_bounds_and_depend_on_nothing_else(
    rounds: list[tuple[float, int, int, int, int]],
) -> None:
    first, second = ContextPerformanceMonitor(), ContextPerformanceMonitor()
    for hits, took_ns, evicted, kept, unused in rounds:
        for monitor in (first, second):
            told(monitor, hits=hits, took_ns=took_ns, evicted=evicted, kept=kept, unused=unused)
        holding = [rule.setting for rule in STEPS if rule.holds(first.metrics(), first.settings)]
        assert len(holding) == len(set(holding)), "two steps change one setting"
        assert first.adapt() == second.adapt()
        now = first.settings
        assert now == second.settings
        assert CACHE_SOURCES_MIN <= now.cache_sources <= CACHE_SOURCES_MAX
        assert 0 <= now.prefetch_sources <= PREFETCH_SOURCES_MAX
        assert FULL_TOKENS_MIN <= now.full_tokens_max <= FULL_TOKENS_MAX


@given(workloads.filter(bool))
def test_a_constant_workload_reaches_a_stable_state(rounds: list[tuple[float, int, int, int, int]]) -> None:
    hits, took_ns, evicted, kept, unused = rounds[0]
    monitor = ContextPerformanceMonitor()
    steps = 1
    for _ in range(60):
        told(monitor, hits=hits, took_ns=took_ns, evicted=evicted, kept=kept, unused=unused)
        steps = len(monitor.adapt())
    assert steps == 0


def test_every_setting_goes_both_ways() -> None:
    down = {rule.setting for rule in STEPS if rule.change(100) < 100}
    assert down == {rule.setting for rule in STEPS if rule.change(100) > 100}
    assert down == set(ContextSettings.__struct_fields__)


@pytest.mark.parametrize("fields", [{"cache_sources": 0}, {"prefetch_sources": 65}, {"full_tokens_max": 1}])
def test_settings_outside_their_bounds_are_refused(fields: dict[str, int]) -> None:
    with pytest.raises(InputError):
        ContextSettings(**fields)


def test_invalid_counts_are_errors() -> None:
    monitor = ContextPerformanceMonitor()
    with pytest.raises(InputError, match="invalid count"):
        monitor.looked_up(hit=True, took_ns=-1)
    with pytest.raises(InputError, match="invalid count"):
        monitor.compressed(full_tokens=-1, shown_tokens=0)
    with pytest.raises(InputError, match="invalid count"):
        monitor.compressed(full_tokens=0, shown_tokens=-1)
    with pytest.raises(InputError, match="invalid count"):
        monitor.keeps(-1)
