"""Trust pages: the list of agents, the history of a score, and policy simulation."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.server.app.questions import NameNotFound
from custody.server.page_data import trust as pages_simulate
from custody.server.page_data import trust as pages_trust
from custody.server.page_data.cache import StateCache
from custody.server.page_data.trust import (
    TrialMemory,
    read_agent_account_page,
    read_agent_page,
    simulate_policy_for_page,
)
from custody.server.pages.frame import load_template_environment
from custody.server.pages.page import PageMemory
from custody.server.pages.trust import render_sparkline_svg
from custody.trust.app import account as trust_account
from custody.trust.app.account import list_trust_agents
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.app.simulate import SLIDERS, read_trust_slider_values, trust_simulate
from custody.trust.model import ReviewRequirement
from custody.trust.rules import TrustRules
from custody.workspace.workspace import Workspace
from tests.builders.rendered import HOSTILE, acts, in_files, nodes_of, rendered, words_of
from tests.builders.repo import a_repository
from tests.builders.trust import TrustWorld


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    """An agent with good reviews, and one with few reviews, most of them bad."""
    made = TrustWorld(tmp_path / "repo").proven("robot", 14)
    return made.proven("patchbot", 3, decision="rejected", changed_lines=20, reason="no tests").later(hours=2)


def test_an_empty_store_shows_where_trust_comes_from(tmp_path: Path) -> None:
    workspace = Workspace(a_repository(tmp_path / "repo").path)
    assert "No reviews of agents yet." in words_of(rendered(workspace, "trust"))
    words = words_of(rendered(workspace, "simulate-result"))
    assert re.search(r"no commits since \d{4}-\d\d-\d\d; pass an earlier --since, or record", words)
    with pytest.raises(NameNotFound):
        rendered(workspace, "agent", name="robot")


def test_every_reason_for_a_review_has_a_text() -> None:
    words = load_template_environment().get_template("_trust.html").module.REASONS  # type: ignore[attr-defined]
    assert words.keys() == {one.value for one in ReviewRequirement}


def test_the_list_shows_what_the_command_reports(world: TrustWorld) -> None:
    assert [row.line for row in list_trust_agents(world.workspace, after=None, limit=9).agents] == trust_list(
        world.workspace
    ).agents
    html = rendered(world.workspace, "trust")
    words = words_of(html)
    assert "2 agents at" in words
    assert "too few reviews" in words
    assert html.count('<svg class="spark"') == 2
    assert "/agent?name=patchbot" in html


def test_agents_follow_page_by_page(world: TrustWorld) -> None:
    first = list_trust_agents(world.workspace, after=None, limit=1)
    assert ([row.line.agent for row in first.agents], first.next) == (["patchbot"], "patchbot")
    second = list_trust_agents(world.workspace, after=first.next, limit=1)
    assert ([row.line.agent for row in second.agents], second.next) == (["robot"], None)


def test_curves_of_many_reviews_are_loaded_separately(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust_account, "DIRECT_SAMPLES_MAX", 5)
    html = rendered(world.workspace, "trust")
    assert 'hx-get="/agent-curve?name=robot"' in html
    assert html.count('<svg class="spark"') == 1
    assert '<svg class="spark"' in rendered(world.workspace, "agent-curve", name="robot")
    assert "no decisions about" in words_of(rendered(world.workspace, "agent-curve", name="unknown")).lower()


def test_an_agent_shows_what_it_may_merge(world: TrustWorld) -> None:
    assert (
        read_agent_page(world.workspace, "robot", at=None).line
        == trust_show(world.workspace, "robot", limit=1).standing
    )
    html = rendered(world.workspace, "agent", name="robot")
    assert 'hx-get="/agent-account?name=robot"' in html
    words = words_of(html)
    assert "14 accepted" in words
    assert "lines per change. 24-hour budget:" in words
    assert "TRUST-SAMPLES" in words_of(rendered(world.workspace, "agent", name="patchbot"))


def test_the_history_equals_the_command_newest_first(world: TrustWorld) -> None:
    found = read_agent_account_page(world.workspace, "robot", at=None, before=None, limit=5)
    steps = trust_why(world.workspace, "robot").steps
    assert list(found.steps) == steps[::-1][:5]
    assert (found.total, found.next) == (14, 9)
    rest = read_agent_account_page(world.workspace, "robot", at=None, before=found.next, limit=50)
    assert list(rest.steps) == steps[::-1][5:]
    assert rest.next is None
    words = words_of(rendered(world.workspace, "agent-account", name="patchbot"))
    assert "decision: rejected" in words
    assert "no tests" in words


def test_the_curve_begins_with_the_first_decision_and_ends_at_the_score(world: TrustWorld) -> None:
    world.later(days=40)
    found = read_agent_account_page(world.workspace, "robot", at=None, before=None, limit=5)
    assert found.curve[0].score == pytest.approx(found.recent[0].score)
    assert found.curve[-1].score == pytest.approx(found.line.score)
    assert len(found.curve) == trust_account.CURVE_POINTS
    assert max(point.score for point in found.curve) > found.curve[-1].score
    assert all(0 <= point.score <= 1 for point in found.curve)


def test_a_past_time_can_be_shown(world: TrustWorld) -> None:
    steps = trust_why(world.workspace, "robot").steps
    at = steps[6].at
    words = words_of(rendered(world.workspace, "agent", name="robot", at=at))
    assert "7 accepted" in words
    assert "At 20" in words
    assert read_agent_account_page(world.workspace, "robot", at=at, before=None, limit=50).total == 7
    # As the date field of a browser sends it.
    assert "accepted" in words_of(rendered(world.workspace, "agent", name="robot", at=at[:16]))
    with pytest.raises(InputError):
        rendered(world.workspace, "agent", name="robot", at="yesterday")
    with pytest.raises(NameNotFound):
        rendered(world.workspace, "agent", name="robot", at="2001-01-01T00:00:00Z")


def test_the_probability_equals_the_command_and_is_cached(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = PageMemory()
    chance = pages_trust.estimate_acceptance_for_page(world.workspace, memory.estimators, "robot", at=None)
    assert chance == trust_why(world.workspace, "robot").chance
    monkeypatch.setattr(pages_trust, "make_acceptance_estimator", None)
    assert "would be accepted with a probability of" in words_of(
        rendered(world.workspace, "agent-chance", name="patchbot", memory=memory)
    )


def test_with_too_many_decisions_a_page_names_the_command(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_trust, "DECISIONS_MAX", 3)
    asked: list[tuple[str, dict[str, Any]]] = [("agent-chance", {"name": "robot"}), ("simulate-result", {})]
    for name, said in asked:
        words = words_of(rendered(world.workspace, name, **said))
        assert "17 decisions are too many" in words
        assert "custody trust simulate" in words
    assert "14 decisions are too many" in words_of(rendered(world.workspace, "agent-account", name="robot"))


def test_without_a_moved_slider_the_current_rules_are_shown_twice(world: TrustWorld) -> None:
    report = simulate_policy_for_page(world.workspace, StateCache(), {}, days=30, source="records")
    verb = trust_simulate(world.workspace, policy=None, since="30d", source="records")
    assert report.policies[0] == verb.policies[0]
    assert replace_name(report.policies[1]) == replace_name(report.policies[0])
    html = rendered(world.workspace, "simulate")
    assert 'hx-get="/simulate-result"' in html
    assert "17 recorded reviews" in words_of(rendered(world.workspace, "simulate-result"))


def replace_name(policy: Any) -> Any:
    return (policy.landing, policy.agents, policy.reasons, policy.rules_digest)


def test_a_moved_slider_changes_what_would_merge(world: TrustWorld) -> None:
    report = simulate_policy_for_page(
        world.workspace, StateCache(), {"samples": 1, "audit": 0, "budget": 20}, days=30, source="records"
    )
    before, after = (one.landing.approved for one in report.policies)
    assert after > before
    html = rendered(world.workspace, "simulate", samples="1", audit="0", budget="20", days="30")
    assert 'hx-get="/simulate-result"' not in html
    assert 'name="samples" min="0" max="100" step="1" value="1"' in html
    assert "current: 10" in words_of(html)
    assert str(after) in words_of(html)


@pytest.mark.parametrize("said", [{"samples": "x"}, {"target": "99"}, {"high": "nan"}, {"days": "0"}, {"source": "?"}])
def test_a_slider_out_of_range_is_rejected(world: TrustWorld, said: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(said))):
        rendered(world.workspace, "simulate", **said)


@given(st.lists(st.tuples(st.sampled_from(sorted(SLIDERS)), st.floats(0, 1)), max_size=8))
def test_every_slider_value_gives_valid_rules(moves: list[tuple[str, float]]) -> None:
    rules = TrustRules()
    for name, part in moves:
        slider = SLIDERS[name]
        value = round(slider.least + part * (slider.most - slider.least), 2)
        rules = slider.put(rules, value)
        assert slider.read(rules) == pytest.approx(value, abs=0.51 if name in ("samples", "lines") else 1e-9)


def test_past_changes_are_gathered_once_while_sliders_move(world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    memory: TrialMemory = StateCache()
    simulate_policy_for_page(world.workspace, memory, {}, days=30, source="records")
    monkeypatch.setattr(pages_simulate, "gather_simulation_input", None)
    simulate_policy_for_page(world.workspace, memory, {"samples": 2}, days=30, source="records")
    monkeypatch.undo()
    world.proven("robot", 1)
    assert simulate_policy_for_page(world.workspace, memory, {}, days=30, source="records").recorded == 18


def test_sliders_start_at_the_current_rules(world: TrustWorld) -> None:
    world.rules("[trust]\napprove_samples_min = 3\n")
    assert read_trust_slider_values(world.workspace)["samples"] == 3


def test_without_a_repository_only_records_are_used(world: TrustWorld) -> None:
    team = replace(world.workspace, spooled=False)
    rendered(world.workspace, "trust")  # ingests the spool, which is not the team's
    assert "2 agents" in words_of(rendered(team, "trust"))
    html = rendered(team, "simulate", samples="1")
    assert "git history" not in html
    assert "17 recorded reviews" in words_of(html)
    assert "has no repository" in words_of(rendered(team, "simulate", source="git"))


def test_a_report_contains_all_parts(world: TrustWorld) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [("trust", {}), ("agent", {"name": "robot"}), ("simulate", {})]
    for name, said in asked:
        html = rendered(world.workspace, name, links=in_files(), **said)
        assert "hx-get" not in html
        assert "<form" not in html
    assert "decision: accepted" in words_of(rendered(world.workspace, "agent", links=in_files(), name="robot"))


def test_hostile_names_and_reasons_are_inert(world: TrustWorld) -> None:
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
    # The form field contains the unchanged name, so that a past time finds the same agent.
    field = re.search(r'type="hidden" name="name" value="([^"]*)"', rendered(world.workspace, "agent", name=named))
    assert field is not None
    assert unescape(field[1]) == named


def test_a_list_and_a_history_stay_small(tmp_path: Path) -> None:
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
    html = str(render_sparkline_svg(values, "words"))
    points = re.search(r'points="([^"]*)"', html)
    assert points is not None
    for point in points[1].split():
        x, y = map(float, point.split(","))
        assert 0 <= x <= 120
        assert 0 <= y <= 28
