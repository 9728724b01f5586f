"""``custody log`` and ``custody record``, as a user sees them."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.core.wire.report import LogReport
from custody.ledger.cli import SessionSearch, render_record_list, render_session_list, render_session_log
from custody.ledger.records import list_newest_records
from custody.ledger.sessions import list_session_log, shorten_session_ids, show_session_log
from custody.terminal.screen import Screen, text_columns
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.hooks import SESSION, a_hook_event, an_edit
from tests.builders.in_process import custody

DEEP = sys.getrecursionlimit() + 100
"""More nested calls than Python can recurse."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def worked(repository: Path) -> Path:
    """Return the repository after a short session with a subagent, recorded by ``custody record``."""
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
    hint = "hint: custody import reads past sessions of agents"
    assert custody(repository, "log").out == f"no session has been recorded here yet\n{hint}\n"


def test_sessions_are_listed_with_their_first_prompt(repository: Path) -> None:
    assert custody(worked(repository), "log").out.splitlines() == [
        "SESSION   LAST ACTIVE  AGENT        FIRST PROMPT   TIME    FILES",
        f"{SESSION[:8]}  just now     claude-code  please fix it  1 min  1 file",
        "",
        f"1 session. hint: custody log {SESSION[:8]} shows one, --grep TEXT searches prompts",
    ]


NOON_NS = 1_769_860_800 * 10**9  # 2026-01-31T12:00:00Z
LONG = "Support must be able to refund a part of a payment. Never refund more than was paid, whatever was asked for."


def recorded(repository: Path) -> LogReport:
    """Three sessions: with edits and a link made a month later, with a hostile prompt, and without any prompt."""
    for event in (
        an_event("prompt", session="2f6c81d0-aaaa", text=LONG, at="2026-01-31T09:00:00Z"),
        an_event("edit", session="2f6c81d0-aaaa", path="a.py", at="2026-01-31T09:48:00Z"),
        an_event("edit", session="2f6c81d0-aaaa", path="b.py", at="2026-01-31T09:47:00Z"),
        an_event("link", session="2f6c81d0-aaaa", at="2026-02-28T09:00:00Z"),
        an_event("prompt", session="2f6c81d0-bbbb", text="why \x1b[2J is\n\tit slow", at="2026-01-31T10:00:00Z"),
        an_event("call", session="e04c", agent="dr\u202eone", at="2026-01-12T10:00:00Z"),
    ):
        spool_of(repository).put(event)
    return list_session_log(Workspace(repository), limit=5, with_prompts=True)


def listed(repository: Path, screen: Screen, search: SessionSearch | None = None) -> list[str]:
    report = recorded(repository)
    ids = shorten_session_ids(Workspace(repository), [session.session for session in report.sessions])
    lines = render_session_list(report, ids, search or SessionSearch(limit=5), screen, NOON_NS)
    return [screen.render(line) for line in lines]


def test_a_wide_terminal_shows_a_row_for_each_session(repository: Path) -> None:
    assert listed(repository, Screen(columns=120, rows=24, is_terminal=True)) == [
        "SESSION     LAST ACTIVE  AGENT        FIRST PROMPT" + " " * 54 + "TIME       FILES",
        "2f6c81d0-b  2 hours ago  robot        why \\x1b[2J is it slow" + " " * 44 + "1 min   no edits",
        f"2f6c81d0-a  2 hours ago  robot        {LONG[:63]}…  48 min   2 files",
        "e04c        2026-01-12   dr\\u202eone  (no prompt recorded)" + " " * 46 + "1 min   no edits",
        "",
        "3 sessions. hint: custody log 2f6c81d0-b shows one, --grep TEXT searches prompts",
    ]


def test_a_narrow_terminal_shows_two_lines_for_each_session(repository: Path) -> None:
    assert listed(repository, Screen(columns=80, rows=24, is_terminal=True)) == [
        "2f6c81d0-b  why \\x1b[2J is it slow",
        "            robot · 2 hours ago · 1 min · no edits",
        f"2f6c81d0-a  {LONG[:67]}…",
        "            robot · 2 hours ago · 48 min · 2 files",
        "e04c        (no prompt recorded)",
        "            dr\\u202eone · 2026-01-12 · 1 min · no edits",
        "",
        "3 sessions. hint: custody log 2f6c81d0-b shows one, --grep TEXT searches prompts",
    ]


