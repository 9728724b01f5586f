"""Questions over HTTP: the bytes that the verb's use case gives, on an embedded store and on a team's database."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from custody.app.cite_audit import cite_audit
from custody.app.cite_registry import cite_list, cite_show
from custody.app.desk import Desk
from custody.app.dupes_check import dupes_check
from custody.app.dupes_cluster import dupes_cluster
from custody.app.dupes_show import dupes_show
from custody.app.gate import Request, gate
from custody.app.graph import Look, graph_next, graph_path, graph_related, graph_show
from custody.app.log import log, log_session
from custody.app.source_keepers import InStore
from custody.app.source_registry import SourceRegistry
from custody.app.stats import stats
from custody.app.trust_show import trust_list, trust_show, trust_why
from custody.app.why import why
from custody.wire.reports import Report, encode_report
from tests.builders.questions import LINE, MARK, REPORT, SECRET, a_project, a_still, told, what_happened
from tests.builders.service import OTHER, Asked, a_keeper, asked
from tests.builders.teams import a_team
from tests.house.postgres import a_database


@dataclass(frozen=True)
class Case:
    """A question over HTTP, and what answers it without."""

    path: str
    use: Callable[[Desk], Report]
    body: Any = None

    def asked(self, made: Asked, token: str = "all-scopes") -> Any:
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
    "graph": Case("graph", lambda desk: graph_show(desk, Look())),
    "graph-light": Case("graph?palette=cvd&theme=light", lambda d: graph_show(d, Look(palette="cvd", theme="light"))),
    "graph-session": Case(f"graph?session={SESSION}", lambda desk: graph_show(desk, Look(session=SESSION))),
    "calls": Case(f"sessions/{SESSION}/calls", lambda desk: graph_show(desk, Look(session=SESSION))),
    "lanes": Case("sessions/s1/calls?lanes=true", lambda desk: graph_show(desk, Look(session="s1", lanes=True))),
    "execution": Case(f"sessions/run-{MARK}/calls", lambda desk: graph_show(desk, Look(session=f"run-{MARK}"))),
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
    "gate": Case("gate", lambda desk: gate(desk, Request(change="main~1..main")), {"base": "main~1", "head": "main"}),
    "gate-described": Case(
        "gate",
        lambda desk: gate(desk, Request(change="main~1..main", description=b"Adds `nothing()`.")),
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


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A service in a repository about which much is known; another project has an empty repository of its own."""
    folder = tmp_path_factory.mktemp("embedded")
    desk, _ = a_project(folder / "own")
    subprocess.run(["git", "init", "-q", str(folder / "other")], check=True)
    with asked(a_keeper(desk, a_still(Desk(folder / "other")))) as made:
        yield made


@pytest.fixture(scope="module")
def team(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A service on a team's database, outside any repository, as a role that is bound to one project."""
    with a_database(postgres_url) as url, a_team(url, tmp_path_factory.mktemp("team"), "other") as made:
        own, other = a_still(made.desk()), a_still(made.desk("other"))
        told(own, what_happened())
        with asked(a_keeper(own, other)) as service:
            yield service


def same(case: Case, made: Asked) -> None:
    answer = case.asked(made)

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == encode_report(case.use(made.desk))


@pytest.mark.parametrize("case", (ANYWHERE | IN_A_REPOSITORY).values(), ids=(ANYWHERE | IN_A_REPOSITORY).keys())
def test_the_same_bytes_as_the_verb_in_a_repository(embedded: Asked, case: Case) -> None:
    same(case, embedded)


@pytest.mark.parametrize("case", ANYWHERE.values(), ids=ANYWHERE.keys())
def test_the_same_bytes_as_the_verb_on_a_teams_database(team: Asked, case: Case) -> None:
    same(case, team)


@pytest.mark.parametrize("case", IN_A_REPOSITORY.values(), ids=IN_A_REPOSITORY.keys())
def test_what_needs_a_repository_says_so_where_there_is_none(team: Asked, case: Case) -> None:
    answer = case.asked(team)

    assert answer.status_code == 422
    assert "repository" in answer.json()["detail"]
    assert str(team.desk.folder) not in answer.text


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        (("dupes", "cluster", "--all"), "clusters?landed=true"),
        (("log", SESSION), f"log?session={SESSION}"),
        (("cite", "show", "S2"), "sources/S2"),
        (("stats", "src"), "stats?path=src"),
        (("graph", "next", "--after", "Read"), "graph/next?after=Read"),
    ],
)
def test_the_same_bytes_as_the_program_prints(embedded: Asked, verb: tuple[str, ...], path: str) -> None:
    words = [sys.executable, "-m", "custody", *verb, "--json"]
    printed = subprocess.run(words, cwd=embedded.desk.folder, capture_output=True, check=True).stdout

    assert embedded.get(f"/api/v1/{path}").content + b"\n" == printed


