"""Access: conversations need their scope, and no project sees another's data."""

import pytest
from msgspec.structs import replace

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.source_registry import SourceRegistry
from tests.builders.question_cases import EVERYWHERE, IN_A_REPOSITORY, SESSION
from tests.builders.questions import LINE, MARK, REPORT, SECRET
from tests.builders.service import OTHER, Asked, a_keeper, asked

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
    for case in EVERYWHERE.values():
        assert "zebra" not in case.asked(embedded, "read").text


def test_a_passage_of_a_source_needs_its_scope_and_is_noted(embedded: Asked) -> None:
    SourceRegistry(RecordRegistryStore(embedded.workspace)).excerpt("S1", "a passage about zebras")
    embedded.keeper.reads.clear()

    assert "zebras" not in embedded.get("/api/v1/sources/S1", token="read").text
    assert embedded.keeper.reads == []
    assert embedded.get("/api/v1/sources/S1").json()["excerpts"][0]["text"] == "a passage about zebras"
    assert embedded.keeper.reads == [("t-all", "excerpts of source S1")]


@pytest.mark.parametrize("name", ["embedded", "team"])
def test_another_project_learns_nothing(request: pytest.FixtureRequest, name: str) -> None:
    made: Asked = request.getfixturevalue(name)
    before = made.kept()
    for case in EVERYWHERE.values():
        answer = case.asked(made, OTHER)
        assert answer.status_code in (200, 404, 422), answer.text
        # A rejection repeats the request's own name, and nothing else.
        said = answer.text if answer.status_code == 200 else answer.json()["remedy"] or ""
        assert case.body is not None or MARK not in said
        assert "zebra" not in answer.text and "Retry" not in answer.text
    for what in ("decisions", "changes", "sources"):
        assert made.get(f"/api/v1/{what}", token=OTHER).json()["items"] == []

    record = made.get("/api/v1/evidence").json()["items"][0]["record"]
    assert made.send("erasures", {"record": record, "why": "a name"}, token=OTHER).status_code == 422
    assert made.kept() == before


def test_a_repository_answers_for_its_own_project_alone(embedded: Asked) -> None:
    elsewhere = replace(embedded.workspace, project="second", spooled=False)
    (embedded.workspace.folder / ".git/custody/projects/second").mkdir(parents=True, exist_ok=True)
    with asked(a_keeper(embedded.workspace, elsewhere)) as made:
        for case in IN_A_REPOSITORY.values():
            answer = case.asked(made, OTHER)
            assert answer.status_code == 422 and "project" in answer.json()["detail"], answer.text
        assert made.send("audits", {"markdown": REPORT}, token=OTHER).status_code == 200
        assert made.get("/api/v1/changes/2/duplicates", token=OTHER).status_code == 422
