"""``custody log`` and ``custody record``, as a user sees them."""

import json
import sys
from pathlib import Path

import pytest

from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.hooks import SESSION, a_hook_event, an_edit
from tests.builders.in_process import custody

DEEP = sys.getrecursionlimit() + 100
"""More calls inside one another than Python recurses."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def worked(repository: Path) -> Path:
    """The repository after a short session with a subagent, recorded by ``custody record``."""
    for said in (
        a_hook_event("SessionStart", repository, source="startup", model="m-1"),
        a_hook_event("UserPromptSubmit", repository, prompt="please  fix\nit", prompt_id="p1"),
        an_edit(repository, "a.py", "x", "x", "y", call="c1") | {"duration_ms": 0},  # it starts after the prompt
        a_hook_event("PreToolUse", repository, tool_name="Grep", tool_use_id="c2", agent_id="sub-1"),
        a_hook_event("PostToolUseFailure", repository, tool_name="Grep", tool_use_id="c2", agent_id="sub-1"),
    ):
        ran = custody(repository, "record", "--agent", "claude-code", stdin=json.dumps(said))
        assert (ran.status, ran.out, ran.err) == (0, "", "")
    return repository


def test_nothing_captured_yet(repository: Path) -> None:
    assert custody(repository, "log").out == "no session has been captured here yet\n"


def test_sessions_are_listed_with_what_happened_in_them(repository: Path) -> None:
    (line,) = custody(worked(repository), "log").out.splitlines()
    assert line.endswith(f"  claude-code   {SESSION}  m-1  1 prompt(s), 2 call(s), 1 file(s)")


def test_one_session_in_order_and_as_a_tree(repository: Path) -> None:
    lines = custody(worked(repository), "log", SESSION[:8], "--tree").out.splitlines()
    assert lines[1] == "  changed a.py"
    assert lines[2].endswith("  > please fix it")
    assert lines[3].endswith("    Edit  a.py")
    assert lines[4].strip() == "subagent sub-1"
    assert lines[5].endswith(" !    Grep")
    flat = custody(repository, "log", SESSION).out.splitlines()
    assert not any("subagent" in line for line in flat)


def test_json_names_calls_files_and_sources(repository: Path) -> None:
    report = json.loads(custody(worked(repository), "log", SESSION, "--json").out)
    assert [(call["name"], call["status"]) for call in report["calls"]] == [("Edit", "ok"), ("Grep", "failed")]
    assert report["calls"][0]["files"] == ["a.py"]
    assert report["prompts"][0]["text"] == "please  fix\nit"


def test_generic_and_unread_agents_are_listed_too(repository: Path) -> None:
    spool_of(repository).put(an_event("prompt", session="generic"))
    custody(repository, "record", "--agent", "cursor", stdin='{"conversation_id": "cur", "hook_event_name": "stop"}')
    sessions = {s["session"]: s for s in json.loads(custody(repository, "log", "--json").out)["sessions"]}
    assert sessions["generic"]["prompts"] == 1
    assert (sessions["cur"]["agent"], sessions["cur"]["events"]) == ("cursor", 1)


def test_an_unknown_and_an_ambiguous_session(repository: Path) -> None:
    for session in ("one-1", "one-2"):
        spool_of(repository).put(an_event("prompt", session=session))
    assert "fits several sessions" in custody(repository, "log", "one").err
    assert custody(repository, "log", "one-1").status == 0
    assert custody(repository, "log", "two").status == 2


def test_record_never_fails_and_gives_a_receipt(repository: Path, tmp_path: Path) -> None:
    event = '{"custody":1,"kind":"prompt","session":"s1","text":"hello"}'
    ran = custody(repository, "record", "--agent", "mine", "--receipt", stdin=event)
    assert (ran.status, ran.out) == (0, "EVENT\n")
    assert custody(repository, "show", "1").out.count('"text": "hello"') == 1
    outside = custody(tmp_path, "record", "--agent", "mine", stdin=event)
    assert (outside.status, outside.out) == (0, "")


def test_doctor_says_what_the_hook_runs(repository: Path) -> None:
    from tests.builders.hooks import installed

    report = json.loads(custody(repository, "doctor", "--json").out)
    assert report["hook"] == {"agents": {}, "command": None}
    installed(repository)
    hook = json.loads(custody(repository, "doctor", "--json").out)["hook"]
    assert hook["command"][1:3] == ["-I", "-S"]
    assert hook["agents"]["cursor"]["command"][-1] == "cursor"


def test_calls_inside_calls_and_circles_are_drawn(repository: Path) -> None:
    calls = [
        an_event("call", id=f"c{n}", session="deep", name=f"n{n}", **({"parent": f"c{n - 1}"} if n else {}))
        for n in range(DEEP)
    ]
    for one, other in (("a", "b"), ("b", "a"), ("self", "self")):
        calls.append(an_event("call", id=one, session="round", name=f"n-{one}", parent=other))
    (repository / "calls.jsonl").write_bytes(b"\n".join(calls))
    assert custody(repository, "import", "calls.jsonl").status == 0
    deep = custody(repository, "log", "deep", "--tree")
    assert deep.status == 0
    assert f"n{DEEP - 1}" in deep.out
    around = custody(repository, "log", "round", "--tree").out
    assert [f"n-{name}" in around for name in ("a", "b", "self")] == [True] * 3


def test_a_prompt_that_came_twice_is_listed_once(repository: Path) -> None:
    for at in ("2026-01-31T12:00:00Z", "2026-01-31T12:00:01Z"):
        spool_of(repository).put(an_event("prompt", id="p", at=at, text="why?"))
    assert custody(repository, "log", "s1").out.count("why?") == 1


def test_the_same_session_of_two_agents_is_chosen_by_the_agent(repository: Path) -> None:
    for agent, text in (("one", "first?"), ("two", "second?")):
        spool_of(repository).put(an_event("prompt", agent=agent, session="same", text=text))
        spool_of(repository).put(an_event("call", agent=agent, session="same", id="c"))
    ran = custody(repository, "log", "same")
    assert ran.status == 2
    assert "fits several sessions: one same, two same" in ran.err
    assert "choose one with --agent" in ran.err
    assert "second?" in custody(repository, "log", "same", "--agent", "two").out
    assert (
        "no session of the agent 'three' is named 'same'" in custody(repository, "log", "same", "--agent", "three").err
    )
    listed = custody(repository, "log", "--agent", "one").out.splitlines()
    assert [line.split()[1] for line in listed] == ["one"]
    assert all("1 prompt(s), 1 call(s)" in line for line in custody(repository, "log").out.splitlines())


def test_agents_are_counted_with_their_sessions(repository: Path) -> None:
    assert custody(repository, "log", "--by-agent").out == "no session has been captured here yet\n"
    for session in ("s1", "s2"):
        spool_of(repository).put(an_event("prompt", session=session, agent="robot"))
    spool_of(repository).put(an_event("prompt", session="s3", agent="drone", at="2026-01-30T12:00:00Z"))
    assert custody(repository, "log", "--by-agent").out.splitlines() == [
        "drone       1 session(s)  last 2026-01-30T12:00:00Z",
        "robot       2 session(s)  last 2026-01-31T12:00:00Z",
    ]
    assert custody(repository, "log", "s1", "--by-agent").status == 2
    assert custody(repository, "log", "--by-agent", "--agent", "drone").out.split()[0] == "drone"
    assert len(custody(repository, "log", "--by-agent", "--agent", "drone").out.splitlines()) == 1
    assert custody(repository, "log", "--agent", "codex").out == "no session of codex has been captured here yet\n"
    ran = custody(repository, "log", "--agent", "dron")
    assert ran.status == 2
    assert "no agent is named 'dron' here\n  hint: known are claude-code, codex, copilot, cursor, drone" in ran.err
