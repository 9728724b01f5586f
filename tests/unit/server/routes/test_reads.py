"""Lists in pages, and who may read conversations."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.builders.service import AT, Asked, a_prompt, a_span, a_trace

LISTS = ("traces", "commit-links", "conversations", "spans", "evidence")


def filled(made: Asked, count: int = 7) -> None:
    made.send("traces", [a_trace(f"t{n}") for n in range(count)])
    made.send("commit-links", [{"commit_sha": f"{n:040x}", "trace_ids": ["t1"]} for n in range(count)])
    made.send("spans", [a_span(str(n)) for n in range(count)])
    made.send("evidence", [a_prompt(f"p{n}", session=f"s{n}") for n in range(count)])


@pytest.mark.parametrize("limit", [1, 3, 7, 1000])
def test_pages_give_everything_once(either: Asked, limit: int) -> None:
    filled(either)
    for what in LISTS:
        whole = either.get(f"/api/v1/{what}?limit=1000").json()
        assert whole["next"] is None
        assert len(whole["items"]) == {"evidence": 22, "conversations": 14}.get(what, 7), what

        paged, path = [], f"/api/v1/{what}?limit={limit}"
        while path:
            answer = either.get(path)
            paged += answer.json()["items"]
            assert len(answer.json()["items"]) <= limit
            link = answer.headers.get("link", "")
            path = link.partition(">")[0].removeprefix("<")
            asked_for = parse_qs(urlsplit(path).query)
            assert answer.json()["next"] == (asked_for["after"][0] if path else None)
            assert not link or link.endswith('>; rel="next"')
        assert paged == whole["items"], what


def test_what_arrives_while_somebody_turns_pages_comes_at_the_end(service: Asked) -> None:
    filled(service, 3)
    first = service.get("/api/v1/traces?limit=2").json()
    service.send("traces", a_trace("late"))

    rest = service.get(f"/api/v1/traces?limit=10&after={first['next']}").json()

    assert [item["id"] for item in first["items"] + rest["items"]] == ["t0", "t1", "t2", "late"]


@pytest.mark.parametrize(
    "question",
    [
        "after=zz",
        "after=",
        "after=%00",
        "after=WzEsMl0",
        "after=e30",
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=%C2%B2",
        "limit=1&limit=2",
        "limit=-1",
        "limit=99999999999999999999",
    ],
)
def test_a_page_that_makes_no_sense_is_refused(service: Asked, question: str) -> None:
    for what in LISTS:
        assert service.get(f"/api/v1/{what}?{question}").status_code == 422, what


def test_a_parameter_that_is_none_is_named(service: Asked) -> None:
    for question in ("limmit=5", "=5", "x", "project=default&y=1"):
        assert service.get(f"/api/v1/traces?{question}").status_code == 422, question
    assert "limit" in service.get("/api/v1/traces?limmit=5").json()["remedy"]
    assert service.get("/api/v1/traces?project=default").status_code == 200


def test_a_trace_comes_back_as_it_was_sent(service: Asked) -> None:
    service.send("traces", a_trace())

    assert service.get("/api/v1/traces").json()["items"][0]["trace"] == a_trace()


def test_the_words_of_a_conversation_need_their_scope_and_are_noted(either: Asked) -> None:
    either.send("evidence", a_prompt(text="the secret plan"))
    path = "/api/v1/conversation?agent=robot&session=s1"

    without = either.get(path, token="read").json()
    assert without["with_text"] is False
    assert [prompt["text"] for prompt in without["prompts"]] == [None]
    assert either.get(f"{path}&text=false").json()["prompts"][0]["text"] is None
    assert either.keeper.reads == []

    assert either.get(path).json()["prompts"][0]["text"] == "the secret plan"
    assert either.keeper.reads == [("t-all", "conversation robot s1")]


def test_a_read_that_cannot_be_logged_is_not_answered(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    from custody.core.errors import StoreError

    def fails(*_: object) -> None:
        raise StoreError("the list of reads is full")

    service.send("evidence", a_prompt(text="the secret plan"))
    monkeypatch.setattr(service.keeper, "record_text_read", fails)
    answer = service.get("/api/v1/conversation?agent=robot&session=s1")

    assert answer.status_code == 503
    assert "secret plan" not in answer.text


def test_records_that_hold_texts_are_withheld(service: Asked) -> None:
    (prompt,) = service.send("evidence", a_prompt(text="the secret plan")).json()["receipts"]
    (trace,) = service.send("traces", a_trace()).json()["receipts"]

    withheld = service.get(f"/api/v1/evidence/{prompt['record']}", token="read")
    assert withheld.json()["withheld"] is True and withheld.json()["payload"] is None
    assert service.get(f"/api/v1/evidence/{trace['record']}", token="read").json()["payload"]["payload"] == a_trace()
    assert service.keeper.reads == []

    assert service.get(f"/api/v1/evidence/{prompt['record']}").json()["payload"]["text"] == "the secret plan"
    assert service.keeper.reads == [("t-all", f"record {prompt['record']}")]


@pytest.mark.parametrize("name", ["nothing", "a:1", "a:0", "a:99999999999999999999", "%00:1", "é:1", "a:²"])
def test_a_record_that_is_not_there_is_not_found(either: Asked, name: str) -> None:
    assert either.get(f"/api/v1/evidence/{name}").status_code == 404


@pytest.mark.parametrize("question", ["agent=a&session=b", "agent=%00&session=b", "agent=a&session=%ED%A0%80"])
def test_a_conversation_that_is_not_there_is_not_found(either: Asked, question: str) -> None:
    assert either.get(f"/api/v1/conversation?{question}").status_code == 404


def test_a_conversation_needs_both_its_names(service: Asked) -> None:
    assert service.get("/api/v1/conversation?agent=a").status_code == 422
    assert service.get("/api/v1/conversation?agent=a&session=b&text=perhaps").status_code == 422


def test_what_hooks_left_in_the_spool_is_shown(service: Asked) -> None:
    from tests.builders.cli import recorded

    recorded(service.workspace.folder, 2)

    assert len(service.get("/api/v1/evidence").json()["items"]) == 2


def test_moments_are_as_they_were_claimed(service: Asked) -> None:
    service.send("evidence", a_prompt())

    assert service.get("/api/v1/evidence").json()["items"][0]["at"] == AT
