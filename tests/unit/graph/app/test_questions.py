"""The graph learned from real records in a real store: once, exactly, and again when more is recorded."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError, MissingExtra, install_hint
from custody.core.ids import Digest
from custody.core.wire.time import format_timestamp
from custody.graph.app.questions import (
    ViewOptions,
    build_graph_dag,
    compare_call_graphs,
    find_graph_path,
    find_related_graph_nodes,
    show_call_graph,
    suggest_next_tool_calls,
)
from custody.graph.model import UnitId
from custody.graph.queries import GraphTables
from custody.graph.wire.report import GraphShowReport
from custody.store.tables import bytes_from_sql
from tests.builders.calls import HOUR, NS, World
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON


def shown(world: World) -> GraphShowReport:
    return show_call_graph(world.workspace, ViewOptions())


def edges(report: GraphShowReport) -> dict[tuple[str, str, str], tuple[int, str]]:
    return {(edge.start, edge.end, edge.type): (edge.count, edge.source) for edge in report.edges}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_sessions_become_edges(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Bash")
    world.calls("s2", "Read", "Edit", at=NOON + HOUR)
    world.calls("s3", "Read", "Edit", at=NOON + 2 * HOUR)
    learned = edges(shown(world))
    assert learned["tool:Read", "tool:Edit", "sequence"] == (3, "observed")
    assert learned["tool:Edit", "tool:Bash", "sequence"] == (1, "inferred")
    assert ("tool:Read", "tool:Bash", "sequence") not in learned
    assert learned["session", "tool:Read", "contains"] == (3, "observed")


def test_traced_programs_become_edges_with_evidence(world: World) -> None:
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


def test_two_queries_count_once(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    assert shown(world).edges == shown(world).edges
    with world.workspace.reading() as store:
        assert list(GraphTables(store).units().values()) == [2]


def test_a_session_that_continues_is_subtracted_and_added_again(world: World) -> None:
    world.calls("s1", "Read", "Edit", at=world.now - HOUR)
    assert edges(shown(world))["tool:Read", "tool:Edit", "sequence"] == (1, "inferred")
    with world.workspace.reading() as store:
        assert GraphTables(store).units() == {UnitId("session", "s1"): 2}
    world.calls("s1", "Bash", at=world.now - HOUR + 60)
    assert edges(shown(world))["tool:Read", "tool:Edit", "sequence"] == (1, "inferred")
    assert edges(shown(world))["tool:Edit", "tool:Bash", "sequence"] == (1, "inferred")
    with world.workspace.reading() as store:
        assert GraphTables(store).units() == {UnitId("session", "s1"): 3}


def test_more_records_of_a_finished_session_are_learned_as_if_always_there(
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


def test_a_reimported_session_counts_once(world: World) -> None:
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


def test_a_path_exists_or_not(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Bash")
    report = find_graph_path(world.workspace, "Read", "tool:Bash", "document")
    assert report.nodes == ["tool:Read", "tool:Edit", "tool:Bash"] and report.outcome == "fine"
    assert report.cost == pytest.approx(2 / (0.5 * 0.7))
    back = find_graph_path(world.workspace, "Bash", "Read", "document")
    assert (back.nodes, back.cost, back.outcome) == ([], None, "found")


def test_an_unknown_node_suggests_the_nearest(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    with pytest.raises(InputError) as caught:
        find_graph_path(world.workspace, "Raed", "Edit", "document")
    assert caught.value.hint == "did you mean 'tool:Read'?"


def test_nodes_that_share_neighbors_are_similar(world: World) -> None:
    for number in range(3):
        world.calls(f"s{number}", "Read", "Edit", "Bash", at=NOON + number * HOUR)
        world.calls(f"t{number}", "Read", "Write", "Bash", at=NOON + number * HOUR)
    report = find_related_graph_nodes(world.workspace, "Edit", "page", None)
    assert report.alike[0].node == "tool:Write"
    assert {each.node for each in report.alike[0].witnesses} == {"tool:Read", "tool:Bash"}
    assert all(edge.evidence for each in report.alike[0].witnesses for edge in each.edges)
    assert [len(each.edges) for each in report.alike[0].witnesses] == [2, 2]


def test_a_session_of_traced_programs_is_all_of_their_executions(world: World) -> None:
    world.span("e1", "1", "Read", 0, 1, session="traced")
    world.span("e2", "1", "Edit", 2, 3, session="traced")
    world.span("e3", "1", "Bash", 4, 5)
    report = show_call_graph(world.workspace, ViewOptions(session="traced"))
    assert [node.name for node in report.nodes] == ["tool:Edit", "tool:Read"]
    assert suggest_next_tool_calls(world.workspace, "traced", (), None).after == ["Read", "Edit"]


def test_the_next_call_is_the_usual_follower(world: World) -> None:
    for number in range(20):
        world.calls(f"s{number}", "Read", "Edit", "Bash", at=NOON + number * 60)
    world.calls("now", "Read", at=NOON + HOUR)
    report = suggest_next_tool_calls(world.workspace, "now", (), None)
    assert report.suggestions[0].name == "Edit" and report.suggestions[0].chance > 0.5
    assert sum(suggestion.chance for suggestion in report.suggestions) <= 1 + 1e-9
    assert report.suggestions[0].edges[0].type == "sequence"
    assert (
        suggest_next_tool_calls(world.workspace, "no", (), None).suggestions == report.suggestions
    )  # the start of an id is sufficient
    (bash,) = suggest_next_tool_calls(world.workspace, None, ("Read", "Edit"), 1).suggestions
    assert bash.name == "Bash" and [edge.start for edge in bash.edges] == ["tool:Edit"]
    with pytest.raises(InputError):
        suggest_next_tool_calls(world.workspace, "unknown", (), None)


def test_calls_have_detailed_names_if_known(world: World) -> None:
    for number in range(10):
        at = NOON + number * HOUR
        for place, (name, call_input) in enumerate(
            [("Read", {"file_path": "a.py"}), ("Bash", {"command": "cd x && git add ."}), ("Bash", {"command": "ls"})]
        ):
            timestamp = format_timestamp((at + place * 10) * NS)
            event = an_event(
                "call", id=f"{number}-{place}", session=f"s{number}", at=timestamp, name=name, input=call_input
            )
            spool_of(world.path).put(event)
    report = suggest_next_tool_calls(world.workspace, None, ("Read .py",), 1)
    assert [suggestion.name for suggestion in report.suggestions] == ["Bash git add"]


def test_an_order_without_cycles_lists_the_removed_edges(world: World) -> None:
    world.calls("s1", "Read", "Edit", "Read")
    report = build_graph_dag(world.workspace, ["Read", "Edit"])
    assert sorted(report.order) == ["tool:Edit", "tool:Read"]
    assert len(report.removed) == 1


def test_a_session_is_a_tree(world: World) -> None:
    world.calls("abc1", *(["Read"] * 5), "Edit")
    world.calls("xyz", "Bash")
    report = show_call_graph(world.workspace, ViewOptions(session="abc"))
    labels = [row["label"] for row in report.elements["table"]]
    assert "Read ×5" in labels and "Edit" in labels and "Bash" not in labels
    assert show_call_graph(world.workspace, ViewOptions(session="abc1", lanes=True)).view == "lanes"
    with pytest.raises(InputError, match="unknown session"):
        show_call_graph(world.workspace, ViewOptions(session="nowhere"))


def test_periods_and_agents_differ(world: World) -> None:
    world.calls("s1", "Read", "Edit")
    world.calls("s2", "Read", "Bash", at=NOON + HOUR, agent="other")
    noon = format_timestamp((NOON + 60) * NS)
    for sides in ((f"..{noon}", f"{noon}.."), ("robot", "other")):
        report = compare_call_graphs(world.workspace, *sides, ViewOptions())
        changes = {(change.start, change.end): change.change for change in report.changes if change.type == "sequence"}
        assert changes == {("tool:Read", "tool:Edit"): "gone", ("tool:Read", "tool:Bash"): "new"}
    with pytest.raises(InputError) as caught:
        compare_call_graphs(world.workspace, "robot", "unknown", ViewOptions())
    assert "other, robot" in (caught.value.hint or "")


def test_an_empty_store_has_an_empty_graph(world: World) -> None:
    report = shown(world)
    assert (report.nodes, report.edges, report.units) == ([], [], 0)


def test_without_numpy_related_nodes_name_the_extra(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.calls("s1", "Read", "Edit")
    monkeypatch.setitem(sys.modules, "custody.graph.csr", None)
    with pytest.raises(MissingExtra) as missing:
        find_related_graph_nodes(world.workspace, "Edit", "page", None)
    assert missing.value.hint == install_hint("vector")


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_any_order_of_records_gives_the_answers_of_learning_everything_again(data: st.DataObject) -> None:
    """Sessions grow late, two agents share an id, a session comes back as an execution, and records are erased."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        for _ in range(data.draw(st.integers(1, 5))):
            session, agent = data.draw(st.sampled_from(["s1", "s2"])), data.draw(st.sampled_from(["robot", "other"]))
            names = data.draw(st.lists(st.sampled_from(["Read", "Edit", "x:y"]), min_size=1, max_size=4))
            match data.draw(st.sampled_from(["calls", "spans", "erase"])):
                case "calls":
                    world.calls(session, *names, at=NOON + data.draw(st.integers(0, 99)), agent=agent)
                case "spans":
                    for number, name in enumerate(names):
                        execution = data.draw(st.sampled_from([f"{agent}:{session}", "e1"]))
                        above = data.draw(st.sampled_from([None, "0"])) if number else None
                        world.span(execution, str(number), name, number, 9, span_kind="capability", parent=above)
                case _:
                    erase_a_record(world, data)
            kept = answers(world)
            with world.workspace.reading() as store, store.writing():
                GraphTables(store).forget()
            assert kept == answers(world)


def erase_a_record(world: World, data: st.DataObject) -> None:
    with world.workspace.reading() as store:
        digests = sorted({Digest(bytes_from_sql(digest)) for (digest,) in store.db.rows("SELECT digest FROM record")})
        if digests:
            store.erase([data.draw(st.sampled_from(digests))], who="ana", why="a test")


def answers(world: World) -> list[bytes]:
    """Return the answers about the whole graph, as they are printed."""
    return [
        msgspec.json.encode(answer)
        for answer in (
            shown(world),
            build_graph_dag(world.workspace, ()),
            suggest_next_tool_calls(world.workspace, None, ("Read",), None),
            compare_call_graphs(world.workspace, "..2026-01-31T12:00:30Z", "2026-01-31T12:00:30Z..", ViewOptions()),
        )
    ]
