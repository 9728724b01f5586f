"""The graph of calls: learned from all sessions, of one session, or compared."""

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from custody.core.wire.time import format_timestamp
from custody.graph.app.views import DRAWN_MAX, GraphViewRequest, Picture, list_graph_agents, list_traced_executions
from custody.ledger.sessions import list_session_log
from custody.server.page_data.graph import draw_graph_for_page, list_runs_for_page
from custody.server.pages.graph_data import (
    GraphTableRow,
    list_island_boxes,
    list_page_columns,
    make_graph_island,
    make_page_table_rows,
)
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace

VIEWS = {
    "graph": ("Learned", "learned from all sessions"),
    "tree": ("Call tree", "calls of a session"),
    "lanes": ("Lanes", "order of calls"),
    "difference": ("Difference", "changes"),
}
PALETTES = ("document", "cvd")
CHANGES = {"new": "new", "gone": "gone", "more": "more common", "less": "less common", "same": "equally common"}
SESSIONS_MAX = 50
ROWS_WITHOUT_SCRIPT = 60
"""Rows in the HTML itself; the script replaces them with all rows."""
OPENS_MAX = 100
"""Maximum collapsed boxes per picture whose content a report includes."""
COUNT_MAX = 999_999_999
DAY_NS = 86_400 * 1_000_000_000
TAKES = {
    "view": "The picture: graph, tree, lanes or difference.",
    "session": "The session of a tree or lanes: its id, or the start of it.",
    "open": "The collapsed box to expand.",
    "before": "One side of a difference: a period FROM..TO, or an agent.",
    "after": "The other side.",
    "agent": "Only calls of this agent.",
    "text": "Only calls whose name contains this.",
    "least": "Only edges seen at least this often.",
    "skip": "The number of items to skip.",
    "hide": "The hidden legend entries, separated by commas.",
    "palette": "The colors: document, or cvd for color-blind readers.",
    "edge": "The edge to list the runs of.",
}


class LegendEntry(Struct, frozen=True):
    """An entry of the legend: what it shows or hides, its look, and its count."""

    group: str
    word: str
    label: str
    look: str
    shown: bool
    count: int
    hide: str
    """The ``hide`` parameter after a click on this entry."""


def view_graph(workspace: Workspace, params: PageParams) -> PageView:
    """Show a picture, or the choices if nothing is chosen yet."""
    request = _read_view_request(params)
    fields: dict[str, Any] = {
        "request": request,
        "views": VIEWS,
        "palettes": PALETTES,
        "agents": list_graph_agents(workspace),
        "hide": ",".join(_read_hidden_labels(params)),
    }
    if _can_draw_graph_page(request):
        picture = draw_graph_for_page(workspace, params.memory.graph, request)
        fields |= _make_picture_fields(picture, params) | {"runs": _read_edge_runs(workspace, params)}
    else:
        fields |= {"picture": None, **_list_graph_page_choices(workspace, request)}
    title = _make_graph_page_title(request)
    return PageView(title=title, template="graph.html", fields=fields, scripts=("graph.js",), styles=("graph.css",))


def view_edge_runs(workspace: Workspace, params: PageParams) -> PageView:
    """Show the runs with an edge."""
    return PageView(
        title="Runs",
        template="graph_runs.html",
        fields={"runs": list_runs_for_page(workspace, params.memory.graph, params.require_text("edge"))},
    )


def _read_view_request(params: PageParams) -> GraphViewRequest:
    return GraphViewRequest(
        view=cast(Any, params.choice("view", tuple(VIEWS))),
        session=params.text("session"),
        root=params.text("open"),
        before=params.text("before"),
        after=params.text("after"),
        agent=params.text("agent"),
        text=params.text("text"),
        least=params.number("least", 0, least=0, most=COUNT_MAX),
        skip=params.number("skip", 0, least=0, most=COUNT_MAX),
        palette=cast(Any, params.choice("palette", PALETTES)),
    )


def _read_hidden_labels(params: PageParams) -> list[str]:
    return sorted({word for word in (params.text("hide") or "").split(",") if word.isalpha() and word.isascii()})


def _can_draw_graph_page(request: GraphViewRequest) -> bool:
    if request.view == "difference":
        return request.before is not None and request.after is not None
    return request.view == "graph" or request.session is not None


