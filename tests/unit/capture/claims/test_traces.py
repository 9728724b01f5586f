"""Traces of other tools in every shape they come in."""

import json
from typing import Any

import pytest

from custody.capture.claims.traces import (
    commit_link_views,
    event_from_foreign_trace,
    foreign_trace_views,
    locate_traced_path,
    normalize_foreign_timestamp,
)
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.paths import Lines
from custody.core.views import CommitLink, LinkOrigin, Observation, Session, TracedFile, TracedRange, View
from custody.core.wire.arrival import arrival_from_json
from custody.core.wire.canonical import Json
from tests.builders.traces import AT, HASH, OTHER_TRACE, TRACE, a_conversation, a_link, a_range, a_trace

NOW = "2026-02-01T00:00:00Z"
SHA = "c" * 40


def event(value: Any, worktree: str | None = None) -> dict[str, Json]:
    return event_from_foreign_trace(value, worktree=worktree, now=NOW)


def views(value: Any, worktree: str | None = None) -> tuple[View, ...]:
    return foreign_trace_views(event(value, worktree))


def files(value: Any, worktree: str | None = None) -> list[TracedFile]:
    return [view for view in views(value, worktree) if isinstance(view, TracedFile)]


def said(value: Any) -> list[tuple[str, str | None, str | None]]:
    """Return level, lines and hash of every range in the only file of a trace."""
    (file,) = files(value)
    return [(one.level, None if one.lines is None else str(one.lines), one.hash) for one in file.ranges]


def test_an_agent_trace_record_is_a_session_that_touched_files() -> None:
    session, file, seen = views(
        a_trace("src/a.py", a_conversation(a_range(3, 7, content_hash=HASH), url="https://x/1"))
    )
    assert session == Session(
        agent="robot",  # type: ignore[arg-type]
        id=TRACE,  # type: ignore[arg-type]
        started_ns=1_769_178_600 * 10**9,
        revision="a" * 40,  # type: ignore[arg-type]
        model="maker/model-1",
    )
    assert isinstance(file, TracedFile)
    assert (str(file.path), file.revision, file.model, file.conversation) == (
        "src/a.py",
        "a" * 40,
        "maker/model-1",
        "https://x/1",
    )
    assert file.ranges == (
        TracedRange("conversation", Lines(3, 7), HASH, "https://x/1", "maker/model-1"),  # type: ignore[arg-type]
    )
    assert isinstance(seen, Observation) and seen.session == TRACE


def test_the_minimal_record_of_the_specification_is_enough() -> None:
    minimal = {
        "version": "0.1.0",
        "id": TRACE,
        "timestamp": AT,
        "files": [
            {"path": "src/app.ts", "conversations": [{"contributor": {"type": "ai"}, "ranges": [a_range(1, 50)]}]}
        ],
    }
    (file,) = files(minimal)
    assert (file.agent, file.revision, str(file.ranges[0].lines)) == ("unknown", None, "1-50")


def a_flat_trace(**fields: Any) -> dict[str, Any]:
    """Return a line as opentraces' hook writes it (June 2026)."""
    usual = {
        "schema": "agent-trace/v0.1.0",
        "session_id": "1cef1b2f-5b04-4f15-8ddc-0b99eccd21c7",
        "file_path": "/home/ana/project/src/a.py",
        "start_line": 70,
        "end_line": 76,
        "content_hash": "murmur3:27be2af413b8c6dd45ac2500a41d8942",
        "confidence": "high",
        "tool": "Edit",
        "tool_use_id": "toolu_01Sd4SrhbUqQAQwyhrhmSTtg",
        "timestamp": "2026-06-12T08:45:16.394553+00:00",
    }
    return {**usual, **fields}


def test_a_single_edit_line_is_a_trace_of_its_call() -> None:
    (file,) = files(a_flat_trace(), "/home/ana/project")
    assert (file.agent, str(file.path), file.within, file.call) == (
        "claude-code",
        "src/a.py",
        "1cef1b2f-5b04-4f15-8ddc-0b99eccd21c7",
        "toolu_01Sd4SrhbUqQAQwyhrhmSTtg",
    )
    assert [(str(one.lines), one.hash) for one in file.ranges] == [("70-76", None)]
    assert event(a_flat_trace())["id"] == event(a_flat_trace())["id"] != event(a_flat_trace(start_line=71))["id"]


def test_an_edit_without_found_lines_claims_none() -> None:
    (file,) = files(a_flat_trace(start_line=1, end_line=1, confidence="low", tool_use_id=None))
    assert (file.agent, file.call, file.ranges) == ("unknown", None, ())


