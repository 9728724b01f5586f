"""The chain from a line back to its prompt, and where it ends when evidence is missing."""

import json
import re
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.dupes.app.check import dupes_check
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.ledger.records import erase_record_bodies
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
SEARCHED = r"searched \d+ snapshots? and \d+ commits? since 2026-01-\d\d"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """A repository whose first commit is older than anything captured."""
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()}, at=BEFORE - 30 * 86_400, message=b"begin")
    return made


def captured(built: Built, *kinds: str, **call: str) -> None:
    """Record an edit by a call, and these kinds of events around it."""
    events = {
        "session": an_event("session", session="s1", at="2026-01-31T11:59:00Z"),
        "prompt": an_event("prompt", id="p1", at="2026-01-31T11:59:30Z", text="please add a mean"),
        "call": an_event("call", id="c1", **call),
    }
    for kind in kinds:
        spool_of(built.path).put(events[kind])
    spool_of(built.path).put(
        an_event("edit", id="e1", call="c1", path="a.py", before=OLD, after=NEW, head=built.head())
    )


def committed(built: Built) -> str:
    made = built.commit({b"a.py": NEW.encode()}, built.head(), at=AFTER, message=b"add a mean\n\nat last")
    built.checkout()
    return made


def explain(built: Built, line: int = MEAN, revision: str | None = None) -> WhyReport:
    return why(Workspace(built.path), "a.py", line, revision=revision)


def link_kinds(report: WhyReport) -> list[str]:
    return [type(link).__struct_config__.tag for link in report.chain]  # type: ignore[misc]


def test_a_line_leads_to_its_commit_its_call_its_prompt_and_the_session(built: Built) -> None:
    captured(built, "session", "prompt", "call", prompt="p1")
    commit = committed(built)
    report = explain(built)
    assert link_kinds(report) == [
        "line",
        "commit",
        "call",
        "prompt",
        "sources",
        "tests",
        "session",
        "standing",
        "change",
        "end",
    ]
    line, made, call, prompt, _, _, session, *_ = report.chain
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
    report = explain(built)
    assert [link.commit for link in report.chain if isinstance(link, ChainCommit)] == [None]
    assert report.ends == WHOLE


