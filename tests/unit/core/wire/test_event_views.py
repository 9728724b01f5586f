"""From a payload to views, field by field, for every kind."""

import json
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given

from custody.core.errors import InputError
from custody.core.ids import (
    AgentName,
    CallId,
    CommitSha,
    ContentHash,
    ExecutionId,
    PromptId,
    SessionId,
    SpanId,
    content_hash_from_lines,
    digest_from_bytes,
)
from custody.core.paths import Lines, RepoPath
from custody.core.views import (
    AuthorClaim,
    CallStatus,
    Change,
    CommandRecord,
    CommitLink,
    Decision,
    DecisionKind,
    DuplicateAnswer,
    FileEdit,
    FileState,
    HunkRead,
    LinkOrigin,
    Observation,
    ObservedCommit,
    ObservedSpan,
    Prompt,
    PullRequestFact,
    Reading,
    Session,
    Source,
    SourceAccess,
    SpanKind,
    SpanPhase,
    SpanRef,
    SpanStatus,
    Text,
    ToolCall,
    TracedFile,
    View,
    WitnessClaim,
)
from custody.core.wire.body import join_payload_texts, split_payload_texts
from custody.core.wire.canonical import Json, encode_json_text
from custody.core.wire.event import GENERIC, CallEvent, DecisionEvent, LinkEvent, SourceReadEvent
from custody.core.wire.event_views import VIEWS, views_from_event_payload
from tests.builders.drawn import texts
from tests.builders.events import KINDS, OTHER_SHA, SHA, an_event
from tests.builders.table import table

NOON = 1_769_860_800 * 10**9
LATER = "2026-01-31T13:00:00.000000001+00:30"
LATER_NS = NOON + 30 * 60 * 10**9 + 1
ROBOT, S1 = AgentName("robot"), SessionId("s1")
ERASED = digest_from_bytes(b"gone")
ERASED_MARK = {"$erased": "sha256:" + ERASED.hex()}


def text(content: str) -> Text:
    return Text(digest_from_bytes(encode_json_text(content)), content)


def view_of(kind: str, **given_: Any) -> View:
    return views_from_event_payload(json.loads(an_event(kind, **given_)))[0]