def test_many_questions_at_once_get_their_own_answers(embedded: Asked) -> None:
    cases = [case for name, case in (ANYWHERE | IN_A_REPOSITORY).items() if name in ("why", "stats", "gate", "graph")]
    alone = [case.asked(embedded).content for case in cases]

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda case: case.asked(embedded).content, cases * 3))

    assert together == alone * 3


def test_an_indexed_change_is_checked_by_any_of_its_names(embedded: Asked) -> None:
    change = embedded.get("/api/v1/changes?limit=1000").json()["items"][-1]
    answers = [
        embedded.get(f"/api/v1/changes/{name}/duplicates") for name in ("2", change["head"], change["head"][:12])
    ]

    used = dupes_check(embedded.desk, f"{change['base']}..{change['head']}")
    assert {answer.content for answer in answers} == {encode_report(used)}
    assert used.outcome == "found" and used.suggestions
    evidence = used.suggestions[0].id
    shown = embedded.get(f"/api/v1/duplicates/{evidence}")
    assert shown.content == encode_report(dupes_show(embedded.desk, evidence))
    assert shown.json()["replayed"] == "same"


@pytest.mark.parametrize(
    "path",
    [
        "trust/nobody",
        "trust/nobody/why",
        "trust?agent=nobody",
        "trust/robot/why?at=1999-01-01T00:00:00Z",
        "sources/S99",
        "sources/nothing",
        "sessions/nothing/calls",
        "changes/nothing/duplicates",
        "duplicates/nothing",
        "duplicates/0123456789",
    ],
)
def test_what_is_not_there_is_not_found(embedded: Asked, path: str) -> None:
    answer = embedded.get(f"/api/v1/{path}")

    assert answer.status_code == 404
    assert answer.json()["remedy"]


@pytest.mark.parametrize(
    "path",
    [
        "trust?limit=-1",
        "trust/robot?limit=x",
        "trust/robot?limit=%C2%B2",
        "trust/robot?limit=99999999999999999999",
        "trust/robot/why?at=yesterday",
        "trust/%00",
        "trust?agent=",
        "trust?agent=%00",
        "trust?agent=a&agent=b",
        "trust?why=perhaps",
        "graph?lanes=true",
        "graph?lanes=yes",
        "graph?palette=red",
        "graph?theme=",
        "graph?session=%00",
        "graph?session=nothing",
        "graph/path?start=Read",
        "graph/path?start=Read&end=nothing",
        "graph/path?start=Read&end=Edit&cost=gold",
        "graph/related?node=Read&formula=x",
        "graph/related?node=Read&limit=0",
        "graph/next",
        "graph/next?session=a&after=b",
        "graph/next?after=%0A",
        "graph/next?" + "after=x&" * 101,
        "sessions/%00/calls",
        "log?limit=0",
        "log?limit=10001",
        "log?session=nothing",
        "log?session=" + "a" * 1001,
        "sources/%0a",
        "why?file=src/app.py",
        "why?line=1",
        "why?file=src/app.py&line=0",
        "why?file=src/app.py&line=99999",
        "why?file=src/app.py&line=1&rev=nothing",
        "why?file=src/app.py&line=1&rev=--help",
        "why?file=../own/src/app.py&line=1",
        "why?file=/etc/passwd&line=1",
        "why?file=src/app.py%00&line=1",
        "why?file=src//app.py&line=1",
        "why?file=.git/config&line=1",
        "why?file=nothing.py&line=1",
        "stats?path=..",
        "stats?path=/etc",
        "stats?path=",
        "stats?rev=%20",
        "clusters?change=nothing",
        "clusters?landed=1",
        "changes?after=zz",
        "changes?after=WyJzb3VyY2UiLDFd",
        "changes?after=WyJjaGFuZ2UiLC0xXQ",
        "changes?after=WyJjaGFuZ2UiLHRydWVd",
        "sources?after=WzEsMl0",
        "sources?limit=0",
        "decisions?after=WyIiLDFd",
        "decisions?after=WyJhIiwwXQ",
        "decisions?limit=1001",
    ],
)
def test_questions_that_make_no_sense_are_refused(embedded: Asked, team: Asked, path: str) -> None:
    for made in (embedded, team):
        answer = made.get(f"/api/v1/{path}")
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


