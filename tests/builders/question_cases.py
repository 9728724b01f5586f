"""HTTP queries, each with the use case that answers it without HTTP."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from custody.attribution.app.stats import compute_line_stats
from custody.cite.app.audit import cite_audit
from custody.cite.app.registry import cite_show
from custody.core.wire.report import Report
from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.gate.app.gate import GateRequest, gate
from custody.graph.app.questions import (
    ViewOptions,
    find_graph_path,
    find_related_graph_nodes,
    show_call_graph,
    suggest_next_tool_calls,
)
from custody.ledger.sessions import list_session_log, show_session_log
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.questions import LINE, MARK, REPORT
from tests.builders.service import ALL, Asked


@dataclass(frozen=True)
class Case:
    """An HTTP query, and the function that answers it without HTTP."""

    path: str
    use: Callable[[Workspace], Report]
    body: Any = None

    def asked(self, made: Asked, token: str = ALL) -> Any:
        if self.body is None:
            return made.get(f"/api/v1/{self.path}", token=token)
        return made.send(self.path, self.body, token=token)


SESSION = f"s1-{MARK}"
ANYWHERE = {
    "trust": Case("trust", trust_list),
    "trust-of-one": Case("trust/robot", lambda workspace: trust_show(workspace, "robot", limit=10)),
    "trust-limited": Case("trust/robot?limit=1", lambda workspace: trust_show(workspace, "robot", limit=1)),
    "trust-slash": Case(
        f"trust?agent={MARK}%2Frobot&limit=0", lambda workspace: trust_show(workspace, f"{MARK}/robot", limit=0)
    ),
    "trust-why": Case("trust/robot/why", lambda workspace: trust_why(workspace, "robot")),
    "trust-then": Case(
        "trust?agent=robot&why=true&at=2023-11-14T22:14:12Z",
        lambda workspace: trust_why(workspace, "robot", at="2023-11-14T22:14:12Z"),
    ),
    "source": Case("sources/S1", lambda workspace: cite_show(workspace, "S1")),
    "audit": Case("audits", lambda workspace: cite_audit(workspace, ["-"], REPORT.encode()), {"markdown": REPORT}),
    "audit-strict": Case(
        "audits",
        lambda workspace: cite_audit(workspace, ["-"], REPORT.encode(), coverage_min=0.9),
        {"markdown": REPORT, "coverage_min": 0.9},
    ),
    "graph": Case("graph", lambda workspace: show_call_graph(workspace, ViewOptions())),
    "graph-light": Case(
        "graph?palette=cvd&theme=light", lambda d: show_call_graph(d, ViewOptions(palette="cvd", theme="light"))
    ),
    "graph-session": Case(
        f"graph?session={SESSION}", lambda workspace: show_call_graph(workspace, ViewOptions(session=SESSION))
    ),
    "calls": Case(
        f"sessions/{SESSION}/calls", lambda workspace: show_call_graph(workspace, ViewOptions(session=SESSION))
    ),
    "lanes": Case(
        "sessions/s1/calls?lanes=true",
        lambda workspace: show_call_graph(workspace, ViewOptions(session="s1", lanes=True)),
    ),
    "execution": Case(
        f"sessions/run-{MARK}/calls", lambda workspace: show_call_graph(workspace, ViewOptions(session=f"run-{MARK}"))
    ),
    "path": Case(
        "graph/path?start=Read&end=Edit", lambda workspace: find_graph_path(workspace, "Read", "Edit", "document")
    ),
    "path-cost": Case(
        "graph/path?start=Read&end=Edit&cost=surprisal",
        lambda workspace: find_graph_path(workspace, "Read", "Edit", "surprisal"),
    ),
    "related": Case(
        "graph/related?node=Read&limit=2", lambda workspace: find_related_graph_nodes(workspace, "Read", "page", 2)
    ),
    "next-session": Case(
        f"graph/next?session={SESSION}", lambda workspace: suggest_next_tool_calls(workspace, SESSION, (), None)
    ),
    "next-after": Case(
        "graph/next?after=Read&after=Edit&limit=1",
        lambda workspace: suggest_next_tool_calls(workspace, None, ["Read", "Edit"], 1),
    ),
    "log": Case("log", lambda workspace: list_session_log(workspace, limit=20)),
    "log-agent": Case("log?agent=robot&limit=1", lambda workspace: list_session_log(workspace, limit=1, agent="robot")),
    "log-session": Case(f"log?session={SESSION}", lambda workspace: show_session_log(workspace, SESSION)),
}
IN_A_REPOSITORY = {
    "why": Case(f"why?file=src/app.py&line={LINE}", lambda workspace: why(workspace, "src/app.py", LINE)),
    "why-then": Case(
        "why?file=src/app.py&line=1&rev=HEAD~1", lambda workspace: why(workspace, "src/app.py", 1, revision="HEAD~1")
    ),
    "stats": Case("stats", compute_line_stats),
    "stats-folder": Case(
        "stats?path=src&rev=HEAD", lambda workspace: compute_line_stats(workspace, "src", revision="HEAD")
    ),
    "gate": Case(
        "gate",
        lambda workspace: gate(workspace, GateRequest(change="main~1..main")),
        {"base": "main~1", "head": "main"},
    ),
    "gate-described": Case(
        "gate",
        lambda workspace: gate(workspace, GateRequest(change="main~1..main", description=b"Adds `nothing()`.")),
        {"base": "main~1", "head": "main", "description": "Adds `nothing()`."},
    ),
    "duplicates": Case(
        "duplicates",
        lambda workspace: dupes_check(workspace, "main~1..refs/pull/2/head"),
        {"change": "main~1..refs/pull/2/head"},
    ),
    "duplicates-one": Case(
        "duplicates",
        lambda workspace: dupes_check(workspace, "refs/pull/1/head", limit=1),
        {"change": "refs/pull/1/head", "limit": 1},
    ),
    "clusters": Case("clusters?landed=true", lambda workspace: dupes_cluster(workspace, [], with_landed=True)),
    "clusters-of": Case(
        "clusters?change=1&change=2", lambda workspace: dupes_cluster(workspace, ["1", "2"], with_landed=False)
    ),
    "audit-session": Case(
        "audits",
        lambda workspace: cite_audit(workspace, ["-"], REPORT.encode(), session=SESSION),
        {"markdown": REPORT, "session": SESSION},
    ),
}
EVERYWHERE = ANYWHERE | IN_A_REPOSITORY