@pytest.mark.parametrize("fields", [{"schema": "agent-trace/v9.0.0"}, {"timestamp": None}, {"file_path": None}])
def test_an_incomplete_single_edit_line_is_not_a_trace(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        event(a_flat_trace(**fields))


@pytest.mark.parametrize(("told", "share"), [(None, 0.5), (0.8333, 0.8333), (0.01, 0.5), (7, 0.5), ("0.9", 0.5)])
def test_mixed_lines_are_at_least_half_the_agents(told: Any, share: float) -> None:
    conversation = a_conversation(a_range(1, 2), contributor={"type": "mixed", "model_id": "m"})
    (file,) = files({**a_trace("a.py", conversation), "metadata": {"custody": {"share": told}}})
    assert [one.share for one in file.ranges] == [share]


# Conformance: 000-085, 000-086
def test_the_shape_of_a_databases_row_is_the_same_trace() -> None:
    trace = a_trace()
    row = {
        "trace_id": TRACE,
        "trace_timestamp": "2026-01-23 14:30:00+00:00",
        "vcs": json.dumps(trace["vcs"]),
        "tool": json.dumps(trace["tool"]),
        "files": json.dumps(trace["files"]),
    }
    assert views(row) == views(trace)
    assert views({"trace_id": TRACE, "trace_timestamp": AT, "files": None, "trace_record": trace}) == views(trace)


# Conformance: 000-077, 000-079
def test_ranges_and_hashes_are_read_at_every_level() -> None:
    entry = {
        "path": "a.py",
        "start_line": 1,
        "end_line": 90,
        "content_hash": "sha256:aaaaaaaaaaaaaaaa",
        "conversations": [
            {
                "start_line": 2,
                "end_line": 3,
                "content_hash": "bbbbbbbb",
                "ranges": [a_range(5, 6, content_hash="CCCCCCCC")],
            },
            {"content_hash": "dddddddd"},
        ],
        "changes": [{"start_line": 7, "end_line": 8, "content_hash": "eeeeeeee"}, {"start_line": 9, "end_line": 9}],
    }
    assert said({"id": "t", "timestamp": AT, "files": [entry]}) == [
        ("conversation", "2-3", "bbbbbbbb"),
        ("conversation", "5-6", "cccccccc"),
        ("conversation", None, "dddddddd"),
        ("change", "7-8", "eeeeeeee"),
        ("change", "9", None),
        ("file", "1-90", "sha256:aaaaaaaaaaaaaaaa"),
    ]


@pytest.mark.parametrize("digits", ["murmur3:9f2e8a1b", "sha256:1234567", "", "zzzzzzzz", 5, None])
def test_a_hash_of_another_kind_is_ignored(digits: Json) -> None:
    assert said(a_trace("a.py", a_conversation(a_range(1, 2, content_hash=digits)))) == [("conversation", "1-2", None)]


# Conformance: 000-078
@pytest.mark.parametrize(("first", "last"), [(0, 3), (5, 4), ("1", "2"), (None, 2), (True, True), (1.5, 2)])
def test_invalid_lines_are_ignored(first: Any, last: Any) -> None:
    assert said(a_trace("a.py", a_conversation(a_range(first, last)))) == []


@pytest.mark.parametrize("who", ["human", "unknown"])
def test_lines_of_a_person_or_an_unknown_author_are_not_an_agents(who: str) -> None:
    assert views(a_trace("a.py", a_conversation(a_range(), who=who))) == ()
    mixed = a_trace("a.py", a_conversation(a_range(1, 2), who=who), a_conversation(a_range(3, 4)))
    assert said(mixed) == [("conversation", "3-4", None)]


def test_a_range_may_have_another_author_than_its_conversation() -> None:
    by_a_person = a_range(1, 2, contributor={"type": "human"})
    by_an_agent = a_range(3, 4, contributor={"type": "ai"})
    assert said(a_trace("a.py", a_conversation(by_a_person, a_range(5, 6)))) == [("conversation", "5-6", None)]
    assert said(a_trace("a.py", a_conversation(a_range(1, 2), by_an_agent, who="human"))) == [
        ("conversation", "3-4", None)
    ]
    assert files(a_trace("a.py", a_conversation(by_a_person))) == []


def test_a_persons_file_in_a_trace_is_skipped_and_the_others_stay() -> None:
    trace = a_trace("a.py", a_conversation(a_range()))
    trace["files"].append(
        {"path": "b.py", "content_hash": HASH, "conversations": [a_conversation(a_range(), who="human")]}
    )
    assert [str(file.path) for file in files(trace)] == ["a.py"]


@pytest.mark.parametrize(
    ("path", "worktree", "named"),
    [
        ("src/a.py", None, "src/a.py"),
        ("./src//a.py", None, "src/a.py"),
        ("src/x/../a.py", None, "src/a.py"),
        ("/home/ana/tree/src/a.py", "/home/ana/tree", "src/a.py"),
        ("/home/ana/tree2/src/a.py", "/home/ana/tree", "home/ana/tree2/src/a.py"),
        ("src\\a.py", None, "src/a.py"),
        ("../a.py", None, None),
        ("", None, None),
        ("a\0b", None, None),
    ],
)
def test_paths_are_relative_to_the_root(path: str, worktree: str | None, named: str | None) -> None:
    found = locate_traced_path(path, worktree)
    assert (None if found is None else str(found)) == named


@pytest.mark.parametrize("version", ["0.1.0", "0.1", "1.0", "2.0", None])
def test_known_versions_are_read(version: str | None) -> None:
    assert files({**a_trace(), "version": version})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "not a JSON object"),
        ("x", "not a JSON object"),
        ({**a_trace(), "version": "3.0"}, "unknown trace version '3.0'"),
        ({**a_trace(), "version": 1}, "unknown trace version '1'"),
        ({**a_trace(), "id": None}, "a trace without an id"),
        ({**a_trace(), "id": "a\nb"}, "a trace without an id"),
        ({**a_trace(), "timestamp": None}, "has no timestamp"),
        ({**a_trace(), "timestamp": "yesterday"}, "'yesterday' is not a timestamp"),
        ({**a_trace(), "files": None}, "has no list of files"),
        (a_link("abc", TRACE), "a commit link without a full commit id"),
    ],
)
def test_invalid_traces_are_rejected_with_a_reason(value: Json, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        event(value)


# Conformance: 000-086
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-01-23T14:30:00.123456+00:00", "2026-01-23T14:30:00.123456Z"),
        ("2026-01-23T14:30:00+0530", "2026-01-23T09:00:00Z"),
        ("2026-01-23T14:30:00-02", "2026-01-23T16:30:00Z"),
        ("2026-01-23 14:30:00", "2026-01-23T14:30:00Z"),
    ],
)
def test_timestamps_of_other_tools_are_read(written: str, read: str) -> None:
    assert normalize_foreign_timestamp(written) == read


