"""Transcripts become records: every line once, paths relative to the repository, secrets redacted."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.capture import line_reader as lines
from custody.core.paths import RepoPath
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import (
    CallStatus,
    CommitLink,
    FileEdit,
    Prompt,
    PullRequestFact,
    Reading,
    Session,
    SourceAccess,
    ToolCall,
    View,
)
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.ledger.sessions import list_session_log, show_session_log
from custody.store import Store
from custody.workspace.workspace import Progress, Workspace
from tests.builders.hooks import a_hook_event, an_edit, installed, run_hook
from tests.builders.repo import Built, a_repository, a_worktree
from tests.builders.transcripts import Transcript, a_transcript, many_transcripts, project_name

V = TypeVar("V", bound=View)
S = "5d2f0c3e-1111-4222-8333-444455556666"
SHELL = "cd src && cat > made.py <<'EOF'\nprint(1)\nEOF\npytest"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": b"one\n", b"README.md": b"read me\n"})
    made.checkout()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "transcripts"


def imported(built: Built, place: Path | None, **more: Any) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path, **more), TRANSCRIPT_READERS["claude-code"], place)


def views(built: Built, kind: type[V]) -> list[V]:
    with Workspace(built.path).reading() as store:
        return [seen.view for seen in store.views.look_up(kind, "1 = 1", ())]


def records(built: Built) -> int:
    with Workspace(built.path).reading() as store:
        return store.tables.record_count()


def bodies(store: Store) -> str:
    digests = list(store.tables.body_digests())
    return "\n".join((body.data or b"").decode("utf-8", "replace") for body in store.tables.bodies(digests).values())


def a_session(built: Built, session: str = S) -> Transcript:
    return a_transcript(session, built.path).prompt("make it two")


# --- what a session says ----------------------------------------------------------------------------------------------


def test_a_session_its_prompt_its_calls_and_its_edits(built: Built, folder: Path) -> None:
    a_session(built).says("sure").edit("src/app.py", "one\n", "one", "two").put(folder)
    report = imported(built, folder)
    session = merge_session_views(views(built, Session))
    assert session is not None and (session.id, session.model, session.ended_ns) == (S, "claude-opus-4-6", None)
    (prompt,) = views(built, Prompt)
    assert prompt.text.content == "make it two"
    (call,) = merge_call_views(views(built, ToolCall))
    assert (call.name, call.status, call.model) == ("Edit", CallStatus.OK, "claude-opus-4-6")
    assert call.ended_ns is not None and call.ended_ns > call.started_ns
    (edit,) = views(built, FileEdit)
    assert (edit.path, edit.id, edit.part) == (RepoPath(b"src/app.py"), call.id, False)
    assert edit.before is not None and edit.after is not None
    assert (edit.before.content, edit.after.content) == ("one\n", "two\n")
    assert (report.sessions, report.calls, report.edits, report.edits_without_file, report.problem_count) == (
        *(1, 1, 1),
        *(0, 0),
    )


def test_a_second_import_changes_nothing(built: Built, folder: Path) -> None:
    a_session(built).edit("src/app.py", "one\n", "one", "two").put(folder)
    first, count = imported(built, folder), records(built)
    second = imported(built, folder)
    assert (first.new, second.new, second.known, records(built)) == (count, 0, count, count)


def test_a_transcript_that_grew_brings_its_new_lines(built: Built, folder: Path) -> None:
    session = a_session(built)
    session.put(folder)
    imported(built, folder)
    session.edit("src/app.py", "one\n", "one", "two").put(folder)
    report = imported(built, folder)
    assert (report.known, report.new) == (1, 2)
    assert len(views(built, FileEdit)) == 1


class Killed(Exception):
    """Simulates a kill."""


def test_an_import_that_was_killed_goes_on(built: Built, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = a_session(built)
    for n in range(40):
        session.edit("src/app.py", f"{n}\n", f"{n}", f"{n + 1}")
    session.put(folder)
    monkeypatch.setattr("custody.intake.import_transcripts.BATCH_RECORDS", 7)
    append = Store.append
    calls = iter(range(100))

    def dying(store: Store, *arguments: Any, **more: Any) -> Any:
        if next(calls) == 5:
            raise Killed
        return append(store, *arguments, **more)

    monkeypatch.setattr(Store, "append", dying)
    with pytest.raises(Killed):
        imported(built, folder)
    assert records(built) == 35
    report = imported(built, folder)
    assert (report.new, report.known, records(built)) == (46, 35, 81)
    assert len(views(built, FileEdit)) == 40


def test_hooks_and_transcripts_of_the_same_call_are_one(built: Built, folder: Path) -> None:
    run_hook(
        installed(built.path),
        an_edit(built.path, "src/app.py", "one\n", "one", "two", call="toolu_5d2f0c3e_main_000001"),
    )
    a_session(built).edit("src/app.py", "one\n", "one", "two").put(folder)
    imported(built, folder)
    assert len(views(built, FileEdit)) == 2
    assert len({(edit.agent, edit.session, edit.id) for edit in views(built, FileEdit)}) == 1
    assert len(merge_call_views(views(built, ToolCall))) == 1


def test_what_a_person_changed_in_several_edits_of_one_call_is_not_the_agents(built: Built, folder: Path) -> None:
    session = a_session(built)
    named, told = session.named("src/app.py"), {"originalFileContents": "one\n", "structuredPatch": []}
    own, applied = ([{"old_string": "one", "new_string": new}] for new in ("two", "three"))
    response = {"filePath": named, "edits": applied, "userModified": True, **told}
    session.call("MultiEdit", {"file_path": named, "edits": own}, response).put(folder)
    imported(built, folder)
    (edit,) = views(built, FileEdit)
    assert edit.after is not None and edit.proposed is not None
    assert (edit.proposed.content, edit.after.content) == ("two\n", "three\n")


def test_a_transcript_of_what_a_hook_recorded_changes_neither_the_answer_nor_the_count(
    built: Built, folder: Path
) -> None:
    session = a_transcript(S, built.path, at=format_timestamp(time.time_ns())).prompt("make it two")
    session.edit("src/app.py", "one\n", "one", "two_of_them()").put(folder)
    run_hook(installed(built.path), a_hook_event("UserPromptSubmit", built.path, prompt="make it two"))
    run_hook(
        built.path, an_edit(built.path, "src/app.py", "one\n", "one", "two_of_them()", call=session.last_call or "")
    )
    (built.path / "src" / "app.py").write_text("two_of_them()\n", encoding="utf-8")
    hooked = blame(Workspace(built.path), "src/app.py").report.attributions
    imported(built, folder)
    both = blame(Workspace(built.path), "src/app.py").report.attributions
    assert [(one.kind, one.tier, one.grade, one.signals) for one in both] == [
        (one.kind, one.tier, one.grade, one.signals) for one in hooked
    ]
    assert (both[0].grade, list_session_log(Workspace(built.path), limit=1).sessions[0].prompts) == ("recorded", 1)
    assert len(show_session_log(Workspace(built.path), S).prompts) == 1


def test_a_call_that_failed_edits_nothing(built: Built, folder: Path) -> None:
    a_session(built).edit("src/app.py", "one\n", "one", "two", failed=True).put(folder)
    imported(built, folder)
    assert views(built, FileEdit) == []
    assert merge_call_views(views(built, ToolCall))[0].status is CallStatus.FAILED


@pytest.mark.parametrize(
    "words", ["Error: string to replace not found", "<tool_use_error>not read yet</tool_use_error>"]
)
def test_an_edit_whose_words_say_that_it_was_not_made_edits_nothing(built: Built, folder: Path, words: str) -> None:
    session = a_session(built)
    given = {"file_path": session.named("src/app.py"), "old_string": "one", "new_string": "two"}
    session.result(session.use("Edit", given), words, words)
    session.result(session.use("Edit", given), None, [{"type": "text", "text": words}])
    session.put(folder)
    assert imported(built, folder).edits == 0
    assert views(built, FileEdit) == []
    assert {call.status for call in merge_call_views(views(built, ToolCall))} == {CallStatus.FAILED}


def test_without_a_structured_result_the_input_tells_the_edit(built: Built, folder: Path) -> None:
    session = a_session(built)
    session.edit("src/app.py", "one\n", "one", "two", structured=False)
    session.write("src/new.py", None, "new\n", structured=False).put(folder)
    imported(built, folder)
    part, whole = views(built, FileEdit)
    assert part.before is not None and part.after is not None and whole.after is not None
    assert (part.part, part.before.content, part.after.content) == (True, "one", "two")
    assert (whole.part, whole.path, whole.after.content) == (False, RepoPath(b"src/new.py"), "new\n")


def test_several_edits_in_one_call_as_old_versions_made_them(built: Built, folder: Path) -> None:
    a_session(built).multi_edit("src/app.py", "a\nb\n", ("a", "1"), ("b", "2")).put(folder)
    imported(built, folder)
    (edit,) = views(built, FileEdit)
    assert edit.after is not None and edit.after.content == "1\n2\n"


def test_what_a_person_changed_is_known(built: Built, folder: Path) -> None:
    a_session(built).edit("src/app.py", "one\n", "one", "two", applied="2 # mine").put(folder)
    imported(built, folder)
    (edit,) = views(built, FileEdit)
    assert edit.after is not None and edit.proposed is not None
    assert (edit.after.content, edit.proposed.content) == ("2 # mine\n", "two\n")


def test_sources_that_were_read(built: Built, folder: Path) -> None:
    a_session(built).read("src/app.py", "one\n").fetch("https://example.org/a", "a page").put(folder)
    imported(built, folder)
    file, page = views(built, SourceAccess)
    assert (file.reading, file.text and file.text.content) == (Reading.VERBATIM, "one\n")
    assert (page.locator, page.reading) == ("https://example.org/a", Reading.SUMMARISED)


# --- the shell --------------------------------------------------------------------------------------------------------


def test_what_a_command_writes_by_its_own_text(built: Built, folder: Path) -> None:
    session = a_session(built).bash(SHELL).bash("echo 'more' >> src/app.py")
    call = session.last_call
    session.put(folder)
    imported(built, folder)
    whole, more = views(built, FileEdit)
    assert whole.after is not None and more.before is not None and more.after is not None
    assert (whole.path, whole.after.content, whole.part) == (RepoPath(b"src/made.py"), "print(1)\n", False)
    assert (more.id, more.part, more.before.content, more.after.content) == (f"{call}:shell:0", True, "", "more\n")


@pytest.mark.parametrize(
    ("said", "edits"),
    [
        ("Exit code 1\n1 failed", 1),
        ("The user doesn't want to proceed", 0),
        ("Exit code 1\nNo such file or directory", 0),
    ],
)
def test_a_command_that_failed_later_wrote_all_the_same(built: Built, folder: Path, said: str, edits: int) -> None:
    a_session(built).bash(SHELL, said, failed=True).put(folder)
    imported(built, folder)
    assert len(views(built, FileEdit)) == edits


def test_a_command_is_read_in_the_folder_where_it_began(built: Built, folder: Path) -> None:
    session = a_session(built).bash(SHELL)
    session.lines[-1]["cwd"] = str(built.path / "src")
    session.put(folder)
    imported(built, folder)
    assert views(built, FileEdit)[0].path == RepoPath(b"src/made.py")


# --- commits and pull requests ----------------------------------------------------------------------------------------


def test_a_commit_is_linked_whole_or_abbreviated(built: Built, folder: Path) -> None:
    head = built.head()
    for n, sha in enumerate((head, head[:8], "0123456")):
        git = {"commit": {"sha": sha, "kind": "committed"}, "pr": {"number": 3, "action": "created"}}
        a_session(built, f"s{n}").bash("git commit -m x", git=git).put(folder)
    report = imported(built, folder)
    assert [(link.session, link.commit) for link in views(built, CommitLink)] == [("s0", head), ("s1", head)]
    assert [problem.what for problem in report.problems] == ["commit '0123456' is not in this repository"]
    assert len(views(built, PullRequestFact)) == 3


def test_a_link_to_a_pull_request(built: Built, folder: Path) -> None:
    session = a_session(built)
    link = {"type": "pr-link", "prNumber": 7, "prUrl": "https://github.com/o/r/pull/7", "prRepository": "o/r"}
    session.bare(**link, sessionId=S, timestamp=session.at)
    session.bare(type="summary", summary="made it two", leafUuid="x").put(folder)
    assert imported(built, folder).new == 3
    (fact,) = views(built, PullRequestFact)
    assert (fact.session, fact.number, fact.repository) == (S, 7, "o/r")


# --- subagents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["progress", "result", "meta", "unknown"])
def test_calls_of_a_subagent_know_who_started_it(built: Built, folder: Path, way: str) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3").edit("src/app.py", "one\n", "one", "two", structured=False)
    if way == "progress":
        session.progress_of(agent)
    session.subagent_done(agent, linked=way == "result").put(folder)
    parent = session.started_by(agent)
    if way == "meta":
        (folder / S / "subagents" / "agent-a1b2c3.meta.json").write_text(json.dumps({"toolUseId": parent}))
    report = imported(built, folder)
    task, edit = merge_call_views(views(built, ToolCall))
    assert (task.name, task.subagent, task.parent) == ("Task", None, None)
    assert (edit.name, edit.subagent, edit.parent) == ("Edit", "a1b2c3", parent if way != "unknown" else None)
    assert (report.subagents, report.subagents_unattached) == (1, int(way == "unknown"))
    assert [prompt.text.content for prompt in views(built, Prompt)] == ["make it two"]
    assert views(built, FileEdit)[0].part


def only_in_the_parent(session: Transcript, agent: Transcript, folder: Path) -> None:
    """Write the session without a file of the subagent."""
    session.progress_of(agent).subagent_done(agent)
    session.subagents.clear()
    session.put(folder)


def test_a_subagent_without_a_file_has_its_edits_and_ends(built: Built, folder: Path) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3").edit("src/app.py", "one\n", "one", "two", structured=False)
    agent.write("src/new.py", None, "fresh = 1\n", structured=False)
    agent.edit("src/app.py", "two\n", "two", "three", failed=True)
    only_in_the_parent(session, agent, folder)
    report = imported(built, folder)
    _task, *calls = merge_call_views(views(built, ToolCall))
    ends = [(call.name, call.status, call.subagent, call.parent) for call in calls]
    parent = session.started_by(agent)
    assert ends == [
        ("Edit", CallStatus.OK, "a1b2c3", parent),
        ("Write", CallStatus.OK, "a1b2c3", parent),
        ("Edit", CallStatus.FAILED, "a1b2c3", parent),
    ]
    assert all(call.model == "claude-opus-4-6" for call in calls)
    edits = [(edit.path.raw, edit.part, edit.after and edit.after.content) for edit in views(built, FileEdit)]
    assert edits == [(b"src/app.py", True, "two"), (b"src/new.py", False, "fresh = 1\n")]
    assert [call.ended_ns for call in calls] == [parse_timestamp(agent.lines[n]["timestamp"]) for n in (2, 4, 6)]
    assert (report.calls, report.edits, report.subagents, report.subagents_unattached) == (4, 2, 1, 0)


@pytest.mark.parametrize("repeats", [1, 2])
def test_work_in_the_parents_and_the_subagents_file_counts_once(built: Built, folder: Path, repeats: int) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3").edit("src/app.py", "one\n", "one", "two").bash("ls", failed=True)
    agent.edit("/elsewhere/x.py", "a", "a", "b")
    for _ in range(repeats):
        session.progress_of(agent)
    session.subagent_done(agent).put(folder)
    report = imported(built, folder)
    assert (report.calls, report.edits, report.edits_without_file, report.subagents) == (4, 2, 1, 1)
    _task, edit, failed, _ = merge_call_views(views(built, ToolCall))
    assert (edit.status, failed.status) == (CallStatus.OK, CallStatus.FAILED)
    assert edit.ended_ns == parse_timestamp(agent.lines[2]["timestamp"])
    assert len({view.id for view in views(built, FileEdit)}) == 1
    (built.path / "src" / "app.py").write_text("two\n")
    (line,) = blame(Workspace(built.path), "src/app.py").report.attributions
    assert (line.kind, line.tool_call_id) == ("agent", edit.id)


def test_a_part_of_a_subagents_file_is_completed_by_the_parents(built: Built, folder: Path) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3").write("a.py", None, "a = 1\n").write("b.py", None, "b = 1\n")
    session.progress_of(agent).subagent_done(agent)
    del agent.lines[-2:]
    session.put(folder)
    report = imported(built, folder)
    assert (report.calls, report.edits) == (3, 2)
    assert {edit.path.raw for edit in views(built, FileEdit)} == {b"a.py", b"b.py"}


def test_the_task_of_a_subagent_in_the_parents_file_is_not_a_prompt(built: Built, folder: Path) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3", "look around").bash("ls")
    only_in_the_parent(session, agent, folder)
    imported(built, folder)
    assert [prompt.text.content for prompt in views(built, Prompt)] == ["make it two"]


def test_progress_of_an_agent_that_only_sums_up_is_passed_over(built: Built, folder: Path) -> None:
    session = a_session(built)
    only_in_the_parent(session, session.subagent("acompact-12").bash("ls"), folder)
    assert imported(built, folder).subagents == 0


def test_calls_of_the_same_time_keep_their_order(built: Built, folder: Path) -> None:
    session = a_session(built)
    for n, (before, after) in enumerate([("one", "two"), ("two", "three"), ("three", "four")]):
        session.edit("src/app.py", f"{before}\n", before, after)
        for line in session.lines[-2:]:
            line["timestamp"] = "2026-02-01T12:00:00.000Z"
            for block in line["message"]["content"]:
                name = "id" if block["type"] == "tool_use" else "tool_use_id"
                block[name] = f"toolu_{9 - n}"
    session.put(folder)
    imported(built, folder)
    (built.path / "src" / "app.py").write_text("four\n")
    (answer,) = blame(Workspace(built.path), "src/app.py").report.attributions
    assert answer.tool_call_id == "toolu_7"


def test_a_session_begins_with_its_first_message_whatever_the_files_time(built: Built, folder: Path) -> None:
    session = a_transcript(S, built.path).bare(type="summary", summary="made it two", leafUuid="x")
    session.prompt("make it two").put(folder)
    os.utime(folder / f"{S}.jsonl", (1, 1))
    imported(built, folder)
    merged = merge_session_views(views(built, Session))
    assert merged is not None and merged.started_ns == parse_timestamp(session.lines[1]["timestamp"])


def test_a_file_without_any_time_starts_no_session(built: Built, folder: Path) -> None:
    a_transcript(S, built.path).bare(type="summary", summary="made it two", leafUuid="x").put(folder)
    report = imported(built, folder)
    assert (report.new, report.sessions, views(built, Session)) == (0, 0, [])


def test_a_subagent_of_a_subagent(built: Built, folder: Path) -> None:
    session = a_session(built)
    outer = session.subagent("outer", "do it all")
    inner = outer.subagent("inner", "do a part").bash("ls")
    outer.result(outer.started_by(inner), None, [{"type": "text", "text": "done\nagentId: inner (for resuming)"}])
    session.subagent_done(outer)
    session.subagents.append(inner)
    session.put(folder)
    imported(built, folder)
    calls = {call.name: call for call in merge_call_views(views(built, ToolCall)) if call.name != "Task"}
    assert (calls["Bash"].subagent, calls["Bash"].parent) == ("inner", outer.started_by(inner))


def test_older_files_have_subagents_in_them_without_a_name(built: Built, folder: Path) -> None:
    session = a_session(built)
    agent = session.subagent("x", "look around").bash("ls")
    for line in agent.lines:
        session.bare(**{key: item for key, item in line.items() if key != "agentId"})
    session.subagent_done(agent, linked=False)
    session.subagents.clear()
    session.put(folder)
    imported(built, folder)
    bash = next(call for call in merge_call_views(views(built, ToolCall)) if call.name == "Bash")
    assert (bash.subagent, bash.parent) == (agent.lines[0]["uuid"], session.started_by(agent))


def test_an_agent_that_only_sums_up_is_passed_over(built: Built, folder: Path) -> None:
    session = a_session(built)
    session.subagent("acompact-12").says("a summary")
    session.put(folder)
    report = imported(built, folder)
    assert (report.subagents, report.unknown_types) == (0, {})


# --- whose paths ------------------------------------------------------------------------------------------------------


def test_paths_of_another_machine_are_found_by_history(built: Built, folder: Path) -> None:
    session = a_transcript(S, "/home/other/proj")
    session.edit("src/app.py", "one\n", "one", "two").edit("README.md", "read me\n", "me", "us")
    session.edit("/home/other/else/README.md", "x", "x", "y").edit("src/unknown.py", "x", "x", "y").put(folder)
    report = imported(built, folder)
    assert [edit.path.raw for edit in views(built, FileEdit)] == [b"src/app.py", b"README.md"]
    assert (report.edits, report.edits_without_file) == (4, 2)
    assert [problem.what.split("'")[1] for problem in report.problems] == [
        "/home/other/else/README.md",
        "/home/other/proj/src/unknown.py",
    ]


def test_a_linked_work_tree_is_this_repository_too(built: Built, folder: Path, tmp_path: Path) -> None:
    tree = a_worktree(built, tmp_path / "linked")
    a_transcript(S, tree.path).write("deep/new.py", None, "x\n").put(folder)
    imported(built, folder)
    assert views(built, FileEdit)[0].path == RepoPath(b"deep/new.py")


def test_nothing_that_a_transcript_names_is_opened(built: Built, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (built.path / "src" / "secret.py").symlink_to("/proc/self/mem")
    a_session(built).read("/etc/passwd", "x").edit("src/secret.py", "x", "x", "y").put(folder)
    opened: list[str] = []
    real: Callable[..., Any] = os.open

    def noted(path: Any, *rest: Any, **more: Any) -> Any:
        opened.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", noted)
    imported(built, folder)
    assert not [path for path in opened if "secret" in path or "passwd" in path]


# --- which files ------------------------------------------------------------------------------------------------------


def test_by_default_the_projects_of_this_repository_are_read(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    projects = tmp_path / "claude" / "projects"
    root = built.path.resolve()
    for session, cwd in (("s1", root), ("s2", root / "src"), ("s3", f"{root}-other"), ("s4", "/elsewhere")):
        a_transcript(session, cwd).prompt("hello").put(projects / project_name(cwd))
    report = imported(built, None)
    assert (report.files, sorted(prompt.session for prompt in views(built, Prompt))) == (2, ["s1", "s2"])


def test_a_project_of_the_same_name_whose_sessions_began_elsewhere_is_not_read(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    root = built.path.resolve()
    project = tmp_path / "claude" / "projects" / project_name(root)
    alike = str(root).replace("/", ".")
    assert project_name(alike) == project_name(root)
    a_transcript("s1", alike).prompt("of another repository").put(project)
    a_transcript("s2", "").bare(type="summary", summary="says not where", leafUuid="x").put(project)
    assert (imported(built, None).files, views(built, Prompt)) == (1, [])


def test_without_any_transcript_there_is_nothing_to_do(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert imported(built, None).files == 0


def test_a_resumed_session_repeats_lines_and_they_count_once(built: Built, folder: Path) -> None:
    first = a_session(built).edit("src/app.py", "one\n", "one", "two")
    file = first.put(folder)
    os.utime(file, (1, 1))
    again = a_transcript(
        "0000-resumed", built.path, lines=[{**line, "sessionId": "0000-resumed"} for line in first.lines]
    )
    again.prompt("and now three", uuid="new").put(folder)
    report = imported(built, folder)
    assert (report.repeated, len(views(built, FileEdit))) == (3, 1)
    assert {prompt.session for prompt in views(built, Prompt)} == {S, "0000-resumed"}
    assert views(built, FileEdit)[0].session == S


# --- what is odd ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_named_and_the_rest_is_used(
    built: Built, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 5000)
    monkeypatch.setattr("custody.capture.transcripts.LINE_BYTES_MAX", 5000)
    session = a_session(built)
    session.line(type="from-the-future", version="3.0.0")
    session.line(type="user", message={"content": "x"}, timestamp="yesterday")
    session.line(type="user", message={"content": "y"}, sessionId="a\nb")
    file = session.put(folder)
    with file.open("ab") as more:
        more.write(b"[1]\n\xff\xfe\n{bad\n\n" + b"x" * 9000 + b"\n" + session.text().encode()[:100])
    report = imported(built, folder)
    assert [(problem.line, problem.what.split(":")[0]) for problem in report.problems] == [
        (2, "written by version 3.0.0, newer than this reader knows"),
        (3, "invalid timestamp 'yesterday'"),
        (4, "not a valid event"),
        (5, "not a JSON object"),
        (6, "not UTF-8 at byte 0"),
        (7, "not JSON"),
        (9, "a line of 9,001 bytes is over the limit of 5,000"),
        (10, "cut off"),
    ]
    assert (report.unknown_types, report.versions) == ({"from-the-future": 1}, ["2.1.39", "3.0.0"])
    assert [prompt.text.content for prompt in views(built, Prompt)] == ["make it two", "x"]


def test_a_line_without_a_uuid_is_known_by_its_bytes(built: Built, folder: Path) -> None:
    for name in ("a", "b"):
        session = a_transcript(name, built.path).bare(type="summary", summary="the same", leafUuid="x")
        session.prompt("go on").put(folder)
    report = imported(built, folder)
    assert (report.new, report.repeated) == (3, 1)


def test_problems_are_counted_beyond_those_that_are_named(
    built: Built, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custody.intake.import_traces.PROBLEMS_MAX", 3)
    folder.mkdir()
    (folder / "a.jsonl").write_text("bad\n" * 10)
    report = imported(built, folder)
    assert (len(report.problems), report.problem_count) == (3, 10)


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_secrets_are_taken_out_before_anything_is_written(built: Built, folder: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = a_session(built).edit("src/app.py", "one\n", "one", f"token = '{secret}'")
    session.bash(f"echo '{secret}' > src/env").prompt(f"use {secret}").put(folder)
    imported(built, folder)
    with Workspace(built.path).reading() as store:
        assert secret not in bodies(store)
        assert "[redacted:" in bodies(store)
    assert len(views(built, FileEdit)) == 2


def test_thoughts_are_not_kept_and_outputs_are_cut(built: Built, folder: Path) -> None:
    session = a_session(built).says("the answer").bash("make", "x" * 200_000).read("src/app.py", "y" * 200_000)
    session.write("src/big.py", None, "z = 1\n" * 40_000).put(folder)
    imported(built, folder)
    with Workspace(built.path).reading() as store:
        kept = bodies(store)
    assert "I think" not in kept and "the answer" in kept
    assert "x" * 60_000 not in kept and "y" * 60_000 not in kept
    assert "z = 1\n" * 40_000 in kept


def test_progress_is_reported(built: Built, folder: Path) -> None:
    a_session(built).put(folder)
    done: list[int] = []
    imported(built, folder, progress=Progress(lambda _what, _total: None, done.append))
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert sum(done) == 2 * size


def test_many_sessions_at_once(built: Built, folder: Path) -> None:
    for session in many_transcripts(5, 60_000, built.path):
        session.put(folder)
    report = imported(built, folder)
    assert (report.files, report.sessions, report.subagents, report.subagents_unattached) == (10, 5, 5, 0)
    assert report.edits == len({(edit.session, edit.id) for edit in views(built, FileEdit)})
    assert report.problem_count == 0


def test_who_started_a_subagent_may_become_known_later(built: Built, folder: Path) -> None:
    session = a_session(built)
    agent = session.subagent("a1b2c3").bash("ls")
    session.put(folder)
    assert imported(built, folder).subagents_unattached == 1
    session.subagent_done(agent).put(folder)
    assert imported(built, folder).new == 2
    assert imported(built, folder).new == 0
    bash = next(call for call in merge_call_views(views(built, ToolCall)) if call.name == "Bash")
    assert bash.parent == session.started_by(agent)


def test_a_result_whose_call_was_lost_is_known_by_its_shape(built: Built, folder: Path) -> None:
    session = a_session(built).edit("src/app.py", "one\n", "one", "two").write("src/b.py", None, "b\n")
    session.lines = [line for line in session.lines if line["type"] != "assistant"]
    session.put(folder)
    imported(built, folder)
    assert [edit.path.raw for edit in views(built, FileEdit)] == [b"src/app.py", b"src/b.py"]


def test_what_cannot_be_redacted_is_kept_as_digest_and_size(
    built: Built, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError

    monkeypatch.setattr("custody.intake.record.redact_value", failing)
    a_session(built).prompt("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8").put(folder)
    report = imported(built, folder)
    assert (report.new, len(views(built, Prompt)), report.problem_count) == (2, 1, 1)
    with Workspace(built.path).reading() as store:
        assert "ghp_" not in bodies(store) and '"dropped"' in bodies(store)
