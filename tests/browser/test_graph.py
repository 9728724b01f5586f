"""The graph in a real browser: AC9 of document 004 as computed styles, keys, the legend, runs, and long sessions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from custody.graph.model import Edge, EdgeSource, EdgeType, Node, kind_from_node_name
from custody.graph.queries import GraphTables
from tests.browser.conftest import Look
from tests.builders.browser import PHONE, Looking, findings
from tests.builders.calls import World
from tests.builders.in_process import custody
from tests.builders.long_pages import long_spans
from tests.builders.service import Started, started

TYPES = ("contains", "sequence", "dependency")
LINES = {"observed": ("solid", 0.9), "inferred": ("dashed", 0.6), "template": ("dotted", 0.4)}
ARROWS = {"contains": "triangle", "sequence": "vee", "dependency": "diamond"}
COLORS = {
    ("document", "dark"): {"contains": "#22c55e", "sequence": "#FFB86F", "dependency": "#f5f0ea"},
    ("cvd", "dark"): {"contains": "#56B4E9", "sequence": "#E69F00", "dependency": "#f5f0ea"},
    ("document", "light"): {"contains": "#15803d", "sequence": "#b45309", "dependency": "#44403c"},
    ("cvd", "light"): {"contains": "#0072B2", "sequence": "#9a5b00", "dependency": "#333333"},
}
"""AC9 has colors for a dark background; those for a light one have the same contrast."""
NODES_MAX = 1_500
EDGES = """[...document.getElementById('graph-canvas').cy.edges()].map(edge => ({
  type: edge.data('edge_type'), source: edge.data('edge_source'), width: edge.pstyle('width').pfValue,
  count: edge.data('count'), color: edge.style('line-color'), line: edge.style('line-style'),
  opacity: Number(edge.style('opacity')), arrow: edge.style('target-arrow-shape'),
  head: edge.style('target-arrow-color'), shown: edge.style('display') !== 'none'}))"""


@pytest.fixture(scope="module")
def every_edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A service with a learned edge of each type and source, with growing counts."""
    world = World(tmp_path_factory.mktemp("every"))
    rows = [
        Edge(f"s:{kind}", f"s:{source}", EdgeType(kind), EdgeSource(source), count=4**n, executions=1)
        for n, (kind, source) in enumerate((kind, source) for kind in TYPES for source in LINES)
    ]
    names = sorted({name for row in rows for name in (row.start, row.end)})
    with world.workspace.writing() as store, store.writing():
        GraphTables(store).put([Node(name, kind_from_node_name(name), 1) for name in names], rows)
    with started(world.path) as made:
        yield made


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A service with a session of ten thousand spans, and one with hostile names."""
    with started(long_spans(tmp_path_factory.mktemp("long"))) as made:
        yield made


def drawn(window: Looking, path: str) -> Page:
    """Open a graph page and wait until everything is drawn."""
    page = window.go(path)
    page.wait_for_selector("#graph-canvas[data-drawn]")
    return page


def rgb(color: str) -> str:
    """Return a color as a browser reports it."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


def css(page: Page, selector: str, name: str) -> str:
    return str(page.eval_on_selector(selector, "(one, name) => getComputedStyle(one).getPropertyValue(name)", name))


def chosen(page: Page) -> str:
    return str(page.evaluate("document.getElementById('graph-canvas').cy.$(':selected').data('name')"))


class TestAC9:
    """Color is the type, the line is the source; the legend has the same colors and lines."""

    # Conformance: 004-087
    @pytest.mark.parametrize("theme", ["dark", "light"])
    @pytest.mark.parametrize("palette", ["document", "cvd"])
    def test_edges_and_legend_as_they_are_computed(
        self, look: Look, every_edge: Started, palette: str, theme: str
    ) -> None:
        page = drawn(look(every_edge, theme=theme), f"/graph?palette={palette}")
        colors = COLORS[palette, theme]
        found: list[dict[str, Any]] = page.evaluate(EDGES)
        assert {(one["type"], one["source"]) for one in found} == {(kind, source) for kind in TYPES for source in LINES}
        for one in found:
            color, (line, opacity) = rgb(colors[one["type"]]), LINES[one["source"]]
            assert one["color"].replace(",", ", ").replace("  ", " ") == color
            assert one["head"].replace(",", ", ").replace("  ", " ") == color
            assert (one["line"], one["opacity"], one["arrow"]) == (line, opacity, ARROWS[one["type"]])
        widths = [one["width"] for one in sorted(found, key=lambda one: int(one["count"]))]
        assert widths == sorted(widths) and widths[0] < widths[-1] <= 8
        for kind in TYPES:
            assert css(page, f".graph-legend .icon.t-{kind}", "color") == rgb(colors[kind])
        for source, (line, opacity) in LINES.items():
            assert css(page, f".graph-legend .icon.o-{source}", "border-top-style") == line
            assert float(css(page, f".graph-legend .icon.o-{source}", "opacity")) == opacity

    def test_another_theme_is_drawn_at_once(self, look: Look, every_edge: Started) -> None:
        page = drawn(look(every_edge, theme="light"), "/graph")
        page.click("#theme")
        found: list[dict[str, Any]] = page.evaluate(EDGES)
        colors = {one["type"]: one["color"].replace(" ", "") for one in found}
        assert colors == {kind: rgb(color).replace(" ", "") for kind, color in COLORS["document", "dark"].items()}

    # Conformance: 004-070
    def test_each_entry_of_the_legend_hides_its_edges(self, look: Look, every_edge: Started) -> None:
        page = drawn(look(every_edge), "/graph")
        for word in (*TYPES, *LINES):
            button = f".graph-legend button[data-word={word}]"
            page.click(button)
            assert page.get_attribute(button, "aria-pressed") == "false"
            shown = [(one["type"], one["source"]) for one in page.evaluate(EDGES) if one["shown"]]
            assert len(shown) == 6 and not any(word in pair for pair in shown)
            assert page.locator("#graph-rows [data-of]").count() == 6
            assert f"hide={word}" in page.url
            page.click(button)
            assert page.get_attribute(button, "aria-pressed") == "true" and "hide" not in page.url
        page.focus(".graph-legend button[data-word=contains]")
        page.keyboard.press("Space")
        page.reload()
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert {one["type"] for one in page.evaluate(EDGES) if one["shown"]} == {"sequence", "dependency"}


