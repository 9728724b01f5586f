"""Codex's work from end to end: real repositories, rollouts and hooks as Codex writes them, and each line's author."""

import json
import time
from pathlib import Path
from typing import Any, TypeVar

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.paths import RepoPath
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import CallStatus, CommitLink, FileEdit, Prompt, Session, ToolCall, View
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.ledger.sessions import show_session_log
from custody.workspace.workspace import Workspace
from tests.builders import transcripts
from tests.builders.codex import (
    MODEL,
    THREAD,
    TURN,
    Rollout,
    a_codex_event,
    a_codex_patch,
    a_rollout,
    added,
    patch_text,
    run_codex_hook,
    unified,
    updated,
)
from tests.builders.hooks import an_edit, installed, run_hook
from tests.builders.repo import Built, a_repository

V = TypeVar("V", bound=View)
OLD = "import alpha_module\nprice = read_price(source)\nprint_the_price(price)\n"
NEW = OLD + "def discount(prices, percent):\n    return total(prices) * percent\n"
PATCH = patch_text(updated("src/app.py", OLD, NEW))
EARLIER = "019a0000-0000-7000-8000-00000000000e"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": OLD.encode(), b"README.md": b"read me\n"})
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path / "codex" / "sessions"


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["codex"], place)


def views(built: Built, kind: type[V]) -> list[V]:
    with Workspace(built.path).reading() as store:
        return [seen.view for seen in store.views.look_up(kind, "1 = 1", ())]


def answers(built: Built) -> list[tuple[Any, ...]]:
    """Return the author of each line range of the file, and the evidence for it."""
    found = blame(Workspace(built.path), "src/app.py").report.attributions
    return [(one.start_line, one.end_line, one.kind, one.agent, one.tier, one.grade, one.session_id) for one in found]


def changes(built: Built) -> dict[str, Any]:
    return {f"{built.path}/src/app.py": {"type": "update", "unified_diff": unified(OLD, NEW), "move_path": None}}


def wrote(built: Built, text: str = NEW) -> None:
    (built.path / "src" / "app.py").write_text(text, encoding="utf-8")


def as_claude_code_is(tmp_path: Path, *, hooked: bool) -> list[tuple[Any, ...]]:
    """Return tier and grade of each line range if Claude Code makes the same edit."""
    other = a_repository(tmp_path / "other")
    other.commit({b"src/app.py": OLD.encode(), b"README.md": b"read me\n"})
    other.checkout()
    last = OLD.splitlines()[-1]
    new = NEW[NEW.index(last) :].rstrip("\n")
    if hooked:
        run_hook(installed(other.path), an_edit(other.path, "src/app.py", OLD, last, new))
    else:
        session = transcripts.a_transcript(THREAD, other.path, at=format_timestamp(time.time_ns()))
        session.prompt("go").edit("src/app.py", OLD, last, new).put(tmp_path / "claude")
        import_transcripts(Workspace(other.path), TRANSCRIPT_READERS["claude-code"], tmp_path / "claude")
    wrote(other)
    return [(one[:3], one[4:6]) for one in answers(other)]


# --- authors ----------------------------------------------------------------------------------------------------------


def hooked(built: Built, call: str = "call_01") -> None:
    installed(built.path)
    run_codex_hook(built.path, a_codex_event("SessionStart", built.path, source="startup"))
    run_codex_hook(built.path, a_codex_event("UserPromptSubmit", built.path, prompt="add a discount"))
    run_codex_hook(built.path, a_codex_patch("PreToolUse", built.path, PATCH, call))
    wrote(built)
    run_codex_hook(built.path, a_codex_patch("PostToolUse", built.path, PATCH, call))


def a_session(built: Built, told: dict[str, Any] | None = None, **fields: Any) -> Rollout:
    made = a_rollout(built.path, at=format_timestamp(time.time_ns()), **fields).prompt("add a discount")
    return made.patch(PATCH, told)


def test_lines_recorded_by_a_hook_are_codexs_with_the_same_evidence_as_claude_codes(
    built: Built, tmp_path: Path
) -> None:
    hooked(built)
    none, agent = answers(built)
    assert (none[:3], agent[:4], agent[6]) == ((1, 3, "none"), (4, 5, "agent", "codex"), THREAD)
    assert [(one[:3], one[4:6]) for one in (none, agent)] == as_claude_code_is(tmp_path, hooked=True)
    assert agent[5] == "recorded"


def test_a_patch_without_a_snapshot_is_read_from_its_text(built: Built) -> None:
    run_codex_hook(installed(built.path), a_codex_patch("PostToolUse", built.path, PATCH))
    wrote(built)
    assert [one[:4] for one in answers(built)] == [(1, 3, "none", None), (4, 5, "agent", "codex")]


