"""Sent events are stored once: new 201, repeated 200, the same key with other content 409."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.intake.import_traces import import_traces
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.service import AT, Asked, a_keeper, a_prompt, a_span, a_trace, asked, bearer

SHA = "b" * 40


def test_new_then_known_then_conflict(either: Asked) -> None:
    first, again, other = (either.send("traces", a_trace(metadata={"n": n})) for n in (1, 1, 2))

    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    assert first.json()["receipts"] == again.json()["receipts"]
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["remedy"]
    assert either.kept() == ["import:trace:t1"]


def test_a_receipt_names_the_record_that_is_there(either: Asked) -> None:
    (receipt,) = either.send("evidence", a_prompt()).json()["receipts"]

    with either.workspace.reading() as store:
        (record,) = store.tables.records_named(receipt["key"])
        assert receipt == {
            "record": str(record.ref),
            "store": store.own(),
            "seq": int(record.seq),
            "event": record.entry.event,
            "key": str(record.entry.key),
        }


def test_a_batch_says_of_each_what_became_of_it(either: Asked) -> None:
    either.send("traces", a_trace("old"))

    answer = either.send(
        "traces", [a_trace("new"), a_trace("old"), a_trace("old", extra=1), {"no": "trace"}, a_trace("new"), 5]
    )

    said = answer.json()
    assert answer.status_code == 409
    assert [result["status"] for result in said["results"]] == [201, 200, 409, 422, 200, 422]
    assert (said["created"], said["known"], said["refused"]) == (1, 2, 3)
    assert either.kept() == ["import:trace:old", "import:trace:new"]


def test_the_status_of_a_batch_is_its_worst(service: Asked) -> None:
    def status(*traces: object) -> int:
        return int(service.send("traces", list(traces)).status_code)

    assert status(a_trace("1"), a_trace("2")) == 201
    assert status(a_trace("1"), a_trace("2")) == 200
    assert status(a_trace("1"), a_trace("3")) == 201
    assert status(a_trace("4"), {}) == 422
    assert status({}, a_trace("1", extra=1)) == 409
    assert status() == 200
    assert len(service.kept()) == 4


def test_a_link_without_a_time_is_known_again(service: Asked) -> None:
    link = {"commit_sha": SHA, "trace_ids": ["t1"]}

    assert [service.send("commit-links", link).status_code for _ in range(2)] == [201, 200]
    assert service.send("commit-links", {**link, "trace_ids": ["t1", "t2"]}).status_code == 201, "more became known"
    assert len(service.kept()) == 2


@pytest.mark.parametrize("name", ["committed_at", "created_at", "timestamp"])
@pytest.mark.parametrize("time", ["", "  ", "yesterday", None, 5, {}])
def test_a_link_with_a_time_that_is_none_is_refused(service: Asked, name: str, time: object) -> None:
    answer = service.send("commit-links", {"commit_sha": SHA, "trace_ids": ["t1"], name: time})

    assert answer.status_code == 422
    assert service.kept() == []


def test_a_trace_with_an_empty_time_is_refused_even_with_another_one(service: Asked) -> None:
    assert service.send("traces", {**a_trace("1"), "timestamp": "", "trace_timestamp": AT}).status_code == 422
    assert service.kept() == []


def test_a_link_is_not_a_trace_and_a_trace_is_not_a_link(service: Asked) -> None:
    link = {"commit_sha": SHA, "trace_ids": ["t1"]}

    assert service.send("traces", link).status_code == 422
    assert service.send("commit-links", a_trace()).status_code == 422
    for spoilt in (
        {"trace_ids": [True]},
        {"trace_ids": True},
        {"trace_ids": "t1"},
        {"trace_ids": '["t1"]'},
        {"committed_at": 5},
    ):
        assert service.send("commit-links", {**link, **spoilt}).status_code == 422, spoilt
    assert service.send("traces", a_trace(files=[1])).status_code == 422
    assert service.kept() == []


def test_more_of_a_conversation_can_be_sent_later(either: Asked) -> None:
    one, two = ({"id": name, "at": AT, "text": f"ask {name}"} for name in ("p1", "p2"))
    said = {"agent": "robot", "session": "s1", "at": AT, "prompts": [one]}

    assert either.send("conversations", said).status_code == 201
    assert either.send("conversations", said).status_code == 200
    assert either.send("conversations", {**said, "ended_at": AT, "prompts": [one, two]}).status_code == 201
    changed = either.send("conversations", {**said, "prompts": [{**one, "text": "something else"}]})
    assert changed.status_code == 409
    assert sum(key.startswith("event:robot:s1:prompt") for key in either.kept()) == 2


def test_only_generic_events_are_taken(service: Asked) -> None:
    hook = {"custody": 1, "kind": "hook", "agent": "robot", "event": "Stop", "id": "1", "at": AT}

    assert service.send("evidence", a_prompt()).status_code == 201
    assert service.send("evidence", hook).status_code == 422, "a caller cannot pass for our own hook"
    assert service.send("spans", a_prompt("p2")).status_code == 422
    assert service.send("spans", a_span()).status_code == 201
    assert len(service.kept()) == 2


def test_secrets_are_gone_before_anything_is_kept(either: Asked) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    answers = [either.send("evidence", a_prompt(text=f"use {secret} please")) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 200]
    with either.workspace.reading() as store:
        (record,) = store.tables.records_named(answers[0].json()["receipts"][0]["key"])
        assert secret not in json.dumps(store.tables.payload(record))


def test_a_secret_in_one_item_of_a_long_batch_is_gone(service: Asked) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    traces = [a_trace(f"t{n}", metadata={"note": secret if n == 70 else "plain"}) for n in range(120)]

    assert service.send("traces", traces).status_code == 201

    with service.workspace.reading() as store:
        stored = [store.tables.payload(record) for record in store.tables.newest(200, None)]
    assert len(stored) == 120
    assert secret not in json.dumps(stored)


def test_a_trace_that_was_imported_is_known(service: Asked, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(json.dumps(a_trace()))
    import_traces(service.workspace, file)

    assert service.send("traces", a_trace()).status_code == 200


def test_packed_bodies_are_taken(service: Asked) -> None:
    packed = gzip.compress(json.dumps(a_trace("1")).encode()[:40]) + gzip.compress(
        json.dumps(a_trace("1")).encode()[40:]
    )
    headers = {**bearer(), "content-type": "application/json; charset=utf-8", "content-encoding": "gzip"}

    assert service.client.post("/api/v1/traces", content=packed, headers=headers).status_code == 201


def test_long_bodies_are_read_beside_the_loop(service: Asked) -> None:
    assert service.send("evidence", [a_prompt(str(n), text="word " * 400) for n in range(50)]).status_code == 201
    assert len(service.kept()) == 50


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_whatever_is_sent_in_whatever_order_the_first_of_a_key_stays(
    tmp_path_factory: object, sent: list[tuple[int, int]]
) -> None:
    folder = a_git_folder(tmp_path_factory.mktemp("repo"))  # type: ignore[attr-defined]
    first: dict[int, int] = {}
    expected = []
    for key, content in sent:
        expected.append(201 if key not in first else 200 if first[key] == content else 409)
        first.setdefault(key, content)
    with asked(a_keeper(Workspace(folder))) as made:
        one_by_one = [made.send("evidence", a_prompt(str(key), text=str(text))).status_code for key, text in sent]
        assert one_by_one == expected
        batch = made.send("evidence", [a_prompt(f"b{key}", text=str(text)) for key, text in sent]).json()
        assert [result["status"] for result in batch["results"]] == expected
        assert len(made.kept()) == 2 * len(first)
