"""Acceptance probabilities from recorded decisions: every agent counts, in the order of the log, until a time."""

from pathlib import Path
from typing import Any

import pytest

from custody.core.wire.time import format_timestamp
from custody.trust.app.acceptance import (
    AcceptanceAccount,
    estimate_acceptance,
    learn_acceptance_from_decisions,
    list_counted_decisions,
)
from custody.trust.app.decisions import read_settled_decisions
from custody.trust.app.record import DecisionRequest, record_revert, record_trust_decision
from custody.trust.app.show import trust_why
from custody.trust.levels import LevelCase
from custody.trust.model import ChangeComplexity, DecisionType
from custody.trust.past_decisions import HERE
from custody.trust.rules import TrustRules
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import a_repository
from tests.unit.trust.builders import DAY, NOON

ACCEPTED, MODIFIED, REJECTED = DecisionType
RULES = TrustRules()


class World:
    """A repository whose clock a test sets."""

    def __init__(self, folder: Path) -> None:
        self.path = a_repository(folder).path
        self.day = 0.0
        self.workspace = Workspace(self.path, now_ns=lambda: self.at(self.day))

    def at(self, day: float) -> int:
        return NOON + round(day * DAY)

    def tell(self, number: int, day: float, decision: str = "accepted", **fields: Any) -> None:
        """Record a decision, possibly late."""
        said = {"agent": "robot", "actor": "ana", "changed_lines": 20, **fields}
        spool_of(self.path).put(
            an_event("decision", id=f"d{number}", at=format_timestamp(self.at(day)), decision=decision, **said)
        )

    def said(self, agent: str = "robot", *, day: float = 100, **more: Any) -> AcceptanceAccount:
        at_ns = self.at(day)
        with self.workspace.reading() as store, read_settled_decisions(store):
            return estimate_acceptance(
                learn_acceptance_from_decisions(store, RULES, at_ns), LevelCase(agent, HERE, opened_ns=at_ns, **more)
            )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


def test_without_records_the_probability_is_even_and_unproven(world: World) -> None:
    said = world.said()
    assert (said.estimate.probability, said.estimate.samples, said.control.threshold) == (0.5, 0.0, None)
    assert said.against == (
        "0 decisions cannot show that few enough changes are bad (risk target 1.0%, realized none yet)"
    )


def test_decisions_about_others_count_and_those_about_the_agent_more(world: World) -> None:
    for n in range(20):
        world.tell(n, n, "rejected", agent="other")
    alone = world.said("robot", day=21)
    assert alone.estimate.probability < 0.5
    for n in range(20, 40):
        world.tell(n, n - 20, "accepted")
    robot, other = (world.said(agent, day=21).estimate.probability for agent in ("robot", "other"))
    assert robot > 0.6 > 0.4 > other


def test_the_order_of_arrival_does_not_matter(world: World, tmp_path: Path) -> None:
    told = [(n, n * 7 % 30 / 3, ("accepted", "rejected", "modified")[n % 3], f"agent {n % 4}") for n in range(30)]
    other = World(tmp_path / "other")
    for one, rows in ((world, told), (other, told[::-1])):
        for number, day, decision, agent in rows:
            one.tell(number, day, decision, agent=agent)
    assert world.said("agent 1").estimate == other.said("agent 1").estimate


def test_a_probability_of_a_past_time_knows_nothing_of_what_came_later(world: World) -> None:
    for n in range(10):
        world.tell(n, n)
    before = world.said(day=9.5)
    for n in range(10, 20):
        world.tell(n, n, "rejected")
    assert world.said(day=9.5) == before
    assert world.said(day=20).estimate.probability < before.estimate.probability


def test_what_is_open_at_the_time_is_predicted_and_not_learnt(world: World) -> None:
    world.tell(1, 50, "rejected", opened_at=format_timestamp(world.at(1)))
    assert world.said(day=10).control.seen == 0
    with world.workspace.reading() as store, read_settled_decisions(store):
        (past,) = list_counted_decisions(store, RULES, world.at(100))
    assert past.opened_ns == world.at(1)


def test_operator_areas_and_size_are_part_of_the_account(world: World) -> None:
    for n in range(6):
        world.tell(n, n, "rejected" if n % 2 else "accepted", operator="ana", areas=["src"])
    names = [part.name for part in world.said(operator="ana", areas=("src",), lines=20).estimate.account]
    assert {"area src", "operator ana", "the size"} <= set(names)
    assert world.said(areas=("src",)).estimate.probability != world.said(areas=("docs",)).estimate.probability


def test_a_revert_is_learnt_and_spoils_the_realised_rate(world: World) -> None:
    workspace, rules = world.workspace, TrustRules(reverted_share_max=0.2)
    for n in range(150):
        world.tell(n, n / 10)
    world.day = 20
    wanted = DecisionRequest(
        agent="robot", decision=ACCEPTED, lines=20, complexity=ChangeComplexity.MINOR, actor="ana", id="last"
    )
    record_trust_decision(workspace, wanted)
    world.day = 21
    with workspace.reading() as store, read_settled_decisions(store):
        fine = learn_acceptance_from_decisions(store, rules, world.at(21)).risk.control(world.at(21))
    record_revert(workspace, "robot", "last", actor="ana", reason="slow")
    with workspace.reading() as store, read_settled_decisions(store):
        spoilt = learn_acceptance_from_decisions(store, rules, world.at(22)).risk.control(world.at(22))
    assert fine.passed == spoilt.passed > 0
    assert (fine.bad, spoilt.bad) == (0, 1)


def test_why_tells_the_probability_with_an_account_that_sums_to_it(world: World) -> None:
    for n in range(8):
        world.tell(n, n, "rejected" if n == 3 else "accepted")
    world.day = 9
    told = trust_why(world.workspace, "robot").chance
    assert sum(part.points for part in told.account) == pytest.approx(told.logit, abs=1e-12)
    assert told.probability == world.said(day=9).estimate.probability
    earlier = trust_why(world.workspace, "robot", at=format_timestamp(world.at(2.5))).chance
    assert (earlier.seen, told.seen) == (3, 8)
    assert earlier.probability > told.probability


def test_a_long_good_record_is_let_through_and_a_new_agent_is_not(world: World) -> None:
    for n in range(900):
        world.tell(n, n / 50)
    old, new = world.said(day=19), world.said("new", day=19)
    assert old.control.threshold is not None and old.against is None
    assert new.against is not None and new.against.startswith("the acceptance probability is at least 0.")
