"""The document's acceptance criteria on real executions: code in a worker, records in a store, the graph from there."""

from pathlib import Path

import pytest

from custody.graph.app.questions import ViewOptions, find_graph_path, show_call_graph
from custody.graph.queries import GraphTables
from custody.graph.wire.report import GraphShowReport
from custody.sdk import configure, flush
from custody.workspace.machine import machine_now_ns
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.unit.sdk.code_run import execute

DAY_NS = 86_400 * 1_000_000_000
CAP, READ = "capability:read_one", "filesystem:read_file"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def ran(repository: Path, times: int) -> Workspace:
    """Run the same code this often; the graph is queried long after."""
    configure(folder=repository)
    for _ in range(times):
        execute("await capabilities.read_two()", name="plan.py")
    assert flush()
    configure(exporter=lambda _: None)
    return Workspace(repository, now_ns=lambda: machine_now_ns() + 2 * DAY_NS)


def edges(report: GraphShowReport) -> dict[tuple[str, str, str], tuple[int, str]]:
    return {(edge.start, edge.end, edge.type): (edge.count, edge.source) for edge in report.edges}


# Conformance: 004-079, 004-080
def test_containment_and_sequence(repository: Path) -> None:
    """AC3 and AC4: contains for parents and children, sequence between siblings only."""
    learned = edges(show_call_graph(ran(repository, 1), ViewOptions()))
    assert learned["capability:read_two", CAP, "contains"] == (2, "inferred")
    assert learned[CAP, READ, "contains"] == (2, "inferred")
    assert not [key for key in learned if key[2] == "sequence" and READ in key[:2]]


# Conformance: 004-081, 004-083
def test_three_observations_and_a_restart(repository: Path) -> None:
    """AC5 and AC7: types and sources are stored and restored, and the third observation promotes."""
    workspace = ran(repository, 3)
    first = show_call_graph(workspace, ViewOptions())
    assert edges(first)["workflow:plan.py", "capability:read_two", "contains"] == (3, "observed")
    with workspace.reading() as store:
        stored = {(edge.start, edge.end, edge.type): edge.source for edge in GraphTables(store).edges()}
    assert stored == {key: source for key, (_, source) in edges(first).items()}
    assert show_call_graph(Workspace(repository, now_ns=workspace.now_ns), ViewOptions()).edges == first.edges


# Conformance: 004-082
def test_the_cost_of_a_path_follows_from_weights(repository: Path) -> None:
    """AC6: type times source."""
    report = find_graph_path(ran(repository, 1), "capability:read_two", READ, "document")
    assert report.nodes == ["capability:read_two", CAP, READ]
    assert report.cost == pytest.approx(2 / (0.8 * 0.7))


# Conformance: 004-084
def test_spans_without_parents_form_a_sequence(repository: Path) -> None:
    """AC8."""
    for number, name in enumerate(("read", "write", "close")):
        at = f"2026-01-01T00:00:0{number}Z"
        spool_of(repository).put(
            an_event(
                "span", id=f"{number}", span=f"{number}", name=name, at=at, parent=None, phase="start", session=None
            )
        )
    learned = edges(show_call_graph(Workspace(repository), ViewOptions()))
    assert set(learned) == {
        ("filesystem:read", "filesystem:write", "sequence"),
        ("filesystem:write", "filesystem:close", "sequence"),
    }
