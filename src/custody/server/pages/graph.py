"""The graph: what was called inside what and in what order, learnt, of one session, or compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from custody.core.wire.time import text_from
from custody.graph.app.views import DRAWN_MAX, GraphViewRequest, Picture, agents_calling, executions_traced
from custody.ledger.sessions import log
from custody.server.page_data.graph import graph_picture, graph_runs
from custody.server.pages.graph_data import GraphTableRow, columns_of, data_of, opens_of, rows_of
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace

VIEWS = {
    "graph": ("Learnt", "what was learnt"),
    "tree": ("Call tree", "the calls of a session"),
    "lanes": ("Lanes", "what happened before what"),
    "difference": ("Difference", "what changed"),
}
PALETTES = ("document", "cvd")
CHANGES = {"new": "new", "gone": "gone", "more": "more common", "less": "less common", "same": "as common"}
SESSIONS_MAX = 50
ROWS_WITHOUT_SCRIPT = 60
"""Rows that are in the page itself; the island puts its list of all rows in their place."""
OPENS_MAX = 100
"""Closed boxes of a picture whose insides a report has, too."""
COUNT_MAX = 999_999_999
DAY_NS = 86_400 * 1_000_000_000
TAKES = {
    "view": "Which picture: graph, tree, lanes or difference.",
    "session": "The session of a tree or of lanes, by its id or the beginning of it.",
    "open": "A closed box of the tree that is opened.",
    "before": "One side of a difference: a period FROM..TO, or an agent.",
    "after": "The other side.",
    "agent": "Only what this agent called.",
    "text": "Only calls with this in their names.",
    "least": "Only edges that were seen so often.",
    "skip": "Pass over so many.",
    "hide": "What the legend has switched off, with commas between.",
    "palette": "The colours: document, or cvd for colour-blind readers.",
    "edge": "The edge whose runs are shown.",
}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A part of the legend: what it switches, how it looks, how often it is in the picture."""

    group: str
    word: str
    label: str
    look: str
    shown: bool
    count: int
    hide: str
    """What the address says when this is switched."""


def graph(workspace: Workspace, asked: PageParams) -> PageView:
    """The page: a picture, or what there is to choose from where nothing is chosen yet."""
    wanted = _read_view_request(asked)
    fields: dict[str, Any] = {
        "wanted": wanted,
        "views": VIEWS,
        "palettes": PALETTES,
        "agents": agents_calling(workspace),
        "hide": ",".join(_hidden(asked)),
    }
    if _chosen(wanted):
        picture = graph_picture(workspace, asked.memory.graph, wanted)
        fields |= _drawn(picture, asked) | {"runs": _runs(workspace, asked)}
    else:
        fields |= {"picture": None, **_choices(workspace, wanted)}
    return PageView(title=_title(wanted), template="graph.html", fields=fields, scripts=("graph.js",))


def runs(workspace: Workspace, asked: PageParams) -> PageView:
    """The runs behind an edge."""
    return PageView(
        title="Runs",
        template="graph_runs.html",
        fields={"runs": graph_runs(workspace, asked.memory.graph, asked.needed("edge"))},
    )


def _read_view_request(asked: PageParams) -> GraphViewRequest:
    return GraphViewRequest(
        view=cast(Any, asked.choice("view", tuple(VIEWS))),
        session=asked.text("session"),
        root=asked.text("open"),
        before=asked.text("before"),
        after=asked.text("after"),
        agent=asked.text("agent"),
        text=asked.text("text"),
        least=asked.number("least", 0, least=0, most=COUNT_MAX),
        skip=asked.number("skip", 0, least=0, most=COUNT_MAX),
        palette=cast(Any, asked.choice("palette", PALETTES)),
    )


def _hidden(asked: PageParams) -> list[str]:
    return sorted({word for word in (asked.text("hide") or "").split(",") if word.isalpha() and word.isascii()})


def _chosen(wanted: GraphViewRequest) -> bool:
    if wanted.view == "difference":
        return wanted.before is not None and wanted.after is not None
    return wanted.view == "graph" or wanted.session is not None