class TestLooking:
    # Conformance: 004-070
    @pytest.mark.parametrize("theme", ["dark", "light"])
    def test_every_picture_is_sound(self, look: Look, theme: str) -> None:
        window = look(theme=theme)
        page = drawn(window, "/graph")
        assert findings(page) == []
        page.click(".graph-views a:text-is('Call tree')")
        page.click("main table a >> nth=0")
        page.wait_for_selector("#graph-region")
        for path in (
            "/graph?view=tree&session=c0ffee00",
            "/graph?view=lanes&session=c0ffee00",
            "/graph?view=difference&before=claude-code&after=patchbot",
        ):
            page = drawn(window, path)
            assert findings(page) == []
            assert page.locator("#graph-rows [data-of]").count() > 0

    def test_on_a_phone_nothing_goes_sideways(self, look: Look) -> None:
        window = look(size=PHONE)
        for path in ("/graph", "/graph?view=tree&session=c0ffee00", "/graph?view=difference"):
            window.go(path)
            content, view = window.wide()
            assert content <= view

    def test_keys_move_between_nodes_and_enter_expands(self, look: Look) -> None:
        page = drawn(look(), "/graph?view=tree&session=c0ffee00")
        page.focus("#graph-canvas")
        for key, name in (("ArrowRight", "session"), ("ArrowRight", "turn"), ("ArrowLeft", "session")):
            page.keyboard.press(key)
            assert chosen(page) == name
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        while chosen(page) != "Edit ×3":
            before = chosen(page)
            page.keyboard.press("ArrowUp" if before == "Bash" else "ArrowDown")
        assert "Edit ×3, tool, calls 3" in page.inner_text("#graph-status")
        assert page.get_attribute("#graph-rows [aria-selected=true]", "aria-level") == "3"
        page.keyboard.press("Enter")
        page.wait_for_url("**open=*")
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert page.evaluate("document.getElementById('graph-canvas').cy.nodes().map(one => one.data('name'))") == (
            ["Edit"] * 3
        )
        page.click("text=Whole session")
        page.wait_for_selector("#graph-canvas[data-drawn='11']")

    def test_an_edge_leads_to_its_runs_and_their_sessions(self, look: Look) -> None:
        window = look()
        page = drawn(window, "/graph")
        place = page.evaluate(
            """(() => { const cy = document.getElementById('graph-canvas').cy;
            const edge = cy.edges('.contains').filter(one => one.source().data('name') === 'session')[0];
            const at = edge.renderedMidpoint(), box = cy.container().getBoundingClientRect();
            return [box.x + at.x, box.y + at.y]; })()"""
        )
        page.mouse.click(*place)
        page.wait_for_selector("#graph-runs-title")
        assert "(contains)" in page.inner_text("#graph-said") and "edge=" in page.url
        assert findings(page) == []
        page.reload()
        assert page.inner_text("#graph-runs-title") == "Runs with this edge"
        page.click("#graph-runs a:has-text('its calls') >> nth=0")
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert "Call tree of" in page.inner_text("h1")

    def test_a_row_selects_its_element(self, look: Look) -> None:
        page = drawn(look(), "/graph?view=tree&session=c0ffee00")
        page.click("#graph-rows [data-of] >> nth=2")
        assert chosen(page) == "Read"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert chosen(page) == "Edit ×3"

    def test_a_filter_draws_again_and_is_in_the_url(self, look: Look) -> None:
        page = drawn(look(), "/graph")
        before = page.inner_text("main .lead")
        page.fill("#graph-filters input[name=text]", "bash")
        page.press("#graph-filters input[name=text]", "Enter")
        page.wait_for_url("**text=bash*")
        page.locator("main .lead", has_not_text=before).wait_for()
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert page.evaluate("document.getElementById('graph-canvas').cy.nodes('[name = \"tool:Bash\"]').length") == 1
        page.select_option("select[name=palette]", "cvd")
        page.wait_for_selector("#graph-region[data-palette=cvd]")
        assert "palette=cvd" in page.url and "text=bash" in page.url

    def test_a_filter_asks_again_while_its_answer_is_computed(self, look: Look) -> None:
        page = drawn(look(), "/graph")
        before, asked = page.inner_text("main .lead"), []

        def answer_late(route: Route) -> None:
            asked.append(route.request.url)
            if len(asked) < 3:
                route.fulfill(status=204)
            else:
                route.continue_()

        page.route("**/graph?*text=bash*", answer_late)
        page.fill("#graph-filters input[name=text]", "bash")
        page.press("#graph-filters input[name=text]", "Enter")
        page.wait_for_selector("#graph-filters[aria-busy=true]")
        page.locator("main .lead", has_not_text=before).wait_for()
        assert len(asked) == 3

    def test_another_session_has_another_title_and_keeps_the_position(self, look: Look) -> None:
        page = drawn(look(), "/graph?view=tree&session=c0ffee00")
        page.fill("input[name=session]", "f1f1f1f1")
        page.press("input[name=session]", "Enter")
        page.locator("h1", has_text="Call tree of f1f1f1f1").wait_for()
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert "session=f1f1f1f1" in (page.get_attribute(".graph-views a:text-is('Lanes')", "href") or "")
        page.click("[data-tool=in]")
        pan = "JSON.stringify(document.getElementById('graph-canvas').cy.pan())"
        before = page.evaluate(pan)
        page.evaluate("document.getElementById('graph-canvas').dataset.old = ''")
        page.fill("#graph-filters input[name=text]", "e")
        page.press("#graph-filters input[name=text]", "Enter")
        page.wait_for_selector("#graph-canvas[data-drawn]:not([data-old])")
        assert page.evaluate(pan) == before and "text=e" in page.url

    def test_zooming_with_buttons(self, look: Look) -> None:
        page = drawn(look(), "/graph")
        zoom = "document.getElementById('graph-canvas').cy.zoom()"
        before = page.evaluate(zoom)
        page.click("[data-tool=in]")
        assert page.evaluate(zoom) > before
        page.click("[data-tool=fit]")
        assert page.evaluate(zoom) == pytest.approx(before)