BODIES: list[tuple[str, Any]] = [
    ("gate", {"base": "main"}),
    ("gate", {"base": "main..x", "head": "main"}),
    ("gate", {"base": "", "head": "main"}),
    ("gate", {"base": "nothing", "head": "main"}),
    ("gate", {"base": "--help", "head": "main"}),
    ("gate", {"base": "main", "head": "ma\0in"}),
    ("gate", {"base": "main", "head": "main", "more": 1}),
    ("duplicates", {"change": "..main"}),
    ("duplicates", {"change": "nothing"}),
    ("duplicates", {"change": "main", "limit": 0}),
    ("duplicates", {"change": "--all"}),
    ("audits", {}),
    ("audits", {"markdown": 3}),
    ("audits", {"markdown": "a", "coverage_min": 2}),
    ("audits", {"markdown": "a", "session": "nothing"}),
    ("sources", {}),
    ("sources", {"url": "not an address"}),
    ("sources", {"title": "a", "year": -1}),
    ("sources", {"title": "a\0b"}),
    ("sources", {"title": "a", "date": "yesterday"}),
    ("decisions", {"agent": "robot"}),
    ("decisions", {"agent": "robot", "decision": "accepted"}),
    ("decisions", {"agent": "robot", "decision": "perhaps", "id": "1"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "commit": "main"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "commit:1"}),
    ("decisions", {"agent": "ro\0bot", "decision": "accepted", "id": "1"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "lines": -1}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "opened": "soon"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "actor": "robot"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "commit": "nothing"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "reverts": "d1", "actor": "ana", "reason": "bad"}),
    ("decisions", {"agent": "robot", "decision": "rejected", "reverts": "d1"}),
    ("decisions", {"agent": "robot", "decision": "rejected", "overrides": "none", "actor": "ana", "reason": "bad"}),
    ("decisions", {"agent": "nobody", "decision": "rejected", "overrides": "d1", "actor": "ana", "reason": "bad"}),
    ("erasures", {"record": "1"}),
    ("erasures", {"record": "nothing", "why": "a name"}),
    ("erasures", {"record": "1", "why": " "}),
    ("erasures", {"record": "\0", "why": "a name"}),
]


@pytest.mark.parametrize(("what", "body"), BODIES)
def test_bodies_that_make_no_sense_are_refused_and_do_nothing(
    embedded: Asked, team: Asked, what: str, body: Any
) -> None:
    for made in (embedded, team):
        before = made.kept()
        for sent in (body, [], "x", 1, [body]):
            answer = made.send(what, sent)
            assert answer.status_code == 422, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
        assert made.kept() == before


def test_half_a_pair_of_signs_is_refused(embedded: Asked) -> None:
    typed = {"content-type": "application/json", "Authorization": "Bearer all-scopes"}
    for what, body in (("audits", b'{"markdown": "\\ud800"}'), ("sources", b'{"title": "\\ud800"}')):
        assert embedded.client.post(f"/api/v1/{what}", content=body, headers=typed).status_code == 422
    deep = b'{"markdown": ' + b"[" * 100_000
    assert embedded.client.post("/api/v1/audits", content=deep, headers=typed).status_code == 422


READS = {
    "log-session": f"log?session={SESSION}",
    "why": f"why?file=src/app.py&line={LINE}",
}