def test_only_sessions_without_a_live_record_are_marked_as_imported(repository: Path) -> None:
    recorded(repository)
    for session, agent in (("e04c", "dr\u202eone"), ("old", "robot")):
        line = {"custody": 1, "kind": "transcript", "id": session, "agent": agent, "session": session, "payload": {}}
        spool_of(repository).put(json.dumps(line | {"at": "2026-01-11T10:00:00Z"}).encode())
    spool_of(repository).put(an_event("link", session="old", at="2026-01-11T11:00:00Z"))
    for columns in (20, 80, 120):
        lines = listed(repository, Screen(columns=columns, rows=24, is_terminal=True))
        assert max(map(text_columns, lines)) <= columns
        text = "\n".join(lines)
        assert text.count("imported") == 1
        assert text.index("old ") < text.index("imported")
    (row,) = [line for line in listed(repository, Screen()) if line.startswith("old ")]
    assert row.endswith("  no edits  imported")
    report = json.loads(custody(repository, "log", "--json").out)
    assert {line["session"] for line in report["sessions"] if line["imported"]} == {"old"}


def test_twenty_columns_still_show_agent_and_date(repository: Path) -> None:
    lines = listed(repository, Screen(columns=20, rows=24, is_terminal=True))
    assert lines[:4] == ["2f6c81d0-b  why \\x1…", "  robot", "  2 hours ago", "  1 min · no edits"]
    assert lines[8:12] == ["e04c        (no pro…", "  dr\\u202eone", "  2026-01-12", "  1 min · no edits"]


@pytest.fixture
def busy(repository: Path) -> Workspace:
    """Return a repository with a session over midnight in New York, with long names."""
    for event in (
        an_event("prompt", session="2f6c81d0-aaaa", text=LONG + LONG, at="2026-01-31T04:00:00.123456789Z"),
        an_event("call", session="2f6c81d0-aaaa", name="n" * 200, at="2026-01-31T05:30:00.5Z"),
    ):
        spool_of(repository).put(event)
    return Workspace(repository)


@pytest.fixture
def _new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_session_and_records_fit_the_terminal(busy: Workspace, columns: int) -> None:
    screen = Screen(columns=columns, rows=24, is_terminal=True)
    session = render_session_log(show_session_log(busy, "2f6c"), screen, tree=False)
    records = render_record_list(list_newest_records(busy, limit=9, kind=None), screen)
    shown = [screen.render(part) for line in (*session, *records) for part in screen.wrap(line)]
    assert len(shown) > 5
    assert max(map(text_columns, shown)) <= columns


@pytest.mark.usefixtures("_new_york")
def test_times_are_the_readers_and_a_new_day_has_its_date(busy: Workspace) -> None:
    lines = list(render_session_log(show_session_log(busy, "2f6c"), Screen(), tree=False))
    assert lines[0] == "2026-01-30 23:00  robot  2f6c81d0-aaaa"
    assert lines[2] == f"23:00:00  > {LONG[:99]}…"
    assert lines[3:] == ["2026-01-31", "00:30:00    " + "n" * 200]
    newest, oldest = render_record_list(list_newest_records(busy, limit=9, kind=None), Screen())
    assert str(newest).split()[1:3] == ["2026-01-31", "00:30"]
    assert str(oldest).split()[1:3] == ["2026-01-30", "23:00"]


def test_agents_and_hints_are_colored_on_a_terminal_that_can(repository: Path) -> None:
    lines = listed(repository, Screen(columns=80, rows=24, is_terminal=True, has_color=True))
    assert lines[1] == " " * 12 + "\x1b[35mrobot\x1b[0m\x1b[2m · 2 hours ago · 1 min · no edits\x1b[0m"
    assert lines[4] == "e04c        \x1b[2m(no prompt recorded)\x1b[0m"
    assert lines[-1].startswith("3 sessions. \x1b[2mhint: ")
    wide = listed(repository, Screen(columns=120, rows=24, is_terminal=True, has_color=True))
    assert wide[0].startswith("\x1b[2mSESSION\x1b[0m     \x1b[2mLAST ACTIVE\x1b[0m")
    assert "\x1b[35mrobot\x1b[0m        why \\x1b[2J" in wide[1]


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(repository: Path, columns: int) -> None:
    assert max(map(text_columns, listed(repository, Screen(columns=columns, is_terminal=True)))) <= columns