@pytest.mark.parametrize("paginated", [False, True])
@pytest.mark.parametrize("told", [False, True])
def test_lines_of_a_rollout_are_codexs(built: Built, home: Path, tmp_path: Path, told: bool, paginated: bool) -> None:
    a_session(built, changes(built) if told else None, paginated=paginated).put(home)
    report = imported(built)
    wrote(built)
    none, agent = answers(built)
    assert (none[:3], agent[:4], agent[6]) == ((1, 3, "none"), (4, 5, "agent", "codex"), THREAD)
    assert [(one[:3], one[4:6]) for one in (none, agent)] == as_claude_code_is(tmp_path, hooked=False)
    assert (report.sessions, report.calls, report.edits, report.edits_without_file) == (1, 1, 1, 0)
    assert (report.unknown_types, report.problems, report.versions) == ({}, [], ["0.146.0"])


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("captured", [True, False])
def test_a_block_moved_by_a_patch_keeps_its_author(built: Built, home: Path, *, down: bool, captured: bool) -> None:
    block = [f"def checked_{n}(order): return order.checked_by({n})" for n in range(5)]
    rest = [f"the_rest_of_the_module_{n} = settings[{n}]" for n in range(20)]
    old, new = ([*block, *rest], [*rest, *block]) if down else ([*rest, *block], [*block, *rest])
    new.insert(12, "def brought(order): return order.brought_by_the_agent")
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    now = time.time_ns()
    if captured:  # the lines belong to an earlier session with a known text
        earlier = a_rollout(built.path, thread=EARLIER, at=format_timestamp(now - 60 * 10**9))
        earlier.patch(patch_text(added("src/app.py", before))).put(home)
    else:
        built.commit({b"src/app.py": before.encode()}, built.head())
        built.checkout()
    a_rollout(built.path, at=format_timestamp(now)).patch(patch_text(updated("src/app.py", before, after))).put(home)
    imported(built)
    wrote(built, after)
    whose = [one[6] for one in answers(built) for _ in range(one[0], one[1] + 1)]
    wrote_before = EARLIER if captured else None
    assert whose == [THREAD if n == 12 else wrote_before for n in range(26)]


def test_a_rollout_of_what_a_hook_recorded_changes_neither_the_answer_nor_the_count(built: Built, home: Path) -> None:
    session = a_session(built, changes(built))
    hooked(built, session.lines[-1]["payload"]["call_id"])
    before = answers(built)
    session.put(home)
    imported(built)
    assert answers(built) == before
    assert len(merge_call_views(views(built, ToolCall))) == 1
    told = show_session_log(Workspace(built.path), THREAD)
    assert len(told.prompts) == 1


def test_a_shell_command_recorded_by_a_hook_is_codexs(built: Built) -> None:
    installed(built.path)
    said = {"tool_name": "Bash", "tool_use_id": "call_02", "tool_input": {"command": "python fix.py"}}
    run_codex_hook(built.path, a_codex_event("PreToolUse", built.path, **said))
    wrote(built)
    run_codex_hook(built.path, a_codex_event("PostToolUse", built.path, **said, tool_response="done"))
    assert [one[:4] for one in answers(built)] == [(1, 3, "none", None), (4, 5, "agent", "codex")]


# --- content of a rollout ---------------------------------------------------------------------------------------------


def test_a_session_its_prompt_its_calls_and_its_edits(built: Built, home: Path) -> None:
    a_session(built, changes(built)).says("done").put(home)
    imported(built)
    session = merge_session_views(views(built, Session))
    assert session is not None and (session.id, session.model, session.worktree) == (THREAD, MODEL, str(built.path))
    (prompt,) = views(built, Prompt)
    assert (prompt.id, prompt.text.content) == (TURN, "add a discount")
    (call,) = merge_call_views(views(built, ToolCall))
    assert (call.name, call.status, call.model, call.prompt) == ("apply_patch", CallStatus.OK, MODEL, TURN)
    assert call.ended_ns is not None and call.ended_ns > call.started_ns
    (edit,) = views(built, FileEdit)
    assert (edit.path, edit.call, edit.part) == (RepoPath(b"src/app.py"), call.id, True)


def test_a_second_import_changes_nothing_and_a_grown_rollout_adds_its_new_lines(built: Built, home: Path) -> None:
    session = a_session(built)
    session.put(home)
    first, second = imported(built), imported(built)
    assert (second.new, second.known) == (0, first.new)
    session.shell("ls", "src").put(home)
    assert imported(built).new == 2