@pytest.mark.parametrize("path", READS.values(), ids=READS.keys())
def test_what_was_asked_needs_its_scope_and_is_noted(embedded: Asked, path: str) -> None:
    embedded.keeper.reads.clear()
    without = embedded.get(f"/api/v1/{path}", token="read")
    assert without.status_code == 200
    assert "zebra" not in without.text and embedded.keeper.reads == []

    assert SECRET in embedded.get(f"/api/v1/{path}").text
    assert embedded.keeper.reads and all(token == "t-all" for token, _ in embedded.keeper.reads)
    assert any(SESSION in what or "p1" in what for _, what in embedded.keeper.reads)


def test_no_question_shows_what_was_asked_to_one_who_may_not_read_it(embedded: Asked) -> None:
    for case in (ANYWHERE | IN_A_REPOSITORY).values():
        assert "zebra" not in case.asked(embedded, "read").text


def test_a_passage_of_a_source_needs_its_scope_and_is_noted(embedded: Asked) -> None:
    SourceRegistry(InStore(embedded.desk)).excerpt("S1", "a passage about zebras")
    embedded.keeper.reads.clear()

    assert "zebras" not in embedded.get("/api/v1/sources/S1", token="read").text
    assert embedded.keeper.reads == []
    assert embedded.get("/api/v1/sources/S1").json()["excerpts"][0]["text"] == "a passage about zebras"
    assert embedded.keeper.reads == [("t-all", "excerpts of source S1")]


@pytest.mark.parametrize("name", ["embedded", "team"])
def test_nothing_is_told_to_another_project(request: pytest.FixtureRequest, name: str) -> None:
    made: Asked = request.getfixturevalue(name)
    before = made.kept()
    for case in (ANYWHERE | IN_A_REPOSITORY).values():
        answer = case.asked(made, OTHER)
        assert answer.status_code in (200, 404, 422), answer.text
        # What was asked for is named in a refusal; nothing else is.
        said = answer.text if answer.status_code == 200 else answer.json()["remedy"] or ""
        assert case.body is not None or MARK not in said
        assert "zebra" not in answer.text and "Retry" not in answer.text
    for what in ("decisions", "changes", "sources"):
        assert made.get(f"/api/v1/{what}", token=OTHER).json()["items"] == []

    record = made.get("/api/v1/evidence").json()["items"][0]["record"]
    assert made.send("erasures", {"record": record, "why": "a name"}, token=OTHER).status_code == 422
    assert made.kept() == before


def test_a_repository_answers_for_its_own_project_alone(embedded: Asked) -> None:
    elsewhere = replace(embedded.desk, project="second", spooled=False)
    (embedded.desk.folder / ".git/custody/projects/second").mkdir(parents=True, exist_ok=True)
    with asked(a_keeper(embedded.desk, elsewhere)) as made:
        for case in IN_A_REPOSITORY.values():
            answer = case.asked(made, OTHER)
            assert answer.status_code == 422 and "project" in answer.json()["detail"], answer.text
        assert made.send("audits", {"markdown": REPORT}, token=OTHER).status_code == 200
        assert made.get("/api/v1/changes/2/duplicates", token=OTHER).status_code == 422


@pytest.mark.parametrize("name", ["embedded", "team"])
@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_pages_give_everything_once(request: pytest.FixtureRequest, name: str, limit: int) -> None:
    made: Asked = request.getfixturevalue(name)
    for what in ("decisions", "changes", "sources"):
        whole = made.get(f"/api/v1/{what}?limit=1000").json()
        assert whole["next"] is None
        assert whole["items"] or (what == "changes" and name == "team")
        paged: list[Any] = []
        path = f"/api/v1/{what}?limit={limit}"
        while path:
            answer = made.get(path)
            paged += answer.json()["items"]
            assert len(answer.json()["items"]) <= limit
            path = answer.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert paged == whole["items"], what


def test_sources_are_listed_as_the_verb_lists_them(embedded: Asked) -> None:
    listed = msgspec.to_builtins(cite_list(embedded.desk))["sources"]
    assert embedded.get("/api/v1/sources").json()["items"] == listed