class TestLong:
    @pytest.mark.parametrize("view", ["tree", "lanes"])
    def test_ten_thousand_spans_are_few_nodes(self, look: Look, long_session: Started, view: str) -> None:
        window = look(long_session)
        page = drawn(window, f"/graph?view={view}&session=long")
        assert window.nodes() <= NODES_MAX
        assert page.evaluate("document.getElementById('graph-canvas').cy.nodes().length") > 50

    def test_a_collapsed_box_expands(self, look: Look, long_session: Started) -> None:
        page = drawn(look(long_session), "/graph?view=tree&session=long")
        page.evaluate("document.getElementById('graph-canvas').cy.nodes('[?closed]')[0].emit('tap')")
        page.click("#graph-open")
        page.wait_for_url("**open=*")
        page.wait_for_selector("#graph-canvas[data-drawn]")
        assert "Whole session" in page.inner_text("main")

    def test_hostile_names_are_text(self, look: Look, long_session: Started) -> None:
        window = look(long_session)
        page = drawn(window, "/graph?view=tree&session=hostile")
        page.evaluate("document.getElementById('graph-canvas').cy.nodes()[1].emit('tap')")
        assert page.locator("main img").count() == 0
        assert "⟨202E⟩" in page.inner_text("#graph-said")
        content, view = window.wide()
        assert content <= view


def test_a_report_draws_it_without_a_server(browser: Browser, story: Path, tmp_path: Path) -> None:
    said = json.loads(custody(story, "report", "--html", str(tmp_path / "html"), "--json").out)
    assert not [one for one in said["failed"] if one.startswith("graph")]
    page = browser.new_context().new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None)
    page.goto((tmp_path / "html/graph.html").as_uri())
    page.wait_for_selector("#graph-canvas[data-drawn]")
    page.click(".graph-legend button[data-word=contains]")
    assert {one["type"] for one in page.evaluate(EDGES) if one["shown"]} == {"sequence"}
    page.click("#graph-rows [data-of] >> nth=0")
    assert "Newest runs" in page.inner_text("#graph-said")
    page.click(".graph-views a:text-is('Call tree')")
    page.click("main table a:has-text('c0ffee00')")
    page.wait_for_selector("#graph-canvas[data-drawn]")
    page.evaluate("document.getElementById('graph-canvas').cy.nodes('[name = \"Edit ×3\"]').emit('tap')")
    page.click("#graph-open")
    page.wait_for_selector("#graph-canvas[data-drawn='3']")
    assert wrong == []
    page.context.close()