def test_lines_repeated_by_a_fork_count_once_for_their_own_session(built: Built, home: Path) -> None:
    first = a_session(built, changes(built))
    fork = first.forked("0199a213-81c0-7800-8aa1-aaaaaaaaaaaa").prompt("go on").shell("ls", "src")
    # The first session continued after the fork: its file changed last.
    fork.put(home)
    first.wait(500).shell("pwd", "/").put(home)
    report = imported(built)
    calls = {call.id: call.session for call in merge_call_views(views(built, ToolCall))}
    assert sorted(calls.values()) == sorted([THREAD, THREAD, fork.thread])
    assert {(prompt.session, prompt.text.content) for prompt in views(built, Prompt)} == {
        (THREAD, "add a discount"),
        (fork.thread, "go on"),
    }
    assert len(views(built, FileEdit)) == 1
    assert report.repeated > 0


def test_only_sessions_of_this_repository_are_imported(built: Built, home: Path, tmp_path: Path) -> None:
    a_session(built).put(home)
    a_rollout(tmp_path / "repository-beside", thread="0199a213-81c0-7800-8aa1-000000000000").prompt("no").put(home)
    old = Rollout(built.path, thread="0199a213-81c0-7800-8aa1-111111111111", enveloped=False).begun().prompt("old one")
    old.put(home)
    report = imported(built)
    assert (report.files, report.sessions) == (2, 2)
    assert {prompt.text.content for prompt in views(built, Prompt)} == {"add a discount", "old one"}


def test_a_commit_that_a_command_made_is_linked(built: Built, home: Path) -> None:
    head = built.commit({b"src/app.py": NEW.encode()})
    session = a_rollout(built.path).shell("git commit -am fix", f"[main {head[:7]}] fix\n 1 file changed\n")
    session.shell("git log --oneline", f"[main {head[:8]}] no commit of ours\n").put(home)
    imported(built)
    assert [(link.session, link.commit) for link in views(built, CommitLink)] == [(THREAD, head)]


def test_a_subagents_calls_know_who_started_it(built: Built, home: Path) -> None:
    parent, child = a_rollout(built.path), "0199a213-81c0-7800-8aa1-cccccccccccc"
    call = parent.name("call")
    parent.response("function_call", name="spawn_agent", arguments='{"message":"look"}', call_id=call)
    parent.response("function_call_output", call_id=call, output=json.dumps({"agent_id": child, "nickname": "Ada"}))
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1, "agent_role": "explorer"}}}
    agent = Rollout(built.path, thread=child).begun(session_id=THREAD, source=source, parent_thread_id=THREAD)
    agent.prompt("look").shell("ls", "src")
    parent.put(home)
    agent.put(home)
    report = imported(built)
    found = [one for one in merge_call_views(views(built, ToolCall)) if one.subagent is not None]
    assert [(one.session, one.subagent, one.parent, one.name) for one in found] == [(THREAD, child, call, "Bash")]
    assert (views(built, Prompt), report.subagents, report.subagents_unattached) == ([], 1, 0)


def test_secrets_are_redacted_before_anything_is_written(built: Built, home: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    a_rollout(built.path).patch(patch_text(added("src/new.py", f'token = "{secret}"\n'))).put(home)
    imported(built)
    with Workspace(built.path).reading() as store:
        kept = [(body.data or b"") for body in store.tables.bodies(list(store.tables.body_digests())).values()]
    assert secret.encode() not in b"".join(kept)
    (edit,) = views(built, FileEdit)
    assert edit.after is not None and "[redacted:" in (edit.after.content or "")


def test_unreadable_parts_are_reported_and_the_rest_is_used(built: Built, home: Path) -> None:
    session = a_session(built).line("holograms", {"x": 1}).event("sang", what="a song").response("dance")
    file = session.put(home)
    with file.open("ab") as end:
        end.write(b'{"timestamp":"2026-01-31T12:00:00Z","type":"response_item","payload":{"type":"custom_to')
    (file.parent / f"{file.name[:-6].replace(THREAD, 'packed')}.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd nonsense")
    report = imported(built)
    assert report.unknown_types == {"dance": 1, "holograms": 1, "sang": 1}
    assert len(views(built, FileEdit)) == 1
    cut, packed = sorted(report.problems, key=lambda problem: problem.line is None)
    assert cut.what.startswith("cut off: ") and cut.line == len(session.lines) + 1
    assert "compressed" in packed.what


def test_a_rollout_and_a_folder_of_rollouts_are_recognized_by_content(built: Built, home: Path) -> None:
    file = a_session(built).put(home)
    assert [detect_import_kind(path) for path in (Path("codex"), file, home)] == [
        (ImportKind.AGENT, TRANSCRIPT_READERS["codex"]),
        (ImportKind.TRANSCRIPTS, TRANSCRIPT_READERS["codex"]),
        (ImportKind.TRANSCRIPTS, TRANSCRIPT_READERS["codex"]),
    ]
