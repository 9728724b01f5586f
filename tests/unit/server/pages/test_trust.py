"""Trust: agents listed, one with the account of its score, and policies tried on the past."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.server.app.questions import NameNotFound
from custody.server.page_data import trust as pages_simulate
from custody.server.page_data import trust as pages_trust
from custody.server.page_data.cache import StateCache
from custody.server.page_data.trust import TrialMemory, agent_account, policy_tried, read_agent_page
from custody.server.pages.frame import environment
from custody.server.pages.page import PageMemory
from custody.server.pages.trust import spark
from custody.trust.app import account as trust_account
from custody.trust.app.account import agents_listed
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.app.simulate import SLIDERS, slider_values, trust_simulate
from custody.trust.model import ReviewRequirement
from custody.trust.rules import TrustRules
from custody.workspace.workspace import Workspace
from tests.builders.rendered import HOSTILE, acts, in_files, nodes_of, rendered, words_of
from tests.builders.repo import a_repository
from tests.builders.trust import TrustWorld


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    """An agent with a good record, and one with few decisions, most of them bad."""
    made = TrustWorld(tmp_path / "repo").proven("robot", 14)
    return made.proven("patchbot", 3, decision="rejected", changed_lines=20, reason="no tests").later(hours=2)


def test_an_empty_store_says_where_trust_comes_from(tmp_path: Path) -> None:
    workspace = Workspace(a_repository(tmp_path / "repo").path)
    assert "Nothing was decided about any agent yet." in words_of(rendered(workspace, "trust"))
    words = words_of(rendered(workspace, "simulate-result"))
    assert re.search(r"nothing was committed since \d{4}-\d\d-\d\d; look further back, or record", words)
    with pytest.raises(NameNotFound):
        rendered(workspace, "agent", name="robot")


def test_what_keeps_a_change_back_is_said_in_words() -> None:
    words = environment().get_template("_trust.html").module.KEPT  # type: ignore[attr-defined]
    assert words.keys() == {one.value for one in ReviewRequirement}


def test_the_list_says_what_the_verb_says(world: TrustWorld) -> None:
    assert [row.line for row in agents_listed(world.workspace, after=None, limit=9).agents] == trust_list(
        world.workspace
    ).agents
    html = rendered(world.workspace, "trust")
    words = words_of(html)
    assert "2 agents as of" in words
    assert "too few to mean much" in words
    assert html.count('<svg class="spark"') == 2
    assert "/agent?name=patchbot" in html


def test_agents_follow_page_by_page(world: TrustWorld) -> None:
    first = agents_listed(world.workspace, after=None, limit=1)
    assert ([row.line.agent for row in first.agents], first.next) == (["patchbot"], "patchbot")
    second = agents_listed(world.workspace, after=first.next, limit=1)
    assert ([row.line.agent for row in second.agents], second.next) == (["robot"], None)


def test_curves_of_much_that_was_decided_are_asked_for_apart(
    world: TrustWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust_account, "DIRECT_SAMPLES_MAX", 5)
    html = rendered(world.workspace, "trust")
    assert 'hx-get="/agent-curve?name=robot"' in html
    assert html.count('<svg class="spark"') == 1
    assert '<svg class="spark"' in rendered(world.workspace, "agent-curve", name="robot")
    assert "nothing was decided about" in words_of(rendered(world.workspace, "agent-curve", name="nobody")).lower()


def test_an_agent_is_told_with_what_it_may_land(world: TrustWorld) -> None:
    assert (
        read_agent_page(world.workspace, "robot", at=None).line
        == trust_show(world.workspace, "robot", limit=1).standing
    )
    html = rendered(world.workspace, "agent", name="robot")
    assert 'hx-get="/agent-account?name=robot"' in html
    words = words_of(html)
    assert "14 accepted" in words
    assert "lines a change, and" in words
    assert "TRUST-SAMPLES" in words_of(rendered(world.workspace, "agent", name="patchbot"))


def test_the_account_is_the_verbs_account_newest_first(world: TrustWorld) -> None:
    found = agent_account(world.workspace, "robot", at=None, before=None, limit=5)
    steps = trust_why(world.workspace, "robot").steps
    assert list(found.steps) == steps[::-1][:5]
    assert (found.total, found.next) == (14, 9)
    rest = agent_account(world.workspace, "robot", at=None, before=found.next, limit=50)
    assert list(rest.steps) == steps[::-1][5:]
    assert rest.next is None
    words = words_of(rendered(world.workspace, "agent-account", name="patchbot"))
    assert "decision: rejected" in words
    assert "no tests" in words


def test_the_curve_begins_with_the_first_decision_and_ends_at_the_score(world: TrustWorld) -> None:
    world.later(days=40)
    found = agent_account(world.workspace, "robot", at=None, before=None, limit=5)
    assert found.curve[0].score == pytest.approx(found.recent[0].score)
    assert found.curve[-1].score == pytest.approx(found.line.score)
    assert len(found.curve) == trust_account.CURVE_POINTS
    assert max(point.score for point in found.curve) > found.curve[-1].score
    assert all(0 <= point.score <= 1 for point in found.curve)


def test_a_past_moment_can_be_looked_at(world: TrustWorld) -> None:
    steps = trust_why(world.workspace, "robot").steps
    at = steps[6].at
    words = words_of(rendered(world.workspace, "agent", name="robot", at=at))
    assert "7 accepted" in words
    assert "As of" in words
    assert agent_account(world.workspace, "robot", at=at, before=None, limit=50).total == 7
    # As a browser's field for a moment says it.
    assert "accepted" in words_of(rendered(world.workspace, "agent", name="robot", at=at[:16]))
    with pytest.raises(InputError):
        rendered(world.workspace, "agent", name="robot", at="yesterday")
    with pytest.raises(NameNotFound):
        rendered(world.workspace, "agent", name="robot", at="2001-01-01T00:00:00Z")


def test_the_chance_is_the_verbs_chance_and_not_made_again(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = PageMemory()
    chance = pages_trust.agent_chance(world.workspace, memory.estimators, "robot", at=None)
    assert chance == trust_why(world.workspace, "robot").chance
    monkeypatch.setattr(pages_trust, "make_chance_estimator", None)
    assert "would be accepted with a chance of" in words_of(
        rendered(world.workspace, "agent-chance", name="patchbot", memory=memory)
    )


def test_of_too_many_decisions_a_page_says_which_verb_to_run(
    world: TrustWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_trust, "DECISIONS_MAX", 3)
    asked: list[tuple[str, dict[str, Any]]] = [("agent-chance", {"name": "robot"}), ("simulate-result", {})]
    for name, said in asked:
        words = words_of(rendered(world.workspace, name, **said))
        assert "17 decisions, too many" in words
        assert "custody trust simulate" in words
    assert "14 decisions, too many" in words_of(rendered(world.workspace, "agent-account", name="robot"))


def test_without_a_moved_slider_the_rules_in_force_are_shown_twice(world: TrustWorld) -> None:
    report = policy_tried(world.workspace, StateCache(), {}, days=30, source="records")
    verb = trust_simulate(world.workspace, policy=None, since="30d", source="records")
    assert report.policies[0] == verb.policies[0]
    assert replace_name(report.policies[1]) == replace_name(report.policies[0])
    html = rendered(world.workspace, "simulate")
    assert 'hx-get="/simulate-result"' in html
    assert "17 recorded decisions" in words_of(rendered(world.workspace, "simulate-result"))


def replace_name(policy: Any) -> Any:
    return (policy.landing, policy.agents, policy.reasons, policy.rules_digest)


def test_a_moved_slider_changes_what_would_have_landed(world: TrustWorld) -> None:
    report = policy_tried(
        world.workspace, StateCache(), {"samples": 1, "audit": 0, "budget": 20}, days=30, source="records"
    )
    before, after = (one.landing.approved for one in report.policies)
    assert after > before
    html = rendered(world.workspace, "simulate", samples="1", audit="0", budget="20", days="30")
    assert 'hx-get="/simulate-result"' not in html
    assert 'name="samples" min="0" max="100" step="1" value="1"' in html
    assert "in force: 10" in words_of(html)
    assert str(after) in words_of(html)


@pytest.mark.parametrize("said", [{"samples": "x"}, {"target": "99"}, {"high": "nan"}, {"days": "0"}, {"source": "?"}])
def test_a_slider_beyond_its_ends_is_refused_in_words(world: TrustWorld, said: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(said))):
        rendered(world.workspace, "simulate", **said)


@given(st.lists(st.tuples(st.sampled_from(sorted(SLIDERS)), st.floats(0, 1)), max_size=8))
def test_whatever_is_moved_gives_rules_that_hold(moves: list[tuple[str, float]]) -> None:
    rules = TrustRules()
    for name, part in moves:
        slider = SLIDERS[name]
        value = round(slider.least + part * (slider.most - slider.least), 2)
        rules = slider.put(rules, value)
        assert slider.read(rules) == pytest.approx(value, abs=0.51 if name in ("samples", "lines") else 1e-9)


def test_what_happened_is_gathered_once_while_sliders_move(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    memory: TrialMemory = StateCache()
    policy_tried(world.workspace, memory, {}, days=30, source="records")
    monkeypatch.setattr(pages_simulate, "gather", None)
    policy_tried(world.workspace, memory, {"samples": 2}, days=30, source="records")
    monkeypatch.undo()
    world.proven("robot", 1)
    assert policy_tried(world.workspace, memory, {}, days=30, source="records").recorded == 18


def test_sliders_stand_where_the_rules_in_force_are(world: TrustWorld) -> None:
    world.rules("[trust]\napprove_samples_min = 3\n")
    assert slider_values(world.workspace)["samples"] == 3


def test_without_a_repository_records_alone_are_looked_at(world: TrustWorld) -> None:
    team = replace(world.workspace, spooled=False)
    rendered(world.workspace, "trust")  # drains what waits, which is not the team's
    assert "2 agents" in words_of(rendered(team, "trust"))
    html = rendered(team, "simulate", samples="1")
    assert "git history" not in html
    assert "17 recorded decisions" in words_of(html)
    assert "has no repository" in words_of(rendered(team, "simulate", source="git"))


def test_a_report_in_files_has_all_of_it_at_once(world: TrustWorld) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [("trust", {}), ("agent", {"name": "robot"}), ("simulate", {})]
    for name, said in asked:
        html = rendered(world.workspace, name, links=in_files(), **said)
        assert "hx-get" not in html
        assert "<form" not in html
    assert "decision: accepted" in words_of(rendered(world.workspace, "agent", links=in_files(), name="robot"))


def test_nothing_in_a_name_or_a_reason_acts(world: TrustWorld) -> None:
    named = HOSTILE.replace("\x1b", "")
    for agent in (named, "y" * 900):
        world.tell("decision", agent=agent, decision="accepted", reason=HOSTILE + "z" * 3_900, actor=named)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("trust", {}),
        ("agent", {"name": named}),
        ("agent-account", {"name": named}),
        ("agent-chance", {"name": named}),
        ("simulate-result", {}),
        ("simulate", {"days": "30"}),
    ]
    for name, said in asked:
        html = rendered(world.workspace, name, **said)
        assert not acts(html), name
        assert len(html) < 100_000, name
    # The field of a form holds the name as it is, so that looking back finds the same agent.
    field = re.search(r'type="hidden" name="name" value="([^"]*)"', rendered(world.workspace, "agent", name=named))
    assert field is not None
    assert unescape(field[1]) == named


def test_a_list_and_an_account_stay_small(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repo")
    for n in range(70):
        world.tell("decision", agent=f"agent-{n:03}", decision="accepted", changed_lines=3)
    world.proven("robot", 120)
    html = rendered(world.workspace, "trust")
    assert "More agents" in html
    assert nodes_of(html) <= 1_500
    account = rendered(world.workspace, "agent-account", name="robot")
    assert "Earlier records" in account
    assert nodes_of(account) + nodes_of(rendered(world.workspace, "agent", name="robot")) <= 1_500


@given(st.lists(st.floats(0, 1), max_size=50))
def test_a_small_curve_stays_in_its_frame(values: list[float]) -> None:
    html = str(spark(values, "words"))
    points = re.search(r'points="([^"]*)"', html)
    assert points is not None
    for point in points[1].split():
        x, y = map(float, point.split(","))
        assert 0 <= x <= 120
        assert 0 <= y <= 28
