"""The acceptance probability is an exact sum of its parts, learns from outcomes only, and can be reproduced."""

import math
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust import acceptance
from custody.trust.acceptance import (
    AcceptanceEstimate,
    AcceptanceModel,
    acceptance_probability_from_logit,
    compute_acceptance_lower_bound,
    is_merge_decision,
)
from custody.trust.levels import LevelCase
from custody.trust.model import DecisionType
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON

ACCEPTED, MODIFIED, REJECTED = DecisionType
HOUR = DAY // 24

cases = st.builds(
    LevelCase,
    st.sampled_from(("robot", "other", "third")),
    st.sampled_from(("here", "there")),
    st.sampled_from(((), ("src",), ("docs",), ("docs", "src"))),
    st.sampled_from((None, "ana", "ben")),
    st.sampled_from((None, 0, 9, 10, 60, 5000)),
)
outcomes = st.sampled_from(DecisionType)


@st.composite
def histories(draw: st.DrawFn, most: int = 30) -> list[tuple[LevelCase, DecisionType, int]]:
    """Decisions in order, over hours or months."""
    made = draw(st.lists(st.tuples(cases, outcomes, st.sampled_from((0, 1, 30, 24 * 40))), max_size=most))
    at_ns, told = NOON, []
    for case, decision, hours in made:
        at_ns += hours * HOUR
        told.append((case, decision, at_ns))
    return told


def a_case(
    agent: str = "robot", *, at_ns: int = NOON, lines: int | None = None, **more: str | tuple[str, ...]
) -> LevelCase:
    return LevelCase(agent, "here", lines=lines, opened_ns=at_ns, **more)  # type: ignore[arg-type]


def learnt(history: list[tuple[LevelCase, DecisionType, int]]) -> AcceptanceModel:
    chances = AcceptanceModel(CAUTIOUS)
    for case, decision, at_ns in history:
        chances.learn(case, decision, at_ns)
    return chances


def opened(case: LevelCase, history: list[tuple[LevelCase, DecisionType, int]], hours: int = 1) -> LevelCase:
    """Return the same change, proposed some hours after the last decision."""
    last_ns = history[-1][2] if history else NOON
    return LevelCase(case.agent, case.repository, case.areas, case.operator, case.lines, last_ns + hours * HOUR)


def test_merged_is_good_with_changes_or_without() -> None:
    assert [is_merge_decision(decision) for decision in (ACCEPTED, MODIFIED, REJECTED)] == [True, True, False]


def test_before_anything_was_decided_the_probability_is_even_and_may_be_anything() -> None:
    said = AcceptanceModel(CAUTIOUS).predict(a_case())
    assert said.probability == 0.5
    assert said.low < 0.25
    assert said.samples == 0


def test_an_agent_is_judged_by_its_own_record_more_than_by_everyones() -> None:
    history = [(a_case("good"), ACCEPTED, NOON + n * HOUR) for n in range(30)]
    history += [(a_case("bad"), REJECTED, NOON + n * HOUR) for n in range(30)]
    chances = learnt(sorted(history, key=lambda row: row[2]))
    good, bad, new = (chances.predict(a_case(agent, at_ns=NOON + 30 * HOUR)) for agent in ("good", "bad", "new"))
    assert bad.probability < 0.3 < new.probability < 0.7 < good.probability


def test_the_account_names_every_level_that_is_known_and_no_other() -> None:
    chances = AcceptanceModel(CAUTIOUS)
    bare = chances.predict(a_case())
    whole = chances.predict(a_case(areas=("src",), operator="ana", lines=60))
    rated = ["the agent's rating", "the repository's rating", "the agent's rating here", "the document's score"]
    assert [part.name for part in bare.account] == ["everyone", "repository", "agent robot", *rated]
    assert [part.name for part in whole.account] == [
        *("everyone", "repository", "area src", "agent robot", "operator ana"),
        *(*rated, "the size"),
    ]


