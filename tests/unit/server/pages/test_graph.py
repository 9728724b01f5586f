"""The page of the graph: four bounded pictures, a legend with its state, and the same content as rows."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.wire.time import format_timestamp
from custody.graph.app.learn import LearnedGraph
from custody.graph.app.report import parse_edge_key
from custody.graph.app.views import DRAWN_MAX, THEMES, GraphViewRequest
from custody.graph.elements import COLORS
from custody.graph.model import Edge, EdgeSource, EdgeType, Node, kind_from_node_name
from custody.graph.queries import GraphTables
from custody.server.app.questions import NameNotFound
from custody.server.page_data.graph import GraphMemory, draw_graph_for_page, list_runs_for_page
from custody.server.pages.files import FileLinks
from custody.workspace.workspace import Workspace
from tests.builders.calls import HOUR, World
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.rendered import acts, data_in, links_in, rendered, words_in
from tests.builders.repo import NOON

NS = 1_000_000_000
HOSTILE = "<img src=x onerror=alert(1)>\u202ecod.exe"
STYLES = Path(__file__).parents[4] / "web/src/styles/graph.css"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def buttons(html: str) -> dict[str, str]:
    """Return the legend: each label, and whether it is pressed."""
    return dict(re.findall(r'data-word="(\w+)"[^>]*aria-pressed="(\w+)"', html))


def hide_of(html: str) -> dict[str, str]:
    """Return the ``hide`` parameter of each button."""
    return {word: hide for hide, word in re.findall(r'name="hide" value="([\w,]*)" data-word="(\w+)"', html)}


def cells(html: str) -> list[list[str]]:
    """Return the rows in the HTML itself."""
    rows = re.findall(r"<tr>((?:<td.*?</td>)+)</tr>", html, re.DOTALL)
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]


def learnt(world: World) -> None:
    for number in range(3):
        world.calls(f"s{number}", "Read", "Edit", at=NOON + number * HOUR)
    world.calls("s9", "Read", "Bash", at=NOON + 9 * HOUR, agent="other")


class TestLearnt:
    def test_nodes_and_edges_have_positions_and_equal_table_rows(self, world: World) -> None:
        learnt(world)
        html = rendered(world.workspace, "graph")
        data = data_in(html, "graph-data")
        names = {node["id"]: node["name"] for node in data["nodes"]}
        drawn = {(names[one["source"]], names[one["target"]], one["edge_type"]): one for one in data["edges"]}
        assert drawn["tool:Read", "tool:Edit", "sequence"]["edge_source"] == "observed"
        assert drawn["tool:Read", "tool:Bash", "sequence"]["edge_source"] == "inferred"
        assert len({(node["x"], node["y"]) for node in data["nodes"]}) == len(data["nodes"])
        assert [row["of"] for row in data["rows"]] == [edge["id"] for edge in data["edges"]]
        assert ["tool:Read", "tool:Edit", "sequence", "observed", "3", "3", "3", "0"] in cells(html)
        assert "4 nodes and 5 edges, learned from 4 sessions and runs" in words_in(html)

    def test_filters_are_query_parameters(self, world: World) -> None:
        learnt(world)
        few = data_in(rendered(world.workspace, "graph", least="3"), "graph-data")
        assert {edge["count"] for edge in few["edges"]} <= {3, 4}
        named = data_in(rendered(world.workspace, "graph", text="BASH"), "graph-data")
        assert {node["name"] for node in named["nodes"]} == {"session", "tool:Read", "tool:Bash"}
        other = data_in(rendered(world.workspace, "graph", agent="other"), "graph-data")
        assert {node["name"] for node in other["nodes"]} == {"session", "tool:Read", "tool:Bash"}
        nothing = words_in(rendered(world.workspace, "graph", text="zebra"))
        assert "Nothing matches." in nothing

    def test_an_agent_may_be_called_anything(self, world: World) -> None:
        world.calls("s1", "Read", "Edit", agent="../agents..robot")
        drawn = data_in(rendered(world.workspace, "graph", agent="../agents..robot"), "graph-data")
        assert {node["name"] for node in drawn["nodes"]} == {"session", "tool:Read", "tool:Edit"}

    def test_the_learned_graph_is_cached_until_a_new_record(self, world: World) -> None:
        learnt(world)
        workspace, memory = world.workspace, GraphMemory()

        def now() -> LearnedGraph:
            with workspace.reading() as store:
                return memory.read_graph(workspace, store)

        first = now()
        assert now() is first
        world.calls("s10", "Read", "Grep", at=NOON + 10 * HOUR)
        assert now() is not first and "tool:Grep" in now().engine.book.nodes

    def test_an_invalid_parameter_is_rejected(self, world: World) -> None:
        with pytest.raises(InputError, match="least"):
            rendered(world.workspace, "graph", least="many")
        with pytest.raises(InputError, match="view"):
            rendered(world.workspace, "graph", view="pie")

    def test_edges_that_are_not_drawn_are_on_further_pages(self, world: World) -> None:
        total = DRAWN_MAX + 7
        keep(world, [("capability:a", f"s:{n:04}", "contains", "observed", total - n) for n in range(total)])
        first, last = (
            draw_graph_for_page(world.workspace, GraphMemory(), GraphViewRequest(skip=skip)) for skip in (0, DRAWN_MAX)
        )
        assert (len(first.edges), first.left_out, len(last.edges), last.left_out) == (DRAWN_MAX, 7, 7, 0)
        raw: list[Any] = [*first.edges, *last.edges]
        assert len({edge["data"]["target"] for edge in raw}) == total
        html = rendered(world.workspace, "graph")
        assert {"skip": str(DRAWN_MAX)} in links_in(html, "graph") and "next: 7 more" in words_in(html)
        assert {} in links_in(rendered(world.workspace, "graph", skip=str(DRAWN_MAX)), "graph")
        assert html.count("<tr>") < 100

    def test_an_empty_store_shows_what_to_do(self, world: World) -> None:
        assert "custody import" in words_in(rendered(world.workspace, "graph"))
        assert "custody init" in words_in(rendered(world.workspace, "graph", view="tree"))
        assert "Choose two agents" in words_in(rendered(world.workspace, "graph", view="difference"))

    def test_hostile_names_are_text(self, world: World) -> None:
        world.calls("s1", HOSTILE, "Read")
        html = rendered(world.workspace, "graph")
        assert not acts(html)
        shown = {node["name"] for node in data_in(html, "graph-data")["nodes"]}
        assert "tool:<img src=x onerror=alert(1)>⟨202E⟩cod.exe" in shown


class TestLegend:
    def test_it_has_every_type_and_source_and_the_drawn_kinds(self, world: World) -> None:
        learnt(world)
        types, sources = {"contains", "sequence", "dependency"}, {"observed", "inferred", "template"}
        assert set(buttons(rendered(world.workspace, "graph"))) == {*types, *sources, "session", "tool"}

    def test_hidden_entries_are_in_the_url_and_not_in_the_rows(self, world: World) -> None:
        learnt(world)
        html = rendered(world.workspace, "graph", hide="contains,inferred")
        assert {word for word, on in buttons(html).items() if on == "false"} == {"contains", "inferred"}
        assert hide_of(html)["contains"] == "inferred" and hide_of(html)["tool"] == "contains,inferred,tool"
        assert {(row[2], row[3]) for row in cells(html)} == {("sequence", "observed")}

    def test_the_style_sheet_has_the_colors_of_the_pictures(self) -> None:
        css = STYLES.read_text()
        for palette in ("document", "cvd"):
            dark, light = (COLORS[palette, theme] for theme in THEMES)
            part = css.split('[data-palette="cvd"]')[palette == "cvd"]
            for kind in EdgeType:
                assert f"--{kind.value}: light-dark({light.edges[kind]}, {dark.edges[kind]})" in part

    def test_both_themes_are_in_the_data(self, world: World) -> None:
        learnt(world)
        styles = data_in(rendered(world.workspace, "graph", palette="cvd"), "graph-data")["styles"]
        assert set(styles) == {"dark", "light"}
        colors = {rule["selector"]: rule["style"].get("line-color") for rule in styles["dark"]}
        assert (colors["edge.contains"], colors["edge.sequence"]) == ("#56B4E9", "#E69F00")


class TestSession:
    def test_equal_calls_share_one_box_that_expands(self, world: World) -> None:
        world.calls("s1", *["Read"] * 37, "Edit")
        html = rendered(world.workspace, "graph", view="tree", session="s1")
        (reads,) = [node for node in data_in(html, "graph-data")["nodes"] if node["label"] == "Read ×37"]
        assert ["· Read ×37", "tool", "37", "ok", ""] in [row[:5] for row in cells(html)]
        opened = rendered(world.workspace, "graph", view="tree", session="s1", open=unquote(reads["open"]))
        assert [node["label"] for node in data_in(opened, "graph-data")["nodes"]] == ["Read"] * 37
        assert {"view": "tree", "session": "s1"} in links_in(opened, "graph")
        gone = rendered(world.workspace, "graph", view="tree", session="s1", open="robot:s1:nothing")
        assert "not in the session" in words_in(gone)

    def test_failures_are_shown_by_an_icon_and_a_word(self, world: World) -> None:
        world.calls("s1", "Read", status="failed")
        html = rendered(world.workspace, "graph", view="tree", session="s1")
        (read,) = [node for node in data_in(html, "graph-data")["nodes"] if node["name"] == "Read"]
        assert read["failed"] and read["label"] == "Read ✕" and ["outcome", "1 failed"] in read["said"]

    def test_lanes_are_ordered_and_an_edge_names_the_learned_edge(self, world: World) -> None:
        world.calls("s1", "Read", "Edit")
        data = data_in(rendered(world.workspace, "graph", view="lanes", session="s1"), "graph-data")
        first, second = data["nodes"]
        assert first["x"] + first["wide"] / 2 <= second["x"] - second["wide"] / 2
        (edge,) = data["edges"]
        assert list_runs_for_page(world.workspace, GraphMemory(), unquote(edge["runs"])).edge.count == 1

    def test_a_search_shows_matches_with_their_parents(self, world: World) -> None:
        world.span("e1", "a", "outer", 0, 9, span_kind="capability")
        world.span("e1", "b", "read_file", 1, 2, span_kind="tool", server="filesystem", parent="a")
        world.span("e1", "c", "other", 3, 4, span_kind="tool", parent="a")
        html = rendered(world.workspace, "graph", view="tree", session="e1", text="SYSTEM:read")
        assert [node["name"] for node in data_in(html, "graph-data")["nodes"]] == ["outer", "filesystem:read_file"]
        assert "Show the session" not in words_in(html)

    def test_ten_thousand_spans_are_few_boxes_that_count_every_call(self, world: World) -> None:
        many(world, 10_000)
        picture = draw_graph_for_page(world.workspace, GraphMemory(), GraphViewRequest(view="tree", session="e1"))
        raw: list[Any] = [node["data"] for node in picture.nodes]
        assert len(raw) <= DRAWN_MAX
        assert sum(node["count"] for node in raw) + picture.hidden == 10_000
        lanes = draw_graph_for_page(
            world.workspace, GraphMemory(), GraphViewRequest(view="lanes", session="e1", skip=DRAWN_MAX)
        )
        assert (len(lanes.nodes), lanes.left_out) == (DRAWN_MAX, 10_000 - 2 * DRAWN_MAX)

    def test_new_calls_are_drawn_although_the_session_is_cached(self, world: World) -> None:
        world.calls("s1", "Read")
        before = draw_graph_for_page(world.workspace, GraphMemory(), GraphViewRequest(view="tree", session="s1"))
        world.calls("s1", "Edit", at=NOON + 60)
        after = draw_graph_for_page(world.workspace, GraphMemory(), GraphViewRequest(view="tree", session="s1"))
        assert (len(before.nodes), len(after.nodes)) == (2, 3)

    def test_a_session_without_end_and_an_unknown_one(self, world: World) -> None:
        world.span("e1", "a", "outer", 0, 1, span_kind="capability", phase="start", status=None, ended_at=None)
        html = rendered(world.workspace, "graph", view="tree", session="e1")
        assert "1 no end recorded" in words_in(html)
        with pytest.raises(NameNotFound):
            rendered(world.workspace, "graph", view="tree", session="nowhere")

    def test_a_session_without_calls_says_so(self, world: World) -> None:
        spool_of(world.path).put(an_event("session", session="quiet"))
        words = words_in(rendered(world.workspace, "graph", view="tree", session="quiet"))
        assert "No calls in this session." in words and "Show the session" in words

    def test_sessions_are_listed_if_none_is_chosen(self, world: World) -> None:
        learnt(world)
        world.span("run-1", "a", "Read", 0, 1)
        html = rendered(world.workspace, "graph", view="lanes")
        assert {"view": "lanes", "session": "s9"} in links_in(html, "graph")
        assert {"view": "lanes", "session": "run-1"} in links_in(html, "graph")
        assert {"view": "lanes", "session": "s1"} not in links_in(
            rendered(world.workspace, "graph", view="lanes", agent="other"), "graph"
        )


class TestDifference:
    def test_agents_and_periods(self, world: World) -> None:
        learnt(world)
        turn = format_timestamp((NOON + 8 * HOUR) * NS)
        for before, after in (("robot", "other"), (f"..{turn}", f"{turn}..")):
            html = rendered(world.workspace, "graph", view="difference", before=before, after=after)
            assert ["tool:Read", "tool:Bash", "sequence", "new", "0", "1", "0 %", "100 %"] in cells(html)
            assert {"new", "gone"} <= set(buttons(html))
        sifted = rendered(world.workspace, "graph", view="difference", before="robot", after="other", text="Bash")
        assert {row[4] for row in cells(sifted)} == {"0"}, "shares and counts are still of everything"

    def test_two_periods_without_calls_are_named(self, world: World) -> None:
        learnt(world)
        before, after = ("2020-01-01T00:00:00Z..2020-02-01T00:00:00Z", "2020-02-01T00:00:00Z..2020-03-01T00:00:00Z")
        html = rendered(world.workspace, "graph", view="difference", before=before, after=after)
        assert "No calls in 2020-01-01T00:00:00Z..2020-02-01" in words_in(html)
        assert {"view": "difference"} in links_in(html, "graph")

    def test_an_agent_without_calls_is_rejected(self, world: World) -> None:
        learnt(world)
        with pytest.raises(InputError) as caught:
            rendered(world.workspace, "graph", view="difference", before="robot", after="zebra")
        assert "other, robot" in (caught.value.hint or "")

    def test_only_agents_with_calls_are_listed(self, world: World) -> None:
        learnt(world)
        spool_of(world.path).put(an_event("session", id="q", agent="quiet", session="q1"))
        html = rendered(world.workspace, "graph", view="difference")
        sides = [set(link.values()) for link in links_in(html, "graph") if "before" in link]
        assert {"difference", "other", "robot"} in sides and not any("quiet" in side for side in sides)
        assert re.findall(r'<option value="(\w+)"></option>', html) == ["other", "robot"]

    def test_comparing_needs_two_agents(self, world: World) -> None:
        assert "No calls recorded yet." in words_in(rendered(world.workspace, "graph", view="difference"))
        spool_of(world.path).put(an_event("session", id="q", agent="quiet", session="q1"))
        world.calls("s1", "Read")
        words = words_in(rendered(world.workspace, "graph", view="difference"))
        assert "Only robot has recorded calls here." in words


class TestRuns:
    def test_an_edge_names_the_sessions_that_show_it(self, world: World) -> None:
        learnt(world)
        name = "9:tool:Read>tool:Edit>sequence"
        html = rendered(world.workspace, "graph-runs", edge=name)
        assert {"id": "s2", "agent": "robot"} in links_in(html, "session")
        assert {"view": "tree", "session": "s2"} in links_in(html, "graph")
        assert "seen 3 times in 3 runs" in " ".join(html.split())
        assert "Runs with this edge" in words_in(rendered(world.workspace, "graph", edge=name))

    def test_a_traced_program_has_its_own_tree(self, world: World) -> None:
        world.span("e1", "a", "outer", 0, 9, span_kind="capability")
        world.span("e1", "b", "Read", 1, 2, span_kind="tool", parent="a")
        html = rendered(world.workspace, "graph-runs", edge="16:capability:outer>tool:Read>contains")
        assert {"view": "tree", "session": "e1"} in links_in(html, "graph")

    @pytest.mark.parametrize(
        "name", ["", "x", "3:a>b", "9:a>b>sequence", "1:a>b>friendship", "1:a:b>sequence", "²:a>b>c"]
    )
    def test_an_invalid_edge_key_is_rejected(self, name: str) -> None:
        with pytest.raises(InputError):
            parse_edge_key(name)

    def test_an_unknown_edge_is_not_found(self, world: World) -> None:
        with pytest.raises(NameNotFound):
            list_runs_for_page(world.workspace, GraphMemory(), "1:a>b>sequence")

    def test_a_template_was_not_seen(self, world: World) -> None:
        keep(world, [("capability:a", "s:b", "dependency", "template", 0)])
        html = rendered(world.workspace, "graph-runs", edge="12:capability:a>s:b>dependency")
        assert "expected by a template" in html


class TestReport:
    def test_everything_is_in_the_file_and_boxes_lead_to_files(self, world: World) -> None:
        world.calls("s1", *["Read"] * 5, "Edit")
        links = FileLinks(most=100)
        html = rendered(world.workspace, "graph", links=links, view="tree", session="s1")
        assert "hx-get" not in html and 'id="graph-filters"' not in html and "data-served" not in html
        (place,) = data_in(html, "graph-opens").values()
        assert ("graph", (("open", "robot:s1:call:c1×5"), ("session", "s1"), ("view", "tree"))) in links.waiting
        assert re.fullmatch(r"graph-[0-9a-f]{12}\.html", place)

    def test_the_newest_runs_of_an_edge_are_in_it(self, world: World) -> None:
        learnt(world)
        data = data_in(rendered(world.workspace, "graph", links=FileLinks(most=100)), "graph-data")
        (edge,) = [one for one in data["edges"] if one["edge_type"] == "sequence" and one["count"] == 3]
        assert [execution for execution, _ in edge["seen"]] == ["robot:s2", "robot:s1", "robot:s0"]


def keep(world: World, edges: Sequence[tuple[str, str, str, str, int]]) -> None:
    """Store learned edges."""
    rows = [
        Edge(start, end, EdgeType(kind), EdgeSource(source), count=count, executions=count)
        for start, end, kind, source, count in edges
    ]
    nodes = sorted({name for row in rows for name in (row.start, row.end)})
    with world.workspace.writing() as store, store.writing():
        GraphTables(store).put([Node(name, kind_from_node_name(name), 1) for name in nodes], rows)


def many(world: World, count: int) -> None:
    """Record a run of many spans, each with ten children."""
    names = ("Read", "Edit", "Bash")
    world.spans(
        "e1", ((str(n), names[n % 3], n, 2 * count - n, str((n - 1) // 10) if n else None) for n in range(count))
    )


def test_a_service_without_a_repository_has_pictures_too(world: World) -> None:
    learnt(world)
    with world.workspace.writing():
        elsewhere: Workspace = replace(world.workspace, spooled=False)
    assert "learned from" in words_in(rendered(elsewhere, "graph"))