def _title(wanted: GraphViewRequest) -> str:
    if wanted.view in ("tree", "lanes") and wanted.session is not None:
        return f"{VIEWS[wanted.view][0]} of {wanted.session}"
    return f"Graph: {VIEWS[wanted.view][1]}"


def _drawn(picture: Picture, asked: PageParams) -> dict[str, Any]:
    hidden = _hidden(asked)
    rows = rows_of(picture)
    data = data_of(picture, rows)
    return {
        "picture": picture,
        "data": data,
        "columns": columns_of(picture),
        "rows": _first_rows(rows, hidden),
        "row_count": len(rows),
        "legend": _legend(picture, hidden),
        "drawn_max": DRAWN_MAX,
        "insides": opens_of(data)[:OPENS_MAX],
    }


def _first_rows(rows: Sequence[GraphTableRow], hidden: Sequence[str]) -> list[GraphTableRow]:
    return [row for row in rows if not set(row.words) & set(hidden)][:ROWS_WITHOUT_SCRIPT]


def _runs(workspace: Workspace, asked: PageParams) -> Any:
    return None if (edge := asked.text("edge")) is None else graph_runs(workspace, asked.memory.graph, edge)


# --- legend -----------------------------------------------------------------------------------------------------------


def _legend(picture: Picture, hidden: Sequence[str]) -> dict[str, list[LegendEntry]]:
    """Every type and every source, and of kinds of nodes and changes those that are in the picture."""
    counts = _counts(picture)
    groups: dict[str, list[LegendEntry]] = {"type": [], "source": [], "node": []}
    for entry in picture.legend:
        word = entry["label"]
        if entry["group"] != "node" or counts.get(word):
            look = entry.get("arrow") or entry.get("line") or entry["shape"]
            groups[entry["group"]].append(_entry(entry["group"], word, word, look, hidden, counts))
    if picture.view == "difference":
        groups["change"] = [
            _entry("change", word, label, "", hidden, counts) for word, label in CHANGES.items() if counts.get(word)
        ]
    return groups


def _entry(group: str, word: str, label: str, look: str, hidden: Sequence[str], counts: dict[str, int]) -> LegendEntry:
    switched = sorted({*hidden} ^ {word})
    return LegendEntry(group, word, label, look, word not in hidden, counts.get(word, 0), ",".join(switched))


def _counts(picture: Picture) -> dict[str, int]:
    counts: dict[str, int] = {}
    edges: list[Any] = [edge["data"] for edge in picture.edges]
    words = [word for data in edges for word in (data["edge_type"], data["edge_source"], data.get("change"))]
    nodes: list[Any] = [node["data"] for node in picture.nodes]
    for word in (*words, *(data["kind"] for data in nodes)):
        counts[word] = counts.get(word, 0) + 1
    return counts


# --- what there is to choose from -------------------------------------------------------------------------------------


def _choices(workspace: Workspace, wanted: GraphViewRequest) -> dict[str, Any]:
    if wanted.view == "difference":
        return {"sessions": [], "total": 0, "executions": [], "periods": _periods(workspace.now_ns())}
    found = log(workspace, limit=SESSIONS_MAX, agent=wanted.agent)
    return {
        "sessions": found.sessions,
        "total": found.total,
        "executions": executions_traced(workspace) if wanted.agent is None else [],
        "periods": [],
    }


def _periods(now_ns: int) -> list[tuple[str, str, str]]:
    """Pairs of periods that people ask for: what they are called, and both as a difference takes them."""
    found = []
    for days, words in ((1, "the last day"), (7, "the last week"), (30, "the last 30 days")):
        turn, first = (_day(now_ns - days * times * DAY_NS) for times in (1, 2))
        found.append((f"{words}, and before that", f"{first}..{turn}", f"{turn}.."))
    return found


def _day(at_ns: int) -> str:
    return f"{text_from(at_ns)[:19]}Z"


PAGES = (
    Page(name="graph", label="Graph", view=graph, takes=TAKES, long=True),
    Page(name="graph-runs", view=runs, takes={"edge": "The edge whose runs are shown."}, part=True, long=True),
)