FULL: dict[str, tuple[dict[str, Any], View]] = {
    "session": (
        {"ended_at": LATER, "worktree": "/w", "model": "m-2", "operator": "ana", "parent": "s0"},
        Session(ROBOT, S1, NOON, LATER_NS, CommitSha(SHA), "/w", "m-2", "ana", SessionId("s0")),
    ),
    "prompt": ({"text": "do it"}, Prompt(ROBOT, S1, PromptId("1"), NOON, text("do it"))),
    "call": (
        {
            "ended_at": LATER, "status": "failed", "parent": "c0", "prompt": "p1", "subagent": "sub", "model": "m",
            "input": {"a": 1, "command": "git add"}, "output": "x",
        },
        ToolCall(
            ROBOT, S1, CallId("1"), "Edit", NOON, LATER_NS, CallStatus.FAILED, CallId("c0"), PromptId("p1"), "sub", "m",
            "git add",
        ),
    ),
    "edit": (
        {
            "path": "a/\udcff.py", "call": "c1", "before": "old", "after": "new\n", "content_hashes": ["0" * 8],
            "proposed": "mine\n",
            "lines": [{"first": 3, "last": 9}, {"first": 1, "last": 1}],
        },
        FileEdit(
            ROBOT, S1, "1", RepoPath(b"a/\xff.py"), NOON, CallId("c1"), CommitSha(SHA), text("old"), text("new\n"),
            (Lines(3, 9), Lines(1, 1)), (ContentHash("0" * 8), content_hash_from_lines([b"new"])), True, text("mine\n"),
        ),
    ),
    "source_read": (
        {"reading": "attempted", "call": "c1", "title": "A page", "text": "words", "code": 404},
        SourceAccess(
            ROBOT, S1, "1", "https://example.org/a", Reading.ATTEMPTED, NOON, CallId("c1"), "A page", text("words"),
            404, True,
        ),
    ),
    "link": (
        {"origin": "git_operation"}, CommitLink(ROBOT, S1, CommitSha(OTHER_SHA), LinkOrigin.GIT_OPERATION, NOON),
    ),
    "decision": (
        {
            "decision": "modified", "session": "s1", "reason": "why\nso", "commit": SHA, "complexity": "high",
            "changed_lines": 12, "review_ms": 0, "commit_name": "v1", "reverts": "r", "overrides": "o", "boost": 0.05,
            "model": "m-2", "operator": "ana", "areas": ["src", "."], "opened_at": LATER, "unreviewed": True,
            "head": OTHER_SHA, "rules_digest": "sha256:" + "0" * 64, "chain_head": "sha256:1",
            "outcome": "changed", "sessions": ["s1"], "patch": "b" * 64, "agent_lines": 9,
            "witness": {"kind": "signature", "by": "ana", "signature": "text"},
        },
        Decision(
            ROBOT, "1", DecisionKind.MODIFIED, NOON, S1, "ana", "why\nso", CommitSha(SHA), "high", 12, 0,
            "v1", "r", "o", 0.05, "m-2", "ana", ("src", "."), LATER_NS, True, CommitSha(OTHER_SHA),
            "sha256:" + "0" * 64, "sha256:1", "changed", (S1,), "b" * 64, 9,
            WitnessClaim("signature", "ana", "text"),
        ),
    ),
    "duplicate_answer": (
        {"actor": "ana", "reason": "why", "other_base": SHA},
        DuplicateAnswer(
            "1", NOON, CommitSha(SHA), OTHER_SHA, CommitSha(OTHER_SHA), SHA, "duplicate", "ana", "why"
        ),
    ),
    "read": (
        {
            "base": OTHER_SHA, "via": "approval", "hunk": "c" * 64 + "-2",
            "witness": {"kind": "signature", "by": "ana", "signature": "text"},
        },
        HunkRead(
            "1", "ana", "c" * 64 + "-2", RepoPath(b"src/app.py"), NOON, CommitSha(SHA), CommitSha(OTHER_SHA),
            "approval", WitnessClaim("signature", "ana", "text"),
        ),
    ),
    "author": (
        {"lines": [{"first": 3, "last": 9}], "message": "typed it", "head": SHA},
        AuthorClaim(
            "1", "ana", RepoPath(b"src/app.py"), NOON, text("mine = 1\n"), (Lines(3, 9),), "typed it", CommitSha(SHA)
        ),
    ),
    "source": (
        {"snippet": "words", "publisher": "P", "author": "B", "year": 1999},
        Source("1", NOON, "https://example.org/a", "A", "words", "P", "B", 1999),
    ),
    "change": (
        {"url": "https://example.org/1", "number": 7},
        Change("1", NOON, CommitSha(SHA), CommitSha(OTHER_SHA), "a change", "https://example.org/1", 7),
    ),
    "span": (
        {
            "phase": "whole", "ended_at": LATER, "status": "error",
            "links": [{"span": "z"}, {"span": "y", "execution": "e0"}],
            "attributes": {"path": "a.py", "bytes": 3, "again": None, "sure": True, "part": 0.5}, "dropped": 2,
            "agent": "robot",
        },
        ObservedSpan(
            ExecutionId("e1"), SpanId("b2"), SpanPhase.WHOLE, "read_file", SpanKind.TOOL, NOON, LATER_NS, SpanId("a1"),
            (SpanRef(None, SpanId("z")), SpanRef(ExecutionId("e0"), SpanId("y"))), SpanStatus.ERROR, "filesystem",
            (("again", None), ("bytes", 3), ("part", 0.5), ("path", "a.py"), ("sure", True)), 2, ROBOT, S1,
        ),
    ),
}  # fmt: skip


@table("kind", KINDS)
def test_every_field_of_every_kind_reaches_its_view(kind: str) -> None:
    given_, expected = FULL[kind]
    assert view_of(kind, **given_) == expected
    assert all(getattr(expected, name) not in (None, ()) for name in expected.__struct_fields__), "no field untried"


LEAST: dict[str, tuple[tuple[str, ...], View]] = {
    "session": (("model", "head"), Session(ROBOT, S1, NOON)),
    "prompt": ((), Prompt(ROBOT, S1, PromptId("1"), NOON, text("please write it"))),
    "call": (("status",), ToolCall(ROBOT, S1, CallId("1"), "Edit", NOON)),
    "edit": (("after", "head"), FileEdit(ROBOT, S1, "1", RepoPath(b"src/app.py"), NOON)),
    "source_read": ((), SourceAccess(ROBOT, S1, "1", "https://example.org/a", Reading.VERBATIM, NOON)),
    "link": ((), CommitLink(ROBOT, S1, CommitSha(OTHER_SHA), LinkOrigin.HOOK, NOON)),
    "decision": (("actor",), Decision(ROBOT, "1", DecisionKind.ACCEPTED, NOON)),
    "duplicate_answer": (
        (),
        DuplicateAnswer("1", NOON, CommitSha(SHA), OTHER_SHA, CommitSha(OTHER_SHA), "", "duplicate"),
    ),
    "read": ((), HunkRead("1", "ana", "c" * 64, RepoPath(b"src/app.py"), NOON, CommitSha(SHA))),
    "author": ((), AuthorClaim("1", "ana", RepoPath(b"src/app.py"), NOON, text("mine = 1\n"))),
    "source": (("url", "title"), Source("1", NOON)),
    "change": (("title",), Change("1", NOON, CommitSha(SHA), CommitSha(OTHER_SHA))),
    "span": (
        ("parent", "server", "session", "attributes"),
        ObservedSpan(ExecutionId("e1"), SpanId("b2"), SpanPhase.START, "read_file", SpanKind.TOOL, NOON),
    ),
}


