"""What was called, learnt from real records in a real store: once, exactly, and again when more comes."""

from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.wire.time import text_from
from custody.graph.app.learn import OPEN
from custody.graph.app.questions import (
    ViewOptions,
    graph_dag,
    graph_diff,
    graph_next,
    graph_path,
    graph_related,
    graph_show,
)
from custody.graph.queries import GraphTables
from custody.graph.wire.report import GraphShowReport
from tests.builders.calls import HOUR, NS, World
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON


def shown(world: World) -> GraphShowReport:
    return graph_show(world.workspace, ViewOptions())


def edges(report: GraphShowReport) -> dict[tuple[str, str, str], tuple[int, str]]:
    return {(edge.start, edge.end, edge.type): (edge.count, edge.source) for edge in report.edges}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_sessions_become_edges(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Bash")
    world.calls("s2", "Read", "Edit", at=NOON + HOUR)
    world.calls("s3", "Read", "Edit", at=NOON + 2 * HOUR)
    found = edges(shown(world))
    assert found["tool:Read", "tool:Edit", "sequence"] == (3, "observed")
    assert found["tool:Edit", "tool:Bash", "sequence"] == (1, "inferred")
    assert ("tool:Read", "tool:Bash", "sequence") not in found
    assert found["session", "tool:Read", "contains"] == (3, "observed")


def test_traced_programs_become_edges_with_what_shows_them(world: World) -> None:
    world.span("e1", "a", "cap1", 0, 9, span_kind="capability")
    world.span("e1", "b", "read_file", 1, 2, span_kind="tool", server="filesystem", parent="a")
    world.span("e1", "c", "write_file", 3, 4, span_kind="tool", server="filesystem", parent="a")
    report = shown(world)
    assert set(edges(report)) == {
        ("capability:cap1", "filesystem:read_file", "contains"),
        ("capability:cap1", "filesystem:write_file", "contains"),
        ("filesystem:read_file", "filesystem:write_file", "sequence"),
    }
    (witness,) = next(edge for edge in report.edges if edge.type == "sequence").evidence
    assert (witness.execution, witness.before, witness.after) == ("e1", "b", "c")


def test_asking_twice_counts_once(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    assert shown(world).edges == shown(world).edges
    with world.workspace.reading() as store:
        assert list(GraphTables(store).units().values()) == [2]


def test_what_may_go_on_is_learnt_at_each_question_and_kept_when_it_is_over(world: World) -> None:
    world.calls("s1", "Read", "Edit", at=world.now - HOUR)
    assert edges(shown(world))["tool:Read", "tool:Edit", "sequence"] == (1, "inferred")
    with world.workspace.reading() as store:
        assert GraphTables(store).units() == {"session:s1": OPEN}
        assert list(GraphTables(store).edges()) == []
    world.calls("s1", "Bash", at=world.now - HOUR + 60)
    assert edges(shown(world))["tool:Edit", "tool:Bash", "sequence"] == (1, "inferred")
    world.now += 48 * HOUR
    later = shown(world)
    assert edges(later)["tool:Read", "tool:Edit", "sequence"] == (1, "inferred")
    with world.workspace.reading() as store:
        assert GraphTables(store).units() == {"session:s1": 3}
    assert shown(world).edges == later.edges


def test_more_of_what_was_over_is_learnt_as_if_it_had_always_been_there(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world.calls("s1", "Read", "Edit")
    world.calls("s2", "Read", "Bash", at=NOON + HOUR)
    shown(world)
    world.calls("s1", "Grep", at=NOON + 60)
    other = World(tmp_path_factory.mktemp("other"))
    other.calls("s1", "Read", "Edit")
    other.calls("s2", "Read", "Bash", at=NOON + HOUR)
    other.calls("s1", "Grep", at=NOON + 60)
    assert edges(shown(world)) == edges(shown(other))
    assert edges(shown(world))["tool:Edit", "tool:Grep", "sequence"] == (1, "inferred")


def test_a_session_that_was_exported_and_came_back_counts_once(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    before = edges(shown(world))
    world.span("robot:s1", "call:c1", "Read", 0, 1, span_kind="tool")
    world.span("robot:s1", "call:c2", "Edit", 10, 11, span_kind="tool")
    assert edges(shown(world)) == before


def test_other_rules_learn_again(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    assert edges(shown(world))["tool:Read", "tool:Edit", "sequence"] == (1, "inferred")
    (world.path / "custody.toml").write_text("[graph]\npromote_count_min = 1\n")
    assert edges(shown(world))["tool:Read", "tool:Edit", "sequence"] == (1, "observed")


def test_a_way_and_none(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Bash")
    found = graph_path(world.workspace, "Read", "tool:Bash", "document")
    assert found.nodes == ["tool:Read", "tool:Edit", "tool:Bash"] and found.outcome == "fine"
    assert found.cost == pytest.approx(2 / (0.5 * 0.7))
    back = graph_path(world.workspace, "Bash", "Read", "document")
    assert (back.nodes, back.cost, back.outcome) == ([], None, "found")


def test_an_unknown_node_names_the_nearest(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    with pytest.raises(InputError) as caught:
        graph_path(world.workspace, "Raed", "Edit", "document")
    assert caught.value.hint == "the nearest is 'tool:Read'"


def test_nodes_that_share_neighbours_are_alike(world: World) -> None:
    for number in range(3):
        world.calls(f"s{number}", "Read", "Edit", "Bash", at=NOON + number * HOUR)
        world.calls(f"t{number}", "Read", "Write", "Bash", at=NOON + number * HOUR)
    report = graph_related(world.workspace, "Edit", "page", None)
    assert report.alike[0].node == "tool:Write"
    assert {each.node for each in report.alike[0].witnesses} == {"tool:Read", "tool:Bash"}
    assert all(edge.evidence for each in report.alike[0].witnesses for edge in each.edges)
    assert [len(each.edges) for each in report.alike[0].witnesses] == [2, 2]


def test_a_session_of_traced_programs_is_all_of_their_executions(world: World) -> None:
    world.span("e1", "1", "Read", 0, 1, session="traced")
    world.span("e2", "1", "Edit", 2, 3, session="traced")
    world.span("e3", "1", "Bash", 4, 5)
    found = graph_show(world.workspace, ViewOptions(session="traced"))
    assert [node.name for node in found.nodes] == ["tool:Edit", "tool:Read"]
    assert graph_next(world.workspace, "traced", (), None).after == ["Read", "Edit"]


def test_the_next_call_is_what_usually_follows(world: World) -> None:
    for number in range(20):
        world.calls(f"s{number}", "Read", "Edit", "Bash", at=NOON + number * 60)
    world.calls("now", "Read", at=NOON + HOUR)
    report = graph_next(world.workspace, "now", (), None)
    assert report.suggestions[0].name == "Edit" and report.suggestions[0].chance > 0.5
    assert sum(one.chance for one in report.suggestions) <= 1 + 1e-9
    assert report.suggestions[0].edges[0].type == "sequence"
    assert graph_next(world.workspace, "no", (), None).suggestions == report.suggestions  # the start of an id is enough
    (bash,) = graph_next(world.workspace, None, ("Read", "Edit"), 1).suggestions
    assert bash.name == "Bash" and [edge.start for edge in bash.edges] == ["tool:Edit"]
    with pytest.raises(InputError):
        graph_next(world.workspace, "nobody", (), None)


def test_calls_have_finer_names_where_that_is_known(world: World) -> None:
    for number in range(10):
        at = NOON + number * HOUR
        for place, (name, given) in enumerate(
            [("Read", {"file_path": "a.py"}), ("Bash", {"command": "cd x && git add ."}), ("Bash", {"command": "ls"})]
        ):
            moment = text_from((at + place * 10) * NS)
            event = an_event("call", id=f"{number}-{place}", session=f"s{number}", at=moment, name=name, input=given)
            spool_of(world.path).put(event)
    report = graph_next(world.workspace, None, ("Read .py",), 1)
    assert [one.name for one in report.suggestions] == ["Bash git add"]


def test_an_order_without_circles_says_what_it_removed(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Read")
    report = graph_dag(world.workspace, ["Read", "Edit"])
    assert sorted(report.order) == ["tool:Edit", "tool:Read"]
    assert len(report.removed) == 1


def test_a_session_is_a_tree(world: World) -> None:
    world.calls("abc1", *(["Read"] * 5), "Edit")
    world.calls("xyz", "Bash")
    report = graph_show(world.workspace, ViewOptions(session="abc"))
    labels = [row["label"] for row in report.elements["table"]]
    assert "Read ×5" in labels and "Edit" in labels and "Bash" not in labels
    assert graph_show(world.workspace, ViewOptions(session="abc1", lanes=True)).view == "lanes"
    with pytest.raises(InputError, match="no session"):
        graph_show(world.workspace, ViewOptions(session="nowhere"))


def test_periods_and_agents_differ(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    world.calls("s2", "Read", "Bash", at=NOON + HOUR, agent="other")
    noon = text_from((NOON + 60) * NS)
    for sides in ((f"..{noon}", f"{noon}.."), ("robot", "other")):
        report = graph_diff(world.workspace, *sides, ViewOptions())
        changes = {(one.start, one.end): one.change for one in report.changes if one.type == "sequence"}
        assert changes == {("tool:Read", "tool:Edit"): "gone", ("tool:Read", "tool:Bash"): "new"}
    with pytest.raises(InputError) as caught:
        graph_diff(world.workspace, "robot", "nobody", ViewOptions())
    assert "other, robot" in (caught.value.hint or "")


def test_an_empty_store_has_an_empty_graph(world: World) -> None:
    report = shown(world)
    assert (report.nodes, report.edges, report.units) == ([], [], 0)
