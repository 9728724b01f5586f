"""The circuit breaker: closed, open, exactly one probe."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.links import FAILURES_MAX, BreakerState, CircuitBreaker, Ticket, make_link_breakers
from custody.core.errors import InputError


def entered(breaker: CircuitBreaker, now: float = 0.0) -> Ticket:
    ticket = breaker.enter(now)
    assert ticket is not None
    return ticket


def opened(cool_down_seconds: float = 60.0) -> CircuitBreaker:
    breaker = CircuitBreaker(failures_max=1, cool_down_seconds=cool_down_seconds)
    breaker.failed(entered(breaker), 0.0)
    return breaker


def test_it_opens_at_the_last_failure_one_after_the_other() -> None:
    breaker = CircuitBreaker(failures_max=3, cool_down_seconds=60)
    for _ in range(2):
        breaker.failed(entered(breaker), 0.0)
    breaker.succeeded(entered(breaker))
    for _ in range(2):
        breaker.failed(entered(breaker), 0.0)
        assert breaker.is_closed
    breaker.failed(entered(breaker), 0.0)
    assert (breaker.is_closed, breaker.state, breaker.enter(59.9)) == (False, BreakerState.OPEN, None)


# Conformance: 003-054
def test_after_the_cool_down_there_is_exactly_one_probe() -> None:
    breaker = opened()
    assert breaker.enter(59.999) is None
    assert breaker.enter(60.0) is not None
    assert breaker.state is BreakerState.HALF_OPEN
    assert [breaker.enter(now) for now in (60.0, 61.0, 10_000.0)] == [None, None, None]
    assert not breaker.is_closed


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = opened()
    breaker.succeeded(entered(breaker, 60.0))
    assert breaker.is_closed
    assert breaker.enter(60.0) is not None


def test_a_probe_that_fails_opens_it_for_the_whole_time_again() -> None:
    breaker = CircuitBreaker(failures_max=5, cool_down_seconds=60)
    for _ in range(5):
        breaker.failed(entered(breaker), 0.0)
    breaker.failed(entered(breaker, 60.0), 70.0)
    assert (breaker.enter(129.9), breaker.enter(130.0) is None) == (None, False)


def test_an_interrupted_probe_is_free_for_the_next_caller() -> None:
    breaker = opened()
    breaker.gave_up(entered(breaker, 60.0))
    assert breaker.enter(60.0) is not None
    assert breaker.enter(60.0) is None


def test_reports_from_before_it_opened_change_nothing() -> None:
    breaker = CircuitBreaker(failures_max=1, cool_down_seconds=60)
    first, second, third = (entered(breaker) for _ in range(3))
    breaker.failed(first, 0.0)
    breaker.failed(second, 50.0)
    probe = entered(breaker, 60.0)
    breaker.succeeded(third)
    assert breaker.state is BreakerState.HALF_OPEN, "only the probe decides"
    breaker.gave_up(third)
    assert breaker.enter(60.0) is None
    breaker.succeeded(probe)
    breaker.failed(third, 61.0)
    assert breaker.is_closed


steps = st.lists(
    st.tuples(st.sampled_from(("enter", "succeeded", "failed", "gave_up")), st.integers(0, 50), st.integers(0, 9)),
    max_size=60,
)


@given(steps, st.integers(1, 4), st.integers(1, 60))
def test_in_any_order_of_reports_one_probe_decides(
    steps: list[tuple[str, int, int]], failures_max: int, cool_down: int
) -> None:
    breaker = CircuitBreaker(failures_max=failures_max, cool_down_seconds=cool_down)
    now, out, probe = 0, list[Ticket](), None
    for what, later, which in steps:
        now += later
        was = breaker.state
        if what == "enter":
            ticket = breaker.enter(now)
            assert ticket is None or was is not BreakerState.HALF_OPEN, "a second probe"
            probe = ticket if was is BreakerState.OPEN and ticket is not None else probe
            out += [] if ticket is None else [ticket]
        elif out:
            ticket = out.pop(which % len(out))
            told(breaker, what, ticket, now)
            is_old = was is not BreakerState.CLOSED and ticket != probe
            assert breaker.state is was or not is_old, "an outdated report changed it"


def told(breaker: CircuitBreaker, what: str, ticket: Ticket, now: float) -> None:
    if what == "failed":
        breaker.failed(ticket, now)
    else:
        {"succeeded": breaker.succeeded, "gave_up": breaker.gave_up}[what](ticket)


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 5))
def test_it_opens_after_exactly_that_many_consecutive_failures(outcomes: list[bool], failures_max: int) -> None:
    breaker, in_a_row = CircuitBreaker(failures_max=failures_max, cool_down_seconds=60), 0
    for is_fine in outcomes:
        ticket = breaker.enter(0.0)
        if ticket is None:
            break
        in_a_row = 0 if is_fine else in_a_row + 1
        breaker.succeeded(ticket) if is_fine else breaker.failed(ticket, 0.0)
        assert breaker.is_closed == (in_a_row < failures_max)


def test_each_host_has_its_own() -> None:
    breaker_of = make_link_breakers()
    for _ in range(FAILURES_MAX):
        breaker_of("a").failed(entered(breaker_of("a")), 0.0)
    assert (breaker_of("a").is_closed, breaker_of("b").is_closed) == (False, True)


@pytest.mark.parametrize("said", [{"failures_max": 0}, {"cool_down_seconds": -1}])
def test_invalid_breaker_settings_are_rejected(said: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        CircuitBreaker(**said)
