"""Decisions, sources and erasures sent to a service: each stored once, on an embedded store and a team's."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from custody.cite.app.registry import cite_show
from custody.core.wire.report import Report, encode_report
from custody.ledger.verify import verify_ledger
from custody.trust.wire import TrustRecordReport
from custody.workspace.workspace import Workspace
from tests.builders.questions import RETRY, a_project, a_still
from tests.builders.repo import a_repository
from tests.builders.service import Asked, a_keeper, a_prompt, asked
from tests.builders.teams import a_team

SHA = "c" * 40
SECRET = "AKIAQ7ZZEXAMPLE4XKJ2"


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asked]:
    """A service on an empty store: in a repository, or bound to a project of a team's database."""
    if request.param == "sqlite":
        a_repository(tmp_path / "own").commit({b"a.py": RETRY})
        with asked(a_keeper(a_still(Workspace(tmp_path / "own")))) as made:
            yield made
        return
    with (
        a_team(request.getfixturevalue("fresh_postgres"), tmp_path, "other") as team,
        asked(a_keeper(a_still(team.workspace()), a_still(team.workspace("other")))) as made,
    ):
        yield made


def a_decision(**fields: Any) -> dict[str, Any]:
    return {"agent": "robot", "decision": "accepted", "id": "d1", "actor": "ana", "lines": 30, **fields}


def same(answer: Any, kind: type[Report]) -> Any:
    """Return the answer, and check that its bytes are those of a report."""
    assert encode_report(msgspec.json.decode(answer.content, type=kind)) == answer.content
    return answer.json()


def test_a_decision_is_recorded_once(kept: Asked) -> None:
    first, again = (kept.send("decisions", a_decision(reason="it works")) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 200), again.text
    assert same(first, TrustRecordReport) == same(again, TrustRecordReport)
    assert first.json()["taken"]["id"] == "d1" and first.json()["standing"]["accepted"] == 1
    assert len(kept.kept()) == 1
    (item,) = kept.get("/api/v1/decisions").json()["items"]
    assert item["record"] == first.json()["taken"]["record"]
    assert item["decision"]["reason"] == "it works"
    assert kept.get("/api/v1/trust/robot").json()["standing"] == first.json()["standing"]


@pytest.mark.parametrize(
    "otherwise", [{"decision": "rejected"}, {"lines": 31}, {"actor": "eva"}, {"reason": "no"}, {"complexity": "major"}]
)
def test_another_decision_under_the_same_name_is_a_conflict(kept: Asked, otherwise: dict[str, Any]) -> None:
    kept.send("decisions", a_decision(reason="it works"))

    answer = kept.send("decisions", a_decision(**{"reason": "it works", **otherwise}))

    assert answer.status_code == 409
    assert "overrides" in answer.json()["remedy"]
    assert len(kept.kept()) == 1


def test_a_decision_that_leaves_fields_out_is_the_same_decision(kept: Asked) -> None:
    kept.send("decisions", a_decision(reason="it works", review_ms=5))

    assert kept.send("decisions", {"agent": "robot", "decision": "accepted", "id": "d1"}).status_code == 200
    assert kept.send("decisions", a_decision(agent="other")).status_code == 201, "every agent has its own"


def test_without_an_actor_it_is_the_token(kept: Asked) -> None:
    answer = kept.send("decisions", a_decision(actor=None), token="write")

    assert answer.status_code == 201
    assert answer.json()["taken"]["actor"] == "token t-write"


def test_a_secret_in_a_reason_is_not_kept_and_the_same_again_is_known(kept: Asked) -> None:
    answers = [kept.send("decisions", a_decision(reason=f"the key {SECRET} works")) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 200]
    assert SECRET not in answers[0].text + kept.get("/api/v1/decisions").text
    assert not (kept.workspace.folder / "None").exists()


def test_a_decision_told_by_many_at_once_is_recorded_once(kept: Asked) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: kept.send("decisions", a_decision()), range(8)))

    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 7}
    assert len({answer.content for answer in answers}) == 1
    assert len(kept.kept()) == 1


