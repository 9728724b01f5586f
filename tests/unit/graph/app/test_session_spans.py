"""A captured session as spans: each call once, inside the right span, with its recorded end."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import TRANSCRIPT_READERS
from custody.core.ids import AgentName, CallId, PromptId, SessionId, digest_from_bytes
from custody.core.view_merge import merge_call_views
from custody.core.views import (
    CallStatus,
    ObservedSpan,
    Prompt,
    Session,
    SpanKind,
    SpanPhase,
    SpanRef,
    SpanStatus,
    Text,
    ToolCall,
)
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.core.wire.event_views import views_from_event_payload
from custody.graph.app.session_spans import (
    CapturedSession,
    execution_id_from_session,
    load_session_spans,
    span_id_from_call,
    spans_from_captured_session,
)
from custody.graph.otlp.event import span_event_from_otlp
from custody.graph.otlp.export import otlp_from_span
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.transcripts import Transcript

AGENT, S = AgentName("robot"), SessionId("s1")


def a_call(id: str, at: int, end: int | None = None, status: str = "ok", **more: object) -> ToolCall:
    base = {"agent": AGENT, "session": S, "id": CallId(id), "name": "Read", "started_ns": at, "ended_ns": end}
    return ToolCall(**{**base, "status": CallStatus(status), **more})  # type: ignore[arg-type]


def a_prompt(name: str, at: int) -> Prompt:
    return Prompt(AGENT, S, PromptId(name), at, Text(digest_from_bytes(b"x"), "x"))


def spans_of(
    *calls: ToolCall, prompts: tuple[Prompt, ...] = (), session: Session | None = None
) -> dict[str, ObservedSpan]:
    spans = spans_from_captured_session(CapturedSession(AGENT, S, session, prompts, merge_call_views(calls)))
    assert len({span.id for span in spans}) == len(spans)
    return {span.id: span for span in spans}


def test_calls_are_in_the_turn_that_they_name_else_in_the_current_one() -> None:
    spans = spans_of(
        a_call("before", 1, 2),
        a_call("first", 11, 12),
        a_call("late", 25, 26, prompt=PromptId("p1")),
        a_call("second", 21, 22, prompt=PromptId("unknown")),
        prompts=(a_prompt("p1", 10), a_prompt("p2", 20)),
    )
    parents = {name: spans[f"call:{name}"].parent for name in ("before", "first", "late", "second")}
    assert parents == {"before": "session", "first": "turn:p1", "late": "turn:p1", "second": "turn:p2"}
    assert (spans["turn:p1"].parent, spans["turn:p1"].ended_ns) == ("session", 20)
    assert spans["turn:p2"].phase is SpanPhase.START and ("end", "inferred") in spans["turn:p1"].attributes


def test_a_call_without_a_recorded_end_has_no_end() -> None:
    spans = spans_of(
        a_call("running", 1, None, "running"),
        a_call("failed", 2, 3, "failed"),
        a_call("left", 4, 5, "abandoned"),
        a_call("when", 6, None, "ok"),
    )
    assert {span.id: (span.phase.value, span.status) for span in spans.values()} == {
        "session": ("start", None),
        "call:running": ("start", None),
        "call:failed": ("whole", SpanStatus.ERROR),
        "call:left": ("whole", SpanStatus.ABANDONED),
        "call:when": ("start", None),
    }
    assert ("outcome", "ok") in spans["call:when"].attributes


def test_a_session_ends_when_recorded_unless_it_continued() -> None:
    session = Session(AGENT, S, 1, ended_ns=50, model="m")
    assert (spans_of(a_call("c", 2, 3), session=session)["session"].ended_ns) == 50
    assert spans_of(a_call("c", 2, 60), session=session)["session"].phase is SpanPhase.START
    assert spans_of(session=session)["session"].attributes == (("model", "m"),)


def test_tools_of_servers_have_their_server() -> None:
    spans = spans_of(a_call("c", 1, 2, name="mcp__github__get_issue"), a_call("d", 3, 4, name=""))
    assert (spans["call:c"].server, spans["call:c"].name, spans["call:c"].node) == (
        "github",
        "get_issue",
        "github:get_issue",
    )
    assert spans["call:d"].name == "unknown"


def test_a_subagent_s_calls_are_in_it_and_it_is_in_the_call_that_started_it() -> None:
    spans = spans_of(
        a_call("task", 1, 10, name="Task"),
        a_call("a", 2, 3, subagent="x", parent=CallId("task")),
        a_call("b", 4, 12, subagent="x", parent=CallId("task")),
        a_call("deep", 5, 6, subagent="y", parent=CallId("b")),
        a_call("lost", 7, 8, subagent="z", parent=CallId("gone")),
        a_call("inside", 8, 9, parent=CallId("task")),
        a_call("stray", 9, 10, parent=CallId("gone")),
        a_call("self", 10, 11, subagent="w", parent=CallId("self")),
    )
    agent = spans["agent:x"]
    assert (agent.kind, agent.parent, agent.started_ns, agent.ended_ns) == (SpanKind.AGENT, "call:task", 2, 12)
    assert spans["call:a"].parent == spans["call:b"].parent == "agent:x"
    assert (spans["agent:y"].parent, spans["call:deep"].parent) == ("call:b", "agent:y")
    missing = (SpanRef(execution_id_from_session(AGENT, S), span_id_from_call(CallId("gone"))),)
    assert (spans["agent:z"].parent, spans["agent:z"].links) == ("session", missing)
    assert spans["agent:z"].phase is SpanPhase.START
    assert (spans["agent:w"].parent, spans["call:self"].parent) == ("session", "agent:w")
    assert spans["call:inside"].parent == "call:task"
    assert (spans["call:stray"].parent, spans["call:stray"].links) == ("session", missing)


_calls = st.lists(
    st.builds(
        lambda id, at, lasts, status, parent, subagent, prompt: a_call(
            id, at, None if lasts is None else at + lasts, status, parent=parent, subagent=subagent, prompt=prompt
        ),
        st.sampled_from("abcdefgh"),
        st.integers(0, 50),
        st.none() | st.integers(0, 9),
        st.sampled_from([status.value for status in CallStatus]),
        st.none() | st.sampled_from("abcdefghij").map(CallId),
        st.none() | st.sampled_from(["x", "y"]),
        st.none() | st.sampled_from(["p0", "p1", "p9"]).map(PromptId),
    ),
    max_size=12,
)


@given(_calls, st.lists(st.integers(0, 50), max_size=3), st.none() | st.integers(0, 99), st.randoms())
def test_every_call_has_one_span_and_every_parent_exists(
    calls: list[ToolCall], times: list[int], ended: int | None, chance: random.Random
) -> None:
    prompts = tuple(a_prompt(f"p{n}", at) for n, at in enumerate(sorted(times)))
    session = Session(AGENT, S, 0, ended_ns=ended)
    spans = spans_of(*calls, prompts=prompts, session=session)
    chance.shuffle(calls)
    assert spans_of(*calls, prompts=prompts, session=session) == spans
    assert {span.id for span in spans.values() if span.kind is SpanKind.TOOL} == {
        span_id_from_call(call.id) for call in calls
    }
    assert all((span.parent is None) == (span.id == "session") for span in spans.values())
    assert all(span.parent in spans and span.parent != span.id for span in spans.values() if span.parent is not None)
    for span in spans.values():
        assert (
            views_from_event_payload(
                parse_json_bytes(dump_canonical_json(span_event_from_otlp(otlp_from_span(span)).event))
            )[0]
            == span
        )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repo"))


def test_a_real_transcript_with_a_subagent(workspace: Workspace, tmp_path: Path) -> None:
    transcript = Transcript("5d2f0c3e", workspace.folder).prompt("look").read("a.py", "x\n")
    helper = transcript.subagent("a1")
    helper.read("b.py", "y\n")
    transcript.subagent_done(helper).prompt("and now").write("c.py", None, "z\n").call("mcp__git__log", {}, {}, "ok")
    transcript.put(tmp_path / "transcripts")
    import_transcripts(workspace, TRANSCRIPT_READERS["claude-code"], tmp_path / "transcripts")
    with workspace.reading() as store:
        spans = load_session_spans(store, SessionId("5d2f0c3e"))
        assert spans == load_session_spans(store, SessionId("5d2f0c3e"), AgentName("claude-code"))
        assert load_session_spans(store, SessionId("5d2f0c3e"), AgentName("another")) == []
    by_id = {span.id: span for span in spans}

    def path_up(span: ObservedSpan) -> list[str]:
        return [span.node, *([] if span.parent is None else path_up(by_id[span.parent]))]

    assert [path_up(span) for span in spans if span.kind is SpanKind.TOOL] == [
        ["tool:Read", "turn:turn", "session:claude-code"],
        ["tool:Task", "turn:turn", "session:claude-code"],
        ["tool:Read", "agent:Explore", "tool:Task", "turn:turn", "session:claude-code"],
        ["tool:Write", "turn:turn", "session:claude-code"],
        ["git:log", "turn:turn", "session:claude-code"],
    ]
    assert [dict(span.attributes).get("number") for span in spans if span.kind is SpanKind.TURN] == [1, 2]
    written = next(span for span in spans if span.name == "Write")
    assert (dict(written.attributes)["file"], written.status) == ("c.py", SpanStatus.OK)


def test_a_session_with_only_spans_or_edits_has_no_spans_of_its_own(workspace: Workspace) -> None:
    spool_of(workspace.folder).put(an_event("span", agent="robot"))
    spool_of(workspace.folder).put(an_event("edit"))
    with workspace.reading() as store:
        assert load_session_spans(store, S) == []
