"""Pages that agents read get numbers from recorded calls: in the order of the records, each reading once."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import TRANSCRIPT_READERS
from custody.cite.app.registry import cite_list, cite_show
from custody.cite.app.registry_stores import RecordedSource, RecordRegistryStore, plan_recorded_source_registrations
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.catalog import MemoryCatalog, Stamp
from custody.cite.event_fold import apply_source_event
from custody.cite.model import ResearchSource
from custody.cite.queries.registry import RegistryTables
from custody.cite.wire import CiteShowReport
from custody.core.ids import AgentName, CallId, SessionId
from custody.core.views import Reading, SourceAccess
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.transcripts import START, Transcript, a_transcript

RFC = "https://www.rfc-editor.org/rfc/rfc9110"
HITS = {
    "query": "q",
    "results": [{"content": [{"title": "HTTP Semantics", "url": RFC}, {"title": "B", "url": "https://b.example/x"}]}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def a_session(folder: Path) -> Transcript:
    """Record a search, two fetches (one fails), files, and a page of this machine."""
    session = a_transcript("5d2f0c3e-1111", folder).prompt("find out")
    session.read("src/app.py", "one\n").call("WebSearch", {"query": "q"}, HITS).fetch(RFC, "about HTTP")
    session.call(
        "WebFetch", {"url": "https://c.example/gone"}, {"code": 404, "result": "", "url": "https://c.example/gone"}
    )
    session.fetch("http://localhost:8000/health", "fine").bash("curl -s https://d.example/api | jq .", "{}")
    return session


def imported(folder: Path, transcripts: Path) -> None:
    import_transcripts(Workspace(folder), TRANSCRIPT_READERS["claude-code"], transcripts)


def sources(folder: Path) -> list[tuple[str, str | None, str]]:
    return [(one.id, one.url, one.reading) for one in cite_list(Workspace(folder, talk=pytest.fail)).sources]


def shown(folder: Path, source_id: str) -> CiteShowReport:
    return cite_show(Workspace(folder, talk=pytest.fail), source_id)


# Conformance: 003-078
def test_pages_that_an_agent_read_are_registered_in_the_order_of_the_records(folder: Path, tmp_path: Path) -> None:
    a_session(folder).put(tmp_path / "t")
    imported(folder, tmp_path / "t")
    expected = [
        ("S1", RFC, "summarised"),
        ("S2", "https://b.example/x", "listed"),
        ("S3", "https://c.example/gone", "attempted"),
    ]
    assert sources(folder) == expected, "no files, no local pages, no uncertain attempts"
    assert shown(folder, "S1").source.title == "HTTP Semantics"


def test_every_reading_is_stored_and_the_best_counts(folder: Path, tmp_path: Path) -> None:
    session = a_session(folder)
    session.put(tmp_path / "t")
    imported(folder, tmp_path / "t")
    readings = shown(folder, "S1").readings
    assert [(one.reading, one.session, one.who) for one in readings] == [
        ("listed", "5d2f0c3e-1111", "claude-code"),
        ("summarised", "5d2f0c3e-1111", "claude-code"),
    ]
    assert len({one.call for one in readings}) == 2
    assert START < readings[0].at < readings[1].at
    words = custody(folder, "cite", "show", "S1").out
    assert "read       summarised by claude-code in session 5d2f0c3e-1111 (toolu_5d2f0c3e_main_" in words


def test_replaying_the_same_session_gives_the_same_ids(tmp_path: Path) -> None:
    told = []
    for name in ("one", "two"):
        folder = a_git_folder(tmp_path / name)
        a_session(folder).put(tmp_path / f"t{name}")
        imported(folder, tmp_path / f"t{name}")
        told.append(sources(folder))
    assert told[0] == told[1]


def test_a_call_reported_by_hook_and_transcript_counts_once(folder: Path, tmp_path: Path) -> None:
    session = a_transcript("5d2f0c3e-1111", folder).fetch(RFC, "about HTTP")
    payload: dict[str, Any] = {
        "session_id": session.session,
        "hook_event_name": "PostToolUse",
        "tool_name": "WebFetch",
        "tool_use_id": session.last_call,
        "tool_input": {"url": RFC},
        "tool_response": session.lines[-1]["toolUseResult"],
    }
    said = {
        "custody": 1,
        "kind": "hook",
        "agent": "claude-code",
        "event": "PostToolUse",
        "id": "e1",
        "call": session.last_call,
    }
    spool_of(folder).put(json.dumps({**said, "at": START, "session": session.session, "payload": payload}).encode())
    assert sources(folder) == [("S1", RFC, "summarised")]
    session.put(tmp_path / "t")
    for _ in range(2):
        imported(folder, tmp_path / "t")
        assert sources(folder) == [("S1", RFC, "summarised")]
        assert len(shown(folder, "S1").readings) == 1


def test_registered_records_are_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        spool_of(folder).put(an_event("source_read", id=str(n), locator=f"https://example.org/{n}", call=f"c{n}"))
    assert len(sources(folder)) == 5
    with Workspace(folder).reading() as store:
        own = store.own()
        assert own is not None
        done = RegistryTables(store).read_adopted_position(own)
        asked: list[Any] = []
        look_up = store.views.look_up

        def noted(kind: Any, where: str, values: Any) -> Any:
            asked.append(values)
            return look_up(kind, where, values)

        monkeypatch.setattr(store.views, "look_up", noted)
        RecordRegistryStore(Workspace(folder)).adopt(store)
    assert done == 5
    assert all(values[1] == done for values in asked), "only records after the watermark are read"


def test_readings_beyond_one_batch_are_all_registered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.cite.app.registry_stores.PAGE_ROWS", 4)
    for n in range(11):
        spool_of(folder).put(an_event("source_read", id=str(n), locator=f"https://example.org/{n}", call=f"c{n}"))
        spool_of(folder).put(an_event("source", id=f"s{n}", url=f"https://example.org/s{n}"))
    urls = [f"https://example.org/{part}{n}" for n in range(11) for part in ("", "s")]
    assert [url for _, url, _ in sources(folder)] == urls


def test_many_records_without_a_source_advance_the_position(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.cite.app.registry_stores.SKIPPED_MAX", 3)
    for n in range(4):
        spool_of(folder).put(an_event(id=str(n)))
    assert sources(folder) == []
    with Workspace(folder).reading() as store:
        own = store.own()
        assert own is not None
        assert RegistryTables(store).read_adopted_position(own) == 4


def test_a_passage_that_was_read_is_stored_as_an_excerpt(folder: Path) -> None:
    for n, reading in enumerate(("excerpt", "summarised")):
        spool_of(folder).put(an_event("source_read", id=str(n), reading=reading, text=f"words {n} of it", call=f"c{n}"))
    assert [one.text for one in shown(folder, "S1").excerpts] == ["words 0 of it"], "a summary is not a passage"


def test_an_invalid_locator_does_not_stop_the_others(folder: Path) -> None:
    for n, locator in enumerate(("https://", "http:// x", "https://example.org/a", "httpx.py", "src/http.py")):
        spool_of(folder).put(an_event("source_read", id=str(n), locator=locator))
    assert [url for _, url, _ in sources(folder)] == ["https://example.org/a"]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Reading), st.integers(0, 2)), max_size=12))
def test_planning_many_at_once_equals_planning_one_by_one(drawn: list[tuple[int, Reading, int]]) -> None:
    told = []
    for n, (page, reading, call) in enumerate(drawn):
        url = f"https://example.org/{page}"
        read = SourceAccess(AgentName("a"), SessionId("s"), str(n), url, reading, n, CallId(f"c{call}"))
        told.append(
            RecordedSource(
                Stamp(id=str(n), at_ns=n), ResearchSource(title=f"T{call}", url=url), None, read, f"x {page}"
            )
        )
    one, other = MemoryCatalog(), MemoryCatalog()
    at_once = plan_recorded_source_registrations(told, one)
    assert one.last() == 0, "planning changes nothing"
    singly = []
    for each in told:
        for event in plan_recorded_source_registrations([each], other):
            apply_source_event(other, event)
            singly.append(event)
    assert at_once == singly


def test_the_registry_of_a_program_sees_them_too(folder: Path) -> None:
    spool_of(folder).put(an_event("source_read"))
    registry = SourceRegistry(RecordRegistryStore(Workspace(folder, talk=pytest.fail)), "ana")
    identity, is_new = registry.register_or_find(ResearchSource(title="A", url="https://EXAMPLE.org/a"))
    assert (identity.source_id, is_new) == ("S1", False)