def test_of_several_areas_the_worst_counts() -> None:
    history = [(a_case("other", areas=("docs",)), ACCEPTED, NOON) for _ in range(9)]
    history += [(a_case("other", areas=("src",)), REJECTED, NOON) for _ in range(9)]
    chances = learnt(history)
    both = chances.predict(a_case(areas=("docs", "src")))
    assert both.probability == chances.predict(a_case(areas=("src",))).probability
    assert both.probability < chances.predict(a_case(areas=("docs",))).probability


def test_knowing_a_size_says_nothing_by_itself() -> None:
    """Sizes are often known for accepted changes; that must not count for a change with a size."""
    random = Random(7)
    history = []
    for n in range(600):
        lines = random.choice((3, 30, 100, 300, 900)) if n % 2 else None
        decision = ACCEPTED if lines is not None or random.random() < 0.5 else REJECTED
        history.append((a_case(lines=lines), decision, NOON + n * HOUR))
    chances = learnt(history)
    at_ns = NOON + 600 * HOUR
    known = [chances.predict(a_case(lines=lines, at_ns=at_ns)).logit for lines in (3, 30, 100, 300, 900)]
    assert math.fsum(known) / 5 == pytest.approx(chances.predict(a_case(at_ns=at_ns)).logit, abs=0.02)


def test_a_size_that_goes_wrong_more_often_counts_against_a_change() -> None:
    history = [
        (a_case(lines=900 if n % 2 else 5), REJECTED if n % 2 else ACCEPTED, NOON + n * HOUR) for n in range(200)
    ]
    at_ns = NOON + 240 * HOUR
    small, large = (learnt(history).predict(a_case(lines=lines, at_ns=at_ns)) for lines in (5, 900))
    assert large.probability < small.probability


def test_what_was_learnt_fades() -> None:
    chances = learnt([(a_case(), ACCEPTED, NOON) for _ in range(40)])
    fresh, stale = (chances.predict(a_case(at_ns=NOON + days * DAY)) for days in (1, 200))
    assert stale.low < fresh.low
    assert stale.samples < 1 < fresh.samples


def test_a_stream_that_only_repeats_itself_does_not_drive_the_weights_away() -> None:
    """Reject every tenth change: a falling rating would predict the next acceptance."""
    history = [(a_case(), REJECTED if n % 10 == 1 else ACCEPTED, NOON + n * HOUR) for n in range(3000)]
    said = learnt(history).predict(a_case(at_ns=NOON + 3001 * HOUR))
    assert 0.85 < said.probability < 0.97
    assert max(abs(part.points) for part in said.account) < 5


def test_probabilities_keep_within_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "PROBABILITY_MIN", 0.2)
    monkeypatch.setattr(acceptance, "PROBABILITY_MAX", 0.8)
    for decision, bound in ((ACCEPTED, 0.8), (REJECTED, 0.2)):
        said = learnt([(a_case(), decision, NOON + n * HOUR) for n in range(60)]).predict(a_case())
        assert said.probability == bound
        assert 0.2 <= said.low <= said.probability


def test_the_lower_bound_is_wilsons() -> None:
    """Where (share - low)² · n = z² · low · (1 - low), by definition."""
    low = compute_acceptance_lower_bound(0.97, 57, 1.645)
    assert (0.97 - low) ** 2 * 57 == pytest.approx(1.645**2 * low * (1 - low))


@given(histories(), cases)
def test_the_account_sums_to_the_log_odds_to_the_last_bit(
    history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase
) -> None:
    said = learnt(history).predict(opened(case, history))
    points = [part.points for part in said.account]
    assert math.fsum(points) == math.fsum(reversed(points)) == said.logit
    assert sum(points) == pytest.approx(said.logit, abs=1e-12)
    assert said.probability == min(
        max(acceptance_probability_from_logit(said.logit), acceptance.PROBABILITY_MIN), acceptance.PROBABILITY_MAX
    )


@given(histories(), cases)
def test_the_same_decisions_give_the_same_probability_bit_for_bit(
    history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase
) -> None:
    asked = opened(case, history)
    assert learnt(history).predict(asked) == learnt(history).predict(asked)


