"""Questions over HTTP, each beside the use case that answers it without."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from custody.attribution.app.stats import stats
from custody.cite.app.audit import cite_audit
from custody.cite.app.registry import cite_show
from custody.core.wire.report import Report
from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.gate.app.gate import GateRequest, gate
from custody.graph.app.questions import ViewOptions, graph_next, graph_path, graph_related, graph_show
from custody.ledger.sessions import log, log_session
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.questions import LINE, MARK, REPORT
from tests.builders.service import ALL, Asked


@dataclass(frozen=True)
class Case:
    """A question over HTTP, and what answers it without."""

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
    "trust-of-one": Case("trust/robot", lambda desk: trust_show(desk, "robot", limit=10)),
    "trust-limited": Case("trust/robot?limit=1", lambda desk: trust_show(desk, "robot", limit=1)),
    "trust-slash": Case(f"trust?agent={MARK}%2Frobot&limit=0", lambda desk: trust_show(desk, f"{MARK}/robot", limit=0)),
    "trust-why": Case("trust/robot/why", lambda desk: trust_why(desk, "robot")),
    "trust-then": Case(
        "trust?agent=robot&why=true&at=2023-11-14T22:14:12Z",
        lambda desk: trust_why(desk, "robot", at="2023-11-14T22:14:12Z"),
    ),
    "source": Case("sources/S1", lambda desk: cite_show(desk, "S1")),
    "audit": Case("audits", lambda desk: cite_audit(desk, ["-"], REPORT.encode()), {"markdown": REPORT}),
    "audit-strict": Case(
        "audits",
        lambda desk: cite_audit(desk, ["-"], REPORT.encode(), coverage_min=0.9),
        {"markdown": REPORT, "coverage_min": 0.9},
    ),
    "graph": Case("graph", lambda desk: graph_show(desk, ViewOptions())),
    "graph-light": Case(
        "graph?palette=cvd&theme=light", lambda d: graph_show(d, ViewOptions(palette="cvd", theme="light"))
    ),
    "graph-session": Case(f"graph?session={SESSION}", lambda desk: graph_show(desk, ViewOptions(session=SESSION))),
    "calls": Case(f"sessions/{SESSION}/calls", lambda desk: graph_show(desk, ViewOptions(session=SESSION))),
    "lanes": Case("sessions/s1/calls?lanes=true", lambda desk: graph_show(desk, ViewOptions(session="s1", lanes=True))),
    "execution": Case(f"sessions/run-{MARK}/calls", lambda desk: graph_show(desk, ViewOptions(session=f"run-{MARK}"))),
    "path": Case("graph/path?start=Read&end=Edit", lambda desk: graph_path(desk, "Read", "Edit", "document")),
    "path-cost": Case(
        "graph/path?start=Read&end=Edit&cost=surprisal", lambda desk: graph_path(desk, "Read", "Edit", "surprisal")
    ),
    "related": Case("graph/related?node=Read&limit=2", lambda desk: graph_related(desk, "Read", "page", 2)),
    "next-session": Case(f"graph/next?session={SESSION}", lambda desk: graph_next(desk, SESSION, (), None)),
    "next-after": Case(
        "graph/next?after=Read&after=Edit&limit=1", lambda desk: graph_next(desk, None, ["Read", "Edit"], 1)
    ),
    "log": Case("log", lambda desk: log(desk, limit=20)),
    "log-agent": Case("log?agent=robot&limit=1", lambda desk: log(desk, limit=1, agent="robot")),
    "log-session": Case(f"log?session={SESSION}", lambda desk: log_session(desk, SESSION)),
}
IN_A_REPOSITORY = {
    "why": Case(f"why?file=src/app.py&line={LINE}", lambda desk: why(desk, "src/app.py", LINE)),
    "why-then": Case(
        "why?file=src/app.py&line=1&rev=HEAD~1", lambda desk: why(desk, "src/app.py", 1, revision="HEAD~1")
    ),
    "stats": Case("stats", stats),
    "stats-folder": Case("stats?path=src&rev=HEAD", lambda desk: stats(desk, "src", revision="HEAD")),
    "gate": Case(
        "gate", lambda desk: gate(desk, GateRequest(change="main~1..main")), {"base": "main~1", "head": "main"}
    ),
    "gate-described": Case(
        "gate",
        lambda desk: gate(desk, GateRequest(change="main~1..main", description=b"Adds `nothing()`.")),
        {"base": "main~1", "head": "main", "description": "Adds `nothing()`."},
    ),
    "duplicates": Case(
        "duplicates",
        lambda desk: dupes_check(desk, "main~1..refs/pull/2/head"),
        {"change": "main~1..refs/pull/2/head"},
    ),
    "duplicates-one": Case(
        "duplicates",
        lambda desk: dupes_check(desk, "refs/pull/1/head", limit=1),
        {"change": "refs/pull/1/head", "limit": 1},
    ),
    "clusters": Case("clusters?landed=true", lambda desk: dupes_cluster(desk, [], with_landed=True)),
    "clusters-of": Case("clusters?change=1&change=2", lambda desk: dupes_cluster(desk, ["1", "2"], with_landed=False)),
    "audit-session": Case(
        "audits",
        lambda desk: cite_audit(desk, ["-"], REPORT.encode(), session=SESSION),
        {"markdown": REPORT, "session": SESSION},
    ),
}
EVERYWHERE = ANYWHERE | IN_A_REPOSITORY