# Conformance: 000-104
def test_a_commit_link_links_each_trace_once() -> None:
    link = event(a_link(SHA.upper(), TRACE, OTHER_TRACE, TRACE))
    found = commit_link_views(link)
    assert [(one.session, one.commit, one.origin) for one in found if isinstance(one, CommitLink)] == [
        (TRACE, SHA, LinkOrigin.IMPORTED),
        (OTHER_TRACE, SHA, LinkOrigin.IMPORTED),
    ]
    assert link["at"] == AT


def test_a_link_without_a_time_has_the_import_time() -> None:
    assert event(a_link(SHA, TRACE, created_at=None))["at"] == NOW


def test_natural_keys_come_from_the_trace_and_the_commit() -> None:
    assert arrival_from_json(EventId("e"), event(a_trace())).entry.key == f"import:trace:{TRACE}"
    key = arrival_from_json(EventId("e"), event(a_link(SHA, TRACE))).entry.key
    assert key.startswith(f"import:trace_link:{SHA}-")
    assert key != arrival_from_json(EventId("e"), event(a_link(SHA, TRACE, OTHER_TRACE))).entry.key


def test_a_trace_of_another_version_control_system_has_no_revision() -> None:
    (file,) = files({**a_trace(), "vcs": {"type": "jj", "revision": "abcdef1"}})
    assert file.revision is None


def test_an_abbreviated_revision_is_stored_for_the_file_but_is_not_the_sessions_commit() -> None:
    session, file, _ = views({**a_trace(), "vcs": {"revision": "ABCDEF1"}})
    assert isinstance(session, Session) and isinstance(file, TracedFile)
    assert (session.revision, file.revision) == (None, "abcdef1")


def test_without_a_tool_the_model_names_the_agent() -> None:
    (file,) = files({**a_trace(), "tool": None})
    assert file.agent == "maker/model-1"


@pytest.mark.parametrize("odd", [None, 5, "x", {}, [], [None, 5, "x"], [{"path": 7}], {"a": 1}])
def test_invalid_parts_of_a_trace_are_ignored(odd: Json) -> None:
    for key in ("conversations", "changes", "ranges", "contributor", "start_line", "content_hash"):
        trace = a_trace()
        trace["files"][0][key] = odd
        trace["files"][0]["conversations"] = [{"ranges": [a_range()], key: odd}]
        assert [str(file.path) for file in files(trace)] == [trace["files"][0]["path"]], key
    for key in ("tool", "vcs", "metadata"):
        assert said({**a_trace(), key: odd}) == said(a_trace()), key


def test_erased_texts_leave_a_readable_trace() -> None:
    trace = a_trace("a.py", a_conversation(a_range(), url={"$erased": "sha256:" + "0" * 64}))
    (file,) = files(trace)
    assert file.conversation is None