Numbers = Mapping[str, object]
NERVOUS: Numbers = {
    "acceptance.WEIGHT_VARIANCE": 25.0,
    "acceptance.WEIGHT_MAX": 50.0,
    "acceptance.VARIANCE_MAX": 9.0,
    "levels.EVERYONE_PRIOR_SAMPLES": 0.1,
}
"""Every outcome inverts the weights."""
LOPSIDED: Numbers = {
    "levels.PRIOR_SAMPLES": {"repository": 0.02, "area": 0.015, "agent": 0.015},
    "acceptance.PRIOR_SAMPLES": {"repository": 0.02, "area": 0.015, "agent": 0.015},
    "levels.EVERYONE_PRIOR_SAMPLES": 0.08,
    "acceptance.LEVEL_WEIGHTS": (0.0, 0.0, 0.0, 9.0, 0.0),
    "acceptance.RATING_WEIGHT": 0.0,
    "acceptance.WEIGHT_MAX": 9.0,
}
"""Use weights that would count good news about a repository against its agents."""


@given(histories(60), cases, st.integers(0, 23), st.sampled_from(({}, NERVOUS, LOPSIDED)))
def test_one_more_acceptance_never_lowers_the_probability_of_that_agent(
    history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase, hours: int, numbers: Numbers
) -> None:
    asked = opened(case, history, hours=0)
    later_ns = asked.opened_ns - asked.opened_ns % DAY + hours * HOUR
    again = LevelCase(
        case.agent, case.repository, case.areas, case.operator, case.lines, max(later_ns, asked.opened_ns)
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in numbers.items():
            patch.setattr(f"custody.trust.{name}", value)
        before, after = learnt(history), learnt(history)
        after.learn(asked, ACCEPTED, asked.opened_ns)
        one, other = before.predict(again), after.predict(again)
    # Weights learned on a day apply from the next day on, so this is about the rest of the day.
    assert other.logit >= one.logit - 1e-12
    assert other.low >= one.low - 1e-12


@given(histories(), cases, st.data())
def test_a_prediction_knows_nothing_of_what_is_decided_later(
    history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(history)))
    other = [(one, data.draw(outcomes), at_ns) for one, _, at_ns in history[place:]]
    asked = opened(case, history[:place])

    def told(later: list[tuple[LevelCase, DecisionType, int]]) -> AcceptanceEstimate:
        chances = learnt(history[:place])
        said = chances.predict(asked)
        for one, decision, at_ns in later:
            chances.learn(one, decision, at_ns)
        return said

    assert told(history[place:]) == told(other)


@given(histories(), cases)
def test_asking_changes_nothing(history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase) -> None:
    asked = opened(case, history)
    quiet, curious = AcceptanceModel(CAUTIOUS), AcceptanceModel(CAUTIOUS)
    for one, decision, at_ns in history:
        curious.predict(asked)
        quiet.learn(one, decision, at_ns)
        curious.learn(one, decision, at_ns)
    assert quiet.predict(asked) == curious.predict(asked)


@given(histories(), cases)
def test_a_clock_that_was_set_back_breaks_nothing(
    history: list[tuple[LevelCase, DecisionType, int]], case: LevelCase
) -> None:
    backwards = [(one, decision, at_ns) for one, decision, at_ns in reversed(history)]
    said = learnt(backwards).predict(opened(case, history))
    assert 0 < said.low <= said.probability < 1


def test_the_lower_bound_holds_as_often_as_it_says() -> None:
    """Agents with a random true rate: the bound is above it in at most 5 of 100 cases."""
    random = Random(20260131)
    above = asked = 0
    for _ in range(40):
        chances, at_ns = AcceptanceModel(CAUTIOUS), NOON
        rates = {f"agent {n}": random.betavariate(4, 1.2) for n in range(12)}
        for turn in range(360):
            at_ns += 2 * HOUR
            agent = random.choice(sorted(rates))
            case = a_case(agent, at_ns=at_ns)
            if turn >= 120:
                asked += 1
                above += chances.predict(case).low > rates[agent]
            chances.learn(case, ACCEPTED if random.random() < rates[agent] else REJECTED, at_ns)
    assert above / asked <= 0.05