def test_a_call_inside_a_subagent_leads_through_it_to_the_call_that_started_it(built: Built) -> None:
    spool_of(built.path).put(an_event("call", id="c0", name="Task", at="2026-01-31T11:59:40Z", prompt="p1"))
    captured(built, "session", "prompt", "call", parent="c0", subagent="helper")
    committed(built)
    report = explain(built)
    assert link_kinds(report) == [
        "line",
        "commit",
        "call",
        "subagent",
        "call",
        "prompt",
        "sources",
        "tests",
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
    assert explain(built).ends == "the call that started the subagent 'helper' was not captured"


def test_the_call_that_started_a_subagent_is_found_by_its_answer(built: Built) -> None:
    def hooked(at: str, call: str, payload: dict[str, object]) -> None:
        fields = {
            "custody": 1,
            "kind": "hook",
            "agent": "claude-code",
            "event": "PostToolUse",
            "id": call,
            "call": call,
        }
        where = {"session": SESSION, "worktree": str(built.path), "folder": str(built.path), "head": built.head()}
        event = {**fields, **where, "at": f"2026-01-31T{at}Z", "payload": payload}
        spool_of(built.path).put(json.dumps(event).encode())

    def started(name: str) -> dict[str, object]:
        return a_hook_event("PostToolUse", built.path, tool_name="Task", tool_response={"agentId": name})

    edit = an_edit(built.path, "a.py", OLD, OLD, NEW, call="c1")
    hooked("12:00:00", "c1", {**edit, "agent_id": "helper"})
    hooked("12:00:05", "t0", started("another"))
    hooked("12:00:06", "t1", started("helper"))
    committed(built)
    report = explain(built)
    assert [link.id for link in report.chain if isinstance(link, CallLink | SubagentLink)] == ["c1", "helper", "t1"]
    assert report.ends == "the prompt was not captured"


def test_calls_that_name_each_other_end_the_chain(built: Built) -> None:
    spool_of(built.path).put(an_event("call", id="c0", parent="c1"))
    captured(built, "session", "prompt", "call", parent="c0")
    committed(built)
    report = explain(built)
    assert link_kinds(report).count("call") == 2
    assert report.ends == "the call 'c1' is recorded as its own parent"


def test_a_prompt_that_the_call_does_not_name_is_the_last_before_it(built: Built) -> None:
    for id_, at, text in (("p0", "11:00:00", "an earlier one"), ("p2", "12:30:00", "a later one")):
        spool_of(built.path).put(an_event("prompt", id=id_, at=f"2026-01-31T{at}Z", text=text))
    spool_of(built.path).put(an_event("prompt", id="p3", agent="other", at="2026-01-31T11:59:59Z", text="not ours"))
    captured(built, "session", "prompt", "call")
    committed(built)
    (prompt,) = (link for link in explain(built).chain if isinstance(link, PromptLink))
    assert (prompt.text, prompt.named) == ("please add a mean", False)


def test_uncaptured_calls_and_prompts_are_named(built: Built) -> None:
    captured(built)
    committed(built)
    report = explain(built)
    assert link_kinds(report) == ["line", "commit", "sources", "tests", "session", "standing", "change", "end", "end"]
    assert report.ends == "the call 'c1' was not captured; the prompt was not captured"


@pytest.mark.parametrize(
    ("kind", "ends"),
    [("call", "the record of the call 'c1' was erased"), ("prompt", "the prompt 'p1' was erased")],
)
def test_erased_calls_and_prompts_are_named(built: Built, kind: str, ends: str) -> None:
    captured(built, "session", "prompt", "call", prompt="p1")
    committed(built)
    workspace = Workspace(built.path)
    with workspace.reading() as store:
        (record,) = (record for record in store.tables.records_of_kind(kind))
    erase_record_bodies(workspace, [str(record.ref)], who="ana", why="a secret")
    assert explain(built).ends.startswith(ends)


def test_an_erased_prompt_is_not_taken_for_an_earlier_one(built: Built) -> None:
    at = "2026-01-31T11:59:59Z"
    spool_of(built.path).put(an_event("prompt", id="p2", at=at, text="a secret"))
    spool_of(built.path).put(an_event("prompt", id="p3", agent="other", at=at, text="not ours"))
    captured(built, "session", "prompt", "call")
    committed(built)
    erase_record_bodies(Workspace(built.path), ["event:other:s1:prompt:p3"], who="ana", why="a secret")
    assert explain(built).ends == WHOLE
    erase_record_bodies(Workspace(built.path), ["event:robot:s1:prompt:p2"], who="ana", why="a secret")
    report = explain(built)
    assert "prompt" not in link_kinds(report)
    assert report.ends == "the prompt 'p2' was erased"


def test_a_line_without_evidence_reports_what_was_searched(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    text = NEW + "\n\ndef typed_by_somebody(value):\n    return value + 41\n"
    built.commit({b"a.py": text.encode()}, built.head(), at=AFTER, message=b"more")
    built.checkout()
    report = explain(built, line=10)
    assert link_kinds(report) == ["line", "commit", "end"]
    assert re.fullmatch(f"no captured edit of this file shows this text; {SEARCHED}", report.ends)


def test_a_line_older_than_capture_still_names_its_commit(built: Built) -> None:
    first = built.head()
    captured(built, "session", "prompt", "call")
    committed(built)
    (built.path / "a.py").write_text("# above\n" + NEW)
    report = explain(built, line=2)
    assert [link.commit for link in report.chain if isinstance(link, ChainCommit)] == [first]
    assert re.fullmatch(f"this text is older than anything that was captured; {SEARCHED}", report.ends)


def test_an_empty_store_is_reported(built: Built) -> None:
    built.checkout()
    assert explain(built, line=1).ends == UNCAPTURED


def test_another_revision_is_explained_as_of_that_commit(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    committed(built)
    assert link_kinds(explain(built, line=1, revision="HEAD~1")) == ["line", "commit", "end"]


def test_a_line_known_only_from_another_tools_trace_ends_there(built: Built) -> None:
    trace = a_trace("a.py", a_conversation(a_range(5, 6)), timestamp="2026-01-31T12:00:00Z")
    written(built.path / ".agent-trace" / "traces.jsonl", trace)
    committed(built)
    report = explain(built)
    assert link_kinds(report) == ["line", "commit", "session", "standing", "change", "end"]
    session = report.chain[2]
    assert isinstance(session, SessionLink) and session.model == "maker/model-1" and session.records
    assert report.ends == "known only from another tool's trace, which names no call or prompt"


def test_a_bare_repository_uses_its_head(tmp_path: Path) -> None:
    bare = a_repository(tmp_path / "bare", bare=True)
    commit = bare.commit({b"a.py": OLD.encode()})
    report = explain(bare, line=1)
    assert report.revision == commit
    assert link_kinds(report) == ["line", "commit", "end"]


@pytest.mark.parametrize("line", [0, 7])
def test_a_line_that_is_not_there_is_refused(built: Built, line: int) -> None:
    captured(built)
    committed(built)
    with pytest.raises(InputError, match="has no line"):
        explain(built, line=line)


def test_the_chain_shows_trust_and_similar_changes(built: Built) -> None:
    captured(built, "session", "prompt", "call")
    base = built.head()
    head = committed(built)
    duplicate = built.commit(
        {b"a.py": NEW.encode(), b"b.py": b"b = 1\n"}, base, at=AFTER + 60, ref="refs/heads/duplicate", message=b"Mean"
    )
    for number in range(3):
        spool_of(built.path).put(an_event("decision", id=f"d{number}", at=f"2026-01-3{number % 2}T10:0{number}:00Z"))
    workspace = Workspace(built.path)
    before = explain(built)
    (change,) = (link for link in before.chain if isinstance(link, ChangeLink))
    assert (change.head, change.likes) == (head, None)
    (standing,) = (link for link in before.chain if isinstance(link, StandingLink))
    assert (standing.agent, standing.decisions) == ("robot", 3)
    assert standing.score is not None and standing.tier is not None
    dupes_index(workspace, IndexRequest(ranges=(f"{base}..{duplicate}",)))
    dupes_check(workspace, f"{base}..{head}")
    (change,) = (link for link in explain(built).chain if isinstance(link, ChangeLink))
    assert change.likes is not None
    assert [(similar.head, similar.says) for similar in change.likes] == [(duplicate, "duplicate")]