@table("kind", KINDS)
def test_what_an_event_does_not_say_its_view_does_not_know(kind: str) -> None:
    left_out, expected = LEAST[kind]
    payload = {name: item for name, item in json.loads(an_event(kind)).items() if name not in left_out}
    assert views_from_event_payload(payload)[0] == expected


def test_null_is_the_same_as_not_said() -> None:
    assert view_of("session", model=None, head=None, ended_at=None) == LEAST["session"][1]
    assert view_of("edit", before=None, after=None, head=None, call=None) == LEAST["edit"][1]


@pytest.mark.parametrize(
    ("kind", "name"), [("prompt", "text"), ("edit", "before"), ("edit", "after"), ("source_read", "text")]
)
def test_an_erased_text_keeps_its_digest_and_says_nothing(kind: str, name: str) -> None:
    view = view_of(kind, **{name: ERASED_MARK})
    assert getattr(view, name) == Text(ERASED, None)
    if isinstance(view, FileEdit) and name == "after":
        assert view.hashes == ()


@given(texts)
def test_a_text_has_the_same_digest_in_its_view_whether_it_was_kept_apart_or_not(content: str) -> None:
    long = content + "x" * 4097
    made = split_payload_texts(json.loads(an_event("prompt")) | {"text": long})
    for texts_held, expected in ((made.texts, long), ({}, None)):
        view = views_from_event_payload(join_payload_texts(made.payload, texts_held))[0]
        assert isinstance(view, Prompt)
        assert view.text == Text(digest_from_bytes(encode_json_text(long)), expected)


@pytest.mark.parametrize(
    ("event", "name", "words"),
    [
        (CallEvent, "status", CallStatus),
        (SourceReadEvent, "reading", Reading),
        (LinkEvent, "origin", LinkOrigin),
        (DecisionEvent, "decision", DecisionKind),
    ],
)
def test_the_words_of_the_wire_are_those_of_the_model(event: type, name: str, words: Any) -> None:
    hint = get_type_hints(event)[name]
    assert get_origin(hint) is Literal
    assert sorted(get_args(hint)) == sorted(word.value for word in words)


def test_every_event_has_a_view() -> None:
    assert set(VIEWS) == set(GENERIC)
    read_elsewhere = {CommandRecord, FileState, Observation, TracedFile, PullRequestFact, ObservedCommit}
    assert {type(view) for _, view in FULL.values()} == set(get_args(View)) - read_elsewhere


@table("kind", KINDS)
def test_every_event_of_a_session_is_also_an_observation_of_it(kind: str) -> None:
    observed = (Observation(ROBOT, S1, kind, NOON),)
    assert views_from_event_payload(json.loads(an_event(kind, agent="robot", session="s1")))[1:] == observed
    unbound = {name: item for name, item in json.loads(an_event(kind)).items() if name != "session"}
    if kind in ("decision", "duplicate_answer", "read", "author", "source", "change"):
        assert views_from_event_payload(unbound)[1:] == ()


@pytest.mark.parametrize("kind", ["hook", "snapshot"])
def test_what_our_own_hook_says_is_not_read_here(kind: str) -> None:
    value: dict[str, Json] = {"custody": 1, "kind": kind, "id": "1", "at": "2026-01-31T12:00:00Z", "agent": "robot"}
    value |= {"event": "PreToolUse"} if kind == "hook" else {"phase": "after", "files": []}
    with pytest.raises(InputError, match=f"'{kind}' is not a generic event"):
        views_from_event_payload(value)


@pytest.mark.parametrize("payload", [None, [], {}, {"kind": "erased"}, {"custody": 1, "kind": "continues"}])
def test_an_invalid_event_has_no_view(payload: Json) -> None:
    with pytest.raises(InputError):
        views_from_event_payload(payload)