def test_piped_output_is_whole_and_a_long_prompt_moves_no_other_row(repository: Path) -> None:
    lines = listed(repository, Screen())
    assert lines[2] == f"2f6c81d0-a  2 hours ago  robot        {LONG}  48 min   2 files"
    assert len(lines[1]) <= 120


def test_a_pasted_plan_fills_no_screen_of_piped_output(repository: Path) -> None:
    record_prompt(repository, "plan " * 2_000)
    row = custody(repository, "log").out.splitlines()[1]
    assert "plan plan…" in row
    assert len(row) < 300
    (session,) = json.loads(custody(repository, "log", "--json").out)["sessions"]
    assert session["prompt"] == "plan " * 2_000


def record_prompt(repository: Path, text: str) -> None:
    event = a_hook_event("UserPromptSubmit", repository, prompt=text, prompt_id="p1")
    assert custody(repository, "record", "--agent", "claude-code", stdin=json.dumps(event)).status == 0


def test_every_listed_id_shows_its_session(repository: Path) -> None:
    recorded(repository)
    ids = [line.split()[0] for line in custody(repository, "log").out.splitlines()[1:-2]]
    assert ids == ["2f6c81d0-b", "2f6c81d0-a", "e04c"]
    assert [custody(repository, "log", id_).status for id_ in ids] == [0, 0, 0]


def test_the_last_line_says_how_to_see_more(repository: Path) -> None:
    recorded(repository)
    assert custody(repository, "log", "-n", "2").out.splitlines()[-1] == (
        "2 of 3 sessions. hint: -n 8 for more, --grep TEXT searches prompts"
    )


def test_prompts_are_searched_in_any_case(repository: Path) -> None:
    recorded(repository)
    assert [line[:10] for line in custody(repository, "log", "--grep", "NEVER refund").out.splitlines()] == [
        *("SESSION   ", "2f6c81d0-a", "", "1 matching")
    ]
    assert [line[:10] for line in custody(repository, "log", "--grep", "is it").out.splitlines()][1] == "2f6c81d0-b"
    report = json.loads(custody(repository, "log", "--grep", "SLOW", "--json").out)
    assert ([session["session"] for session in report["sessions"]], report["total"]) == (["2f6c81d0-bbbb"], 1)
    assert report["agents"] == [{"agent": "robot", "last": "2026-01-31T10:00:00Z", "sessions": 1}]
    none = custody(repository, "log", "--grep", "no such \x1b text")
    assert (none.status, none.out) == (0, "no session has a prompt with 'no such \\x1b text'\n")
    assert custody(repository, "log", "--grep", "slow", "--agent", "robot").out.count("2f6c81d0") == 2
    assert custody(repository, "log", "--grep", "slow", "--by-agent").out == (
        "robot       1 session   last 2026-01-31 10:00\n"
    )
    assert "cannot search prompts for an empty text" in custody(repository, "log", "--grep", " ").err
    both = custody(repository, "log", "2f6c81d0-b", "--grep", "slow")
    assert (both.status, both.out) == (2, "")
    assert "--grep and SESSION are mutually exclusive" in both.err


def test_json_has_the_first_prompt_and_the_time_of_the_last_message(repository: Path) -> None:
    recorded(repository)
    spool_of(repository).put(an_event("prompt", id="2", session="e04c", agent="late", text="bye"))
    sessions = json.loads(custody(repository, "log", "--json").out)["sessions"]
    by_agent = {(session["agent"], session["session"]): session for session in sessions}
    linked = by_agent["robot", "2f6c81d0-aaaa"]
    assert (linked["prompt"], linked["started"], linked["ended"]) == (
        LONG,
        "2026-01-31T09:00:00Z",
        "2026-01-31T09:48:00Z",
    )
    assert linked["last"] == "2026-02-28T09:00:00Z"
    assert by_agent["dr\u202eone", "e04c"]["prompt"] is None
    assert by_agent["late", "e04c"]["prompt"] == "bye"