def test_corrections_are_recorded_once(kept: Asked) -> None:
    kept.send("decisions", a_decision())
    said = {"agent": "robot", "decision": "rejected", "actor": "ana", "reason": "it broke the build"}

    for correction in ({"overrides": "d1"}, {"overrides": "d1", "decision": "modified"}, {"reverts": "d1"}):
        first, again = (kept.send("decisions", {**said, **correction}) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 200), again.text
        assert same(first, TrustRecordReport) == same(again, TrustRecordReport)
    assert len(kept.kept()) == 4
    assert kept.send("decisions", {**said, "reverts": "d1", "actor": "eva"}).status_code == 409
    assert kept.send("decisions", {**said, "overrides": "d1", "lines": 3}).status_code == 422


def test_a_commit_has_its_full_name_outside_a_repository(fresh_postgres: str, tmp_path: Path) -> None:
    said = {"agent": "robot", "decision": "accepted", "actor": "ana"}
    with a_team(fresh_postgres, tmp_path) as team, asked(a_keeper(a_still(team.workspace()))) as made:
        assert made.send("decisions", {**said, "commit": "main"}).status_code == 422
        first, again = (made.send("decisions", {**said, "commit": SHA, "lines": 3}) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["taken"]["commit"] == SHA and first.json()["taken"]["id"] == f"commit:{SHA}"


def test_a_commits_size_is_read_from_the_repository(tmp_path: Path) -> None:
    workspace, built = a_project(tmp_path / "own")
    said = {"agent": "robot", "decision": "accepted", "actor": "ana"}
    with asked(a_keeper(workspace)) as made:
        lower = made.send("decisions", {**said, "commit": "main", "lines": 1})
        first, again = (made.send("decisions", {**said, "commit": name}) for name in ("main", built.head()))

    assert lower.status_code == 422 and "not lowered" in lower.json()["remedy"]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["taken"]["lines"] == again.json()["taken"]["lines"] == 4
    assert first.json()["taken"]["commit"] == built.head()


def test_a_source_is_registered_once(kept: Asked) -> None:
    said = {"url": "https://www.rfc-editor.org/rfc/rfc9110", "title": "HTTP Semantics", "year": 2022}
    first = kept.send("sources", said)
    again = kept.send("sources", {**said, "url": "https://www.rfc-editor.org/rfc/rfc9110#name-status"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["source"]["id"] == again.json()["source"]["id"] == "S1"
    assert again.json()["new"] is False
    shown = kept.get("/api/v1/sources/S1")
    assert shown.content == encode_report(cite_show(kept.workspace, "S1"))
    assert kept.get("/api/v1/sources").json()["items"] == [shown.json()["source"]]
    assert {one["who"] for one in shown.json()["merges"]} <= {"token t-all"}


def test_sources_with_secrets_in_their_addresses_are_kept_without(kept: Asked) -> None:
    answer = kept.send("sources", {"url": f"https://example.org/a?key={SECRET}", "title": "A"})

    assert answer.status_code == 201, answer.text
    assert SECRET not in answer.text + kept.get("/api/v1/sources/S1").text
    assert not (kept.workspace.folder / "None").exists()


def test_what_is_erased_is_gone_for_good_and_the_chain_still_checks(kept: Asked) -> None:
    (receipt,) = kept.send("evidence", a_prompt(text="the secret plan")).json()["receipts"]
    wanted = {"record": receipt["record"], "why": "a name in it"}

    for token in ("read", "write", "text"):
        assert kept.send("erasures", wanted, token=token).status_code == 403
    done = kept.send("erasures", wanted, token="admin")

    assert done.status_code == 200 and done.json()["report"] == "erase" and done.json()["erased"]
    assert "secret plan" not in kept.get(f"/api/v1/evidence/{receipt['record']}").text
    assert "secret plan" not in kept.get("/api/v1/log?session=s1").text
    (erasure,) = done.json()["records"]
    told = kept.get(f"/api/v1/evidence/{erasure}").json()["payload"]
    assert told["who"] == "token t-admin" and told["why"] == "a name in it"
    assert verify_ledger(kept.workspace).findings == []
    again = kept.send("erasures", wanted, token="admin")
    assert again.status_code == 422 and "is already erased" in again.json()["detail"]
