"""Replay of a stream: predicted when opened, learned when decided, the same for every model."""

from random import Random

import pytest

from bench.trust_measures import PassRate
from bench.trust_stream import BenchResult, DecidedChange, PredictionQuality, bench
from custody.trust.acceptance import AcceptanceModel
from custody.trust.levels import LevelCase
from custody.trust.model import DecisionType
from tests.unit.trust.builders import CAUTIOUS, DAY, NOON

ACCEPTED, MODIFIED, REJECTED = DecisionType
HOUR = DAY // 24


def a_stream(count: int = 800, seed: int = 5, *, hours: float = 1) -> list[DecidedChange]:
    """Return good and bad agents in strict and lenient repositories, decided some days after opening."""
    random = Random(seed)
    skill = {f"agent {n}": random.gauss(2, 1) for n in range(4)}
    strict = {f"repo {n}": random.gauss(0, 1.2) for n in range(15)}
    stream = []
    for place in range(count):
        agent, repo = random.choice(sorted(skill)), random.choice(sorted(strict))
        lines = random.choice((None, 5, 50, 700))
        odds = skill[agent] + strict[repo] - (lines or 0) / 500
        good = random.random() < 1 / (1 + 2.718281828 ** (-odds))
        decision = (ACCEPTED if random.random() < 0.9 else MODIFIED) if good else REJECTED
        opened_ns = NOON + round(place * hours * HOUR)
        decided_ns = opened_ns + random.randrange(0, 3 * DAY)
        stream.append(DecidedChange(LevelCase(agent, repo, lines=lines, opened_ns=opened_ns), decision, decided_ns))
    return stream


def by_name(figures: tuple[PredictionQuality, ...]) -> dict[str, PredictionQuality]:
    return {one.name: one for one in figures}


@pytest.fixture(scope="module")
def benched() -> BenchResult:
    return bench(a_stream(), CAUTIOUS, (0.05, 0.3))


def test_everybody_is_measured_over_the_same_changes(benched: BenchResult) -> None:
    names = ["constant rate", "document's score", "document's score, with stakes", "Beta per agent", "ours"]
    assert [one.name for one in benched.scored] == [one.name for one in benched.later] == names
    assert {one.count for one in benched.scored} == {720}
    assert {one.count for one in benched.later} == {400}


def test_ours_is_better_than_everybody_else(benched: BenchResult) -> None:
    for figures in (benched.scored, benched.later):
        *others, ours = figures
        assert all(ours.log_loss < other.log_loss for other in others)
        assert ours.calibration_error < 0.06


def test_only_the_documents_scores_have_the_documents_policy(benched: BenchResult) -> None:
    with_policy = {one.name for one in benched.scored if one.policy is not None}
    assert with_policy == {"document's score", "document's score, with stakes"}


def test_risk_control_is_reported_for_each_target(benched: BenchResult) -> None:
    assert [control.target for control in benched.controls] == [0.05, 0.3]
    assert all(control.seen == 800 for control in benched.controls)
    assert benched.controls[0].passed < benched.controls[1].passed
    assert benched.controls[1].realised is not None and benched.controls[1].realised <= 0.3


def test_a_replay_is_the_same_to_the_bit(benched: BenchResult) -> None:
    assert bench(a_stream(), CAUTIOUS, (0.05, 0.3)) == benched


def test_the_constant_rate_is_what_was_decided_before_the_opening() -> None:
    """Of two open changes, neither learns from the other's decision."""
    case = LevelCase("robot", "here", opened_ns=NOON)
    stream = [DecidedChange(case, ACCEPTED, NOON + 5), DecidedChange(case, REJECTED, NOON + 9)]
    rate = by_name(bench(stream, CAUTIOUS, ()).scored)["constant rate"]
    assert rate.brier == pytest.approx(0.25)


def test_a_change_decided_as_it_opens_is_predicted_first() -> None:
    stream = [DecidedChange(LevelCase("robot", "here", opened_ns=NOON + n), ACCEPTED, NOON + n) for n in range(3)]
    ours = by_name(bench(stream, CAUTIOUS, ()).scored)["ours"]
    assert ours.count == 3
    assert ours.passed.coverage == 0


def test_later_outcomes_change_no_earlier_prediction() -> None:
    """Reverse the second half: the figures of the first half do not change."""
    stream = a_stream(200)
    edge_ns = stream[100].case.opened_ns
    early = [one for one in stream if one.decided_ns < edge_ns]
    turned = [
        DecidedChange(one.case, REJECTED if one.decision is not REJECTED else ACCEPTED, one.decided_ns)
        for one in stream
        if one.case.opened_ns >= edge_ns
    ]

    def told(stream: list[DecidedChange]) -> list[float]:
        """Return the probability of each early change in a replay of everything."""
        chances, said = AcceptanceModel(CAUTIOUS), {}
        moments = [(one.case.opened_ns, True, n) for n, one in enumerate(stream)]
        moments += [(one.decided_ns, False, n) for n, one in enumerate(stream)]
        for _, opened, n in sorted(moments):
            if opened:
                said[n] = chances.predict(stream[n].case)
            elif n in said:
                chances.learn(stream[n].case, stream[n].decision, stream[n].decided_ns, said[n])
        return [said[n].probability for n in range(len(early))]

    assert told([*early, *turned]) == told([*early, *stream[100:]])


def test_the_documents_policy_lets_pass_what_its_tier_may_land() -> None:
    """A new agent is MEDIUM and may merge 50 lines; both changes are accepted."""
    stream = [
        DecidedChange(LevelCase(f"new {n}", "here", lines=n, opened_ns=NOON), ACCEPTED, NOON + 1) for n in (50, 51)
    ]
    figures = by_name(bench(stream, CAUTIOUS, ()).scored)
    assert figures["document's score"].policy == PassRate(0.5, 0.0)