def test_an_erased_prompt_is_null_and_not_found(repository: Path) -> None:
    spool_of(repository).put(an_event("prompt", text="a customer's name"))
    assert custody(repository, "log", "--grep", "customer").out.count("a customer's name") == 1
    digest = json.loads(custody(repository, "show", "1", "--json").out)["records"][0]["number"]
    assert custody(repository, "erase", str(digest), "--reason", "a name", "--yes").status == 0
    assert custody(repository, "log", "--grep", "customer").out.startswith("no session has a prompt with")
    for session in json.loads(custody(repository, "log", "--json").out)["sessions"]:
        assert session["prompt"] is None


def test_one_session_in_order_and_as_a_tree(repository: Path) -> None:
    lines = custody(worked(repository), "log", SESSION[:8], "--tree").out.splitlines()
    assert lines[1] == "  m-1, 1 prompt, 2 calls, 1 file"
    assert lines[2] == "  changed a.py"
    assert lines[3].endswith("  > please fix it")
    assert lines[4].endswith("    Edit  a.py")
    assert lines[5].strip() == "subagent sub-1"
    assert lines[6].endswith(" !    Grep")
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
    assert "is ambiguous" in custody(repository, "log", "one").err
    assert custody(repository, "log", "one-1").status == 0
    assert custody(repository, "log", "two").status == 2


def test_an_ambiguous_session_names_three_by_their_first_digits(repository: Path) -> None:
    for n in range(5):
        spool_of(repository).put(an_event("prompt", session=f"5d2f{n}c3e-0000-4000-8000-000000000000"))
    ran = custody(repository, "log", "5d2f")
    first, second = ran.err.splitlines()
    assert first.startswith("error: '5d2f' is ambiguous: robot 5d2f")
    assert first.endswith(" and 2 more") and first.count("robot") == 3 and "-0000" not in first
    assert second == "hint: pass more of the id"


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
    assert "is ambiguous: one same, two same" in ran.err
    assert "hint: pass --agent" in ran.err
    assert "second?" in custody(repository, "log", "same", "--agent", "two").out
    assert "unknown session 'same' of the agent 'three'" in custody(repository, "log", "same", "--agent", "three").err
    rows = custody(repository, "log", "--agent", "one").out.splitlines()
    assert rows[1].split() == ["same", "2026-01-31", "one", "first?", "1", "min", "no", "edits"]
    sessions = json.loads(custody(repository, "log", "--json").out)["sessions"]
    assert [(session["prompts"], session["calls"]) for session in sessions] == [(1, 1), (1, 1)]
    assert [session["prompt"] for session in sessions] == ["first?", "second?"]


def test_agents_are_counted_with_their_sessions(repository: Path) -> None:
    assert custody(repository, "log", "--by-agent").out == "no session has been recorded here yet\n"
    for session in ("s1", "s2"):
        spool_of(repository).put(an_event("prompt", session=session, agent="robot"))
    spool_of(repository).put(an_event("prompt", session="s3", agent="drone", at="2026-01-30T12:00:00Z"))
    assert custody(repository, "log", "--by-agent").out.splitlines() == [
        "drone       1 session   last 2026-01-30 12:00",
        "robot       2 sessions  last 2026-01-31 12:00",
    ]
    assert custody(repository, "log", "s1", "--by-agent").status == 2
    assert custody(repository, "log", "--by-agent", "--agent", "drone").out.split()[0] == "drone"
    assert len(custody(repository, "log", "--by-agent", "--agent", "drone").out.splitlines()) == 1
    assert custody(repository, "log", "--agent", "codex").out == "no session of codex has been recorded here yet\n"
    ran = custody(repository, "log", "--agent", "dron")
    assert ran.status == 2
    assert "unknown agent 'dron'\nhint: known agents: aider, claude-code, cline, codex, copilot, cursor, dr" in ran.err
