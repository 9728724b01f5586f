"""Queries over HTTP return the bytes of the verb's use case, on an embedded store and on a team's database."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from custody.cite.app.registry import cite_list
from custody.core.wire.report import encode_report
from custody.dupes.app.check import dupes_check
from custody.dupes.app.show import dupes_show
from tests.builders.question_cases import ANYWHERE, EVERYWHERE, IN_A_REPOSITORY, SESSION, Case
from tests.builders.service import Asked


def same(case: Case, made: Asked) -> None:
    answer = case.asked(made)

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == encode_report(case.use(made.workspace))


@pytest.mark.parametrize("case", EVERYWHERE.values(), ids=EVERYWHERE.keys())
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
    assert str(team.workspace.folder) not in answer.text


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
    printed = subprocess.run(words, cwd=embedded.workspace.folder, capture_output=True, check=True).stdout

    assert embedded.get(f"/api/v1/{path}").content + b"\n" == printed


def test_many_questions_at_once_get_their_own_answers(embedded: Asked) -> None:
    cases = [case for name, case in EVERYWHERE.items() if name in ("why", "stats", "gate", "graph")]
    alone = [case.asked(embedded).content for case in cases]

    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda case: case.asked(embedded).content, cases * 3))

    assert together == alone * 3


def test_an_indexed_change_is_checked_by_any_of_its_names(embedded: Asked) -> None:
    change = embedded.get("/api/v1/changes?limit=1000").json()["items"][-1]
    answers = [
        embedded.get(f"/api/v1/changes/{name}/duplicates") for name in ("2", change["head"], change["head"][:12])
    ]

    tip = embedded.workspace.repository.head().commit  # not the line number of the change: later commits moved it
    used = dupes_check(embedded.workspace, f"{tip}..{change['head']}")
    assert {answer.content for answer in answers} == {encode_report(used)}
    assert used.outcome == "found" and used.suggestions
    evidence = used.suggestions[0].id
    shown = embedded.get(f"/api/v1/duplicates/{evidence}")
    assert shown.content == encode_report(dupes_show(embedded.workspace, evidence))
    assert shown.json()["replayed"] == "same"


@pytest.mark.parametrize(
    "path",
    [
        "trust/unknown",
        "trust/unknown/why",
        "trust?agent=unknown",
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
    listed = msgspec.to_builtins(cite_list(embedded.workspace))["sources"]
    assert embedded.get("/api/v1/sources").json()["items"] == listed