def _make_graph_page_title(request: GraphViewRequest) -> str:
    if request.view in ("tree", "lanes") and request.session is not None:
        return f"{VIEWS[request.view][0]} of {request.session}"
    return f"Graph: {VIEWS[request.view][1]}"


def _make_picture_fields(picture: Picture, params: PageParams) -> dict[str, Any]:
    hidden = _read_hidden_labels(params)
    rows = make_page_table_rows(picture)
    data = make_graph_island(picture, rows)
    return {
        "picture": picture,
        "data": data,
        "columns": list_page_columns(picture),
        "rows": _select_page_rows(rows, hidden),
        "row_count": len(rows),
        "legend": _make_page_legend(picture, hidden),
        "drawn_max": DRAWN_MAX,
        "insides": list_island_boxes(data)[:OPENS_MAX],
    }


def _select_page_rows(rows: Sequence[GraphTableRow], hidden: Sequence[str]) -> list[GraphTableRow]:
    return [row for row in rows if not set(row.words) & set(hidden)][:ROWS_WITHOUT_SCRIPT]


def _read_edge_runs(workspace: Workspace, params: PageParams) -> Any:
    return None if (edge := params.text("edge")) is None else list_runs_for_page(workspace, params.memory.graph, edge)


# --- legend -----------------------------------------------------------------------------------------------------------


def _make_page_legend(picture: Picture, hidden: Sequence[str]) -> dict[str, list[LegendEntry]]:
    """Return every type and source, and the kinds of nodes and changes in the picture."""
    counts = _count_legend_labels(picture)
    groups: dict[str, list[LegendEntry]] = {"type": [], "source": [], "node": []}
    for entry in picture.legend:
        word = entry["label"]
        if entry["group"] != "node" or counts.get(word):
            look = entry.get("arrow") or entry.get("line") or entry["shape"]
            groups[entry["group"]].append(_make_legend_entry(entry["group"], word, word, look, hidden, counts))
    if picture.view == "difference":
        groups["change"] = [
            _make_legend_entry("change", word, label, "", hidden, counts)
            for word, label in CHANGES.items()
            if counts.get(word)
        ]
    return groups


def _make_legend_entry(
    group: str, word: str, label: str, look: str, hidden: Sequence[str], counts: dict[str, int]
) -> LegendEntry:
    switched = sorted({*hidden} ^ {word})
    return LegendEntry(group, word, label, look, word not in hidden, counts.get(word, 0), ",".join(switched))


def _count_legend_labels(picture: Picture) -> dict[str, int]:
    counts: dict[str, int] = {}
    edges: list[Any] = [edge["data"] for edge in picture.edges]
    words = [word for data in edges for word in (data["edge_type"], data["edge_source"], data.get("change"))]
    nodes: list[Any] = [node["data"] for node in picture.nodes]
    for word in (*words, *(data["kind"] for data in nodes)):
        counts[word] = counts.get(word, 0) + 1
    return counts


# --- choices ----------------------------------------------------------------------------------------------------------


def _list_graph_page_choices(workspace: Workspace, request: GraphViewRequest) -> dict[str, Any]:
    if request.view == "difference":
        return {"sessions": [], "total": 0, "executions": [], "periods": _list_period_choices(workspace.now_ns())}
    log = list_session_log(workspace, limit=SESSIONS_MAX, agent=request.agent)
    return {
        "sessions": log.sessions,
        "total": log.total,
        "executions": list_traced_executions(workspace) if request.agent is None else [],
        "periods": [],
    }


def _list_period_choices(now_ns: int) -> list[tuple[str, str, str]]:
    """Return pairs of periods to compare: a label, and both as parameters."""
    choices = []
    for days, label in ((1, "the last day"), (7, "the last week"), (30, "the last 30 days")):
        turn, first = (_format_period_param(now_ns - days * times * DAY_NS) for times in (1, 2))
        choices.append(
            (
                f"{label} and the one before" if days < 30 else f"{label} and the 30 days before",
                f"{first}..{turn}",
                f"{turn}..",
            )
        )
    return choices


def _format_period_param(at_ns: int) -> str:
    return f"{format_timestamp(at_ns)[:19]}Z"


PAGES = (
    Page(name="graph", label="Graph", view=view_graph, takes=TAKES, long=True),
    Page(name="graph-runs", view=view_edge_runs, takes={"edge": "The edge to list the runs of."}, part=True, long=True),
)
