"""The chain from a line back to what was asked, and where it ends when something is missing."""

import json
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.dupes.app.check import dupes_check
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.ledger.records import erase
from custody.why.report import (
    CallLink,
    ChainCommit,
    ChangeLink,
    LineLink,
    PromptLink,
    SessionLink,
    StandingLink,
    SubagentLink,
    WhyReport,
)
from custody.why.why import UNCAPTURED, WHOLE, why
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import SESSION, a_hook_event, an_edit
from tests.builders.repo import Built, a_repository
from tests.builders.traces import a_conversation, a_range, a_trace, written

BEFORE, AFTER = 1_769_860_000, 1_769_862_000
"""Commits before and after the events, which happen at noon of the same day."""
OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "\n\ndef mean(numbers):\n    return total(numbers) / len(numbers)\n"
MEAN = 6


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """A repository whose first commit is older than anything captured."""
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()}, at=BEFORE - 30 * 86_400, message=b"begin")
    return made


def captured(built: Built, *kinds: str, **call: str) -> None:
    """An edit by a call, and of what is around it only these kinds."""
    told = {
        "session": an_event("session", session="s1", at="2026-01-31T11:59:00Z"),
        "prompt": an_event("prompt", id="p1", at="2026-01-31T11:59:30Z", text="please add a mean"),
        "call": an_event("call", id="c1", **call),
    }
    for kind in kinds:
        spool_of(built.path).put(told[kind])
    spool_of(built.path).put(
        an_event("edit", id="e1", call="c1", path="a.py", before=OLD, after=NEW, head=built.head())
    )


def committed(built: Built) -> str:
    made = built.commit({b"a.py": NEW.encode()}, built.head(), at=AFTER, message=b"add a mean\n\nat last")
    built.checkout()
    return made


def asked(built: Built, line: int = MEAN, revision: str | None = None) -> WhyReport:
    return why(Workspace(built.path), "a.py", line, revision=revision)


def whats(report: WhyReport) -> list[str]:
    return [type(link).__struct_config__.tag for link in report.chain]  # type: ignore[misc]


def test_a_line_leads_to_its_commit_its_call_what_was_asked_and_the_session(built: Built) -> None:
    captured(built, "session", "prompt", "call", prompt="p1")
    commit = committed(built)
    report = asked(built)
    assert whats(report) == ["line", "commit", "call", "prompt", "sources", "session", "standing", "change", "end"]
    line, made, call, prompt, _, session, *_ = report.chain
    assert isinstance(line, LineLink) and line.attribution.kind == "agent" and line.records
    assert isinstance(made, ChainCommit)
    assert (made.commit, made.author, made.subject) == (commit, "A Tester", "add a mean")
    assert isinstance(call, CallLink) and (call.id, call.name, call.status) == ("c1", "Edit", "ok")
    assert isinstance(prompt, PromptLink) and (prompt.text, prompt.named) == ("please add a mean", True)
    assert isinstance(session, SessionLink) and (session.agent, session.model) == ("robot", "m-1")
    assert session.started == "2026-01-31T11:59:00Z"
    assert all(link.records for link in (call, prompt, session))
    assert report.ends == WHOLE


def test_a_line_that_is_not_committed_says_so(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    built.checkout()
    (built.path / "a.py").write_text(NEW)
    report = asked(built)
    assert [link.commit for link in report.chain if isinstance(link, ChainCommit)] == [None]
    assert report.ends == WHOLE


def test_a_call_inside_a_subagent_leads_through_it_to_the_call_that_started_it(built: Built) -> None:
    spool_of(built.path).put(an_event("call", id="c0", name="Task", at="2026-01-31T11:59:40Z", prompt="p1"))
    captured(built, "session", "prompt", "call", parent="c0", subagent="helper")
    committed(built)
    report = asked(built)
    assert whats(report) == [
        "line",
        "commit",
        "call",
        "subagent",
        "call",
        "prompt",
        "sources",
        "session",
        "standing",
        "change",
        "end",
    ]
    assert [link.name for link in report.chain if isinstance(link, CallLink)] == ["Edit", "Task"]
    assert [link.id for link in report.chain if isinstance(link, SubagentLink)] == ["helper"]
    assert report.ends == WHOLE


def test_a_subagent_whose_start_was_not_captured_is_named_as_a_gap(built: Built) -> None:
    captured(built, "session", "prompt", "call", subagent="helper")
    committed(built)
    assert asked(built).ends == "the call that started the subagent 'helper' was not captured"


def test_the_call_that_started_a_subagent_is_found_by_its_answer(built: Built) -> None:
    def hooked(at: str, call: str, payload: dict[str, object]) -> None:
        told = {"custody": 1, "kind": "hook", "agent": "claude-code", "event": "PostToolUse", "id": call, "call": call}
        where = {"session": SESSION, "worktree": str(built.path), "folder": str(built.path), "head": built.head()}
        event = {**told, **where, "at": f"2026-01-31T{at}Z", "payload": payload}
        spool_of(built.path).put(json.dumps(event).encode())

    def started(name: str) -> dict[str, object]:
        return a_hook_event("PostToolUse", built.path, tool_name="Task", tool_response={"agentId": name})

    edit = an_edit(built.path, "a.py", OLD, OLD, NEW, call="c1")
    hooked("12:00:00", "c1", {**edit, "agent_id": "helper"})
    hooked("12:00:05", "t0", started("another"))
    hooked("12:00:06", "t1", started("helper"))
    committed(built)
    report = asked(built)
    assert [link.id for link in report.chain if isinstance(link, CallLink | SubagentLink)] == ["c1", "helper", "t1"]
    assert report.ends == "the prompt was not captured"


def test_calls_that_name_each_other_end_the_chain(built: Built) -> None:
    spool_of(built.path).put(an_event("call", id="c0", parent="c1"))
    captured(built, "session", "prompt", "call", parent="c0")
    committed(built)
    report = asked(built)
    assert whats(report).count("call") == 2
    assert report.ends == "the call 'c1' is said to be inside itself"


def test_a_prompt_that_the_call_does_not_name_is_the_last_before_it(built: Built) -> None:
    for id_, at, text in (("p0", "11:00:00", "an earlier one"), ("p2", "12:30:00", "a later one")):
        spool_of(built.path).put(an_event("prompt", id=id_, at=f"2026-01-31T{at}Z", text=text))
    spool_of(built.path).put(an_event("prompt", id="p3", agent="other", at="2026-01-31T11:59:59Z", text="not ours"))
    captured(built, "session", "prompt", "call")
    committed(built)
    (prompt,) = (link for link in asked(built).chain if isinstance(link, PromptLink))
    assert (prompt.text, prompt.named) == ("please add a mean", False)


def test_what_was_not_captured_is_named(built: Built) -> None:
    captured(built)
    committed(built)
    report = asked(built)
    assert whats(report) == ["line", "commit", "sources", "session", "standing", "change", "end", "end"]
    assert report.ends == "the call 'c1' was not captured; the prompt was not captured"


@pytest.mark.parametrize(
    ("kind", "ends"),
    [("call", "the record of the call 'c1' was erased"), ("prompt", "the prompt 'p1' was erased")],
)
def test_what_was_erased_is_named(built: Built, kind: str, ends: str) -> None:
    captured(built, "session", "prompt", "call", prompt="p1")
    committed(built)
    workspace = Workspace(built.path)
    with workspace.reading() as store:
        (record,) = (one for one in store.tables.records_of_kind(kind))
    erase(workspace, [str(record.ref)], who="ana", why="a secret")
    assert asked(built).ends.startswith(ends)


def test_an_erased_prompt_is_not_taken_for_an_earlier_one(built: Built) -> None:
    at = "2026-01-31T11:59:59Z"
    spool_of(built.path).put(an_event("prompt", id="p2", at=at, text="a secret"))
    spool_of(built.path).put(an_event("prompt", id="p3", agent="other", at=at, text="not ours"))
    captured(built, "session", "prompt", "call")
    committed(built)
    erase(Workspace(built.path), ["event:other:s1:prompt:p3"], who="ana", why="a secret")
    assert asked(built).ends == WHOLE
    erase(Workspace(built.path), ["event:robot:s1:prompt:p2"], who="ana", why="a secret")
    report = asked(built)
    assert "prompt" not in whats(report)
    assert report.ends == "the prompt 'p2' was erased"


def test_a_line_without_evidence_says_what_was_looked_at(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    text = NEW + "\n\ndef typed_by_somebody(value):\n    return value + 41\n"
    built.commit({b"a.py": text.encode()}, built.head(), at=AFTER, message=b"more")
    built.checkout()
    report = asked(built, line=10)
    assert whats(report) == ["line", "commit", "end"]
    assert report.ends.startswith("no captured edit shows this text; looked since 2026-01-")


def test_a_line_older_than_capture_still_names_its_commit(built: Built) -> None:
    first = built.head()
    captured(built, "session", "prompt", "call")
    committed(built)
    (built.path / "a.py").write_text("# above\n" + NEW)
    report = asked(built, line=2)
    assert [link.commit for link in report.chain if isinstance(link, ChainCommit)] == [first]
    assert report.ends.startswith("this text is older than anything that was captured; looked since 2026-01-")


def test_nothing_captured_is_an_answer(built: Built) -> None:
    built.checkout()
    assert asked(built, line=1).ends == UNCAPTURED


def test_another_revision_is_asked_about_as_it_was(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    committed(built)
    assert whats(asked(built, line=1, revision="HEAD~1")) == ["line", "commit", "end"]


def test_a_line_that_only_a_trace_of_another_tool_tells_of_ends_there(built: Built) -> None:
    told = a_trace("a.py", a_conversation(a_range(5, 6)), timestamp="2026-01-31T12:00:00Z")
    written(built.path / ".agent-trace" / "traces.jsonl", told)
    committed(built)
    report = asked(built)
    assert whats(report) == ["line", "commit", "session", "standing", "change", "end"]
    session = report.chain[2]
    assert isinstance(session, SessionLink) and session.model == "maker/model-1" and session.records
    assert report.ends == "a trace of another tool tells of the line: it names neither call nor prompt"


def test_a_bare_repository_is_asked_about_its_head(tmp_path: Path) -> None:
    bare = a_repository(tmp_path / "bare", bare=True)
    commit = bare.commit({b"a.py": OLD.encode()})
    report = asked(bare, line=1)
    assert report.revision == commit
    assert whats(report) == ["line", "commit", "end"]


@pytest.mark.parametrize("line", [0, 7])
def test_a_line_that_is_not_there_is_refused(built: Built, line: int) -> None:
    captured(built)
    committed(built)
    with pytest.raises(InputError, match="has no line"):
        asked(built, line=line)


def test_what_the_agent_has_earned_and_what_the_change_is_like(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    base = built.head()
    head = committed(built)
    twin = built.commit(
        {b"a.py": NEW.encode(), b"b.py": b"b = 1\n"}, base, at=AFTER + 60, ref="refs/heads/twin", message=b"Mean"
    )
    for number in range(3):
        spool_of(built.path).put(an_event("decision", id=f"d{number}", at=f"2026-01-3{number % 2}T10:0{number}:00Z"))
    workspace = Workspace(built.path)
    before = asked(built)
    (change,) = (link for link in before.chain if isinstance(link, ChangeLink))
    assert (change.head, change.likes) == (head, None)
    (standing,) = (link for link in before.chain if isinstance(link, StandingLink))
    assert (standing.agent, standing.decisions) == ("robot", 3)
    assert standing.score is not None and standing.tier is not None
    dupes_index(workspace, IndexRequest(ranges=(f"{base}..{twin}",)))
    dupes_check(workspace, f"{base}..{head}")
    (change,) = (link for link in asked(built).chain if isinstance(link, ChangeLink))
    assert change.likes is not None
    assert [(like.head, like.says) for like in change.likes] == [(twin, "duplicate")]
