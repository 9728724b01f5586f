"""The report of ``custody doctor`` about hooks and gaps."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest

from custody.capture.hook.event_home import locate_event_fallback, record_capture_gap
from custody.core.wire.report import DoctorCheck, DoctorReport, HookReport
from custody.intake.cli.setup import render_doctor_checks
from custody.intake.install.agent_status import check_agent_hooks
from custody.intake.install.init import InitRequest, install_agent_hooks
from custody.terminal.screen import Screen
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.hooks import home_of
from tests.builders.in_process import custody

NO_HOOK = "no hook is installed"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def state() -> Path:
    return Path(os.environ["HOME"]) / ".local/state/custody"


def report(repository: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(custody(repository, "doctor", "--json").out)
    return answer


def said(repository: Path, name: str = "hook") -> list[tuple[str, str, str | None]]:
    """Return the state, the description and the fix of one check."""
    checks = report(repository)["checks"]
    return [(check["state"], check["what"], check.get("hint")) for check in checks if check["name"] == name]


def test_before_init_nothing_runs(repository: Path) -> None:
    assert report(repository)["hook"] == {"command": None, "agents": {}}
    assert said(repository) == [("note", "no hook is installed: nothing is recorded live", "run 'custody init'")]


def test_warnings_come_before_one_line_of_what_is_ok(repository: Path) -> None:
    lines = custody(repository, "doctor").out.splitlines()
    assert lines[:4] == [
        "warning  chains        nothing has been recorded yet",
        "                       records are added while an agent works",
        "warning  hook          no hook is installed: nothing is recorded live",
        "                       run 'custody init'",
    ]
    assert lines[4] == "ok       schema, views, spool, space (-v shows details)"
    listed = custody(repository, "doctor", "-v").out.splitlines()
    assert listed[:4] == lines[:4] and "ok       spool         the spool is empty" in listed
    assert not any("(-v shows details)" in line for line in listed)


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    words = "a hook of another repository records nothing here, so run the command below " * 3
    states: list[Literal["ill", "note", "well"]] = ["ill", "note", "well", "well"]
    checks = [DoctorCheck(f"check{n}", state, words, words) for n, state in enumerate(states)]
    hook = HookReport(command=None, agents={})
    found = DoctorReport(outcome="found", store="s", checks=checks, rebuilt=None, hook=hook, agents=[])
    screen = Screen(columns=columns, rows=24, is_terminal=True)
    short, lines = (
        [screen.render(line) for line in render_doctor_checks(found, screen, verbose=verbose)]
        for verbose in (False, True)
    )
    assert max(map(len, [*short, *lines])) <= columns
    assert " ".join(" ".join(lines).split()).count(words.strip()) == 2 * len(checks)


def test_a_check_with_a_problem_is_not_listed_as_ok() -> None:
    states: dict[str, tuple[Literal["ill", "note", "well"], ...]] = {
        "hook": ("well", "note"),
        "forks": ("well", "ill"),
        "space": ("well", "well"),
    }
    checks = [DoctorCheck(name, state, "x") for name, both in states.items() for state in both]
    hook = HookReport(command=None, agents={})
    found = DoctorReport(outcome="found", store="s", checks=checks, rebuilt=None, hook=hook, agents=[])
    screen = Screen(columns=80, rows=24)
    assert [screen.render(line) for line in render_doctor_checks(found, screen, verbose=False)] == [
        "FAILED   forks         x",
        "warning  hook          x",
        "ok       space (-v shows details)",
    ]


def test_a_failed_check_is_first_and_in_color() -> None:
    checks = [DoctorCheck("space", "well", "9 MiB free"), DoctorCheck("views", "note", "a\x1b[2Jb", "wait")]
    checks.append(DoctorCheck("forks", "ill", "1 record has a conflicting position", "run 'custody verify'"))
    hook = HookReport(command=None, agents={})
    found = DoctorReport(outcome="found", store="s", checks=checks, rebuilt=None, hook=hook, agents=[])
    screen = Screen(columns=80, rows=24, is_terminal=True, has_color=True)
    assert [screen.render(line) for line in render_doctor_checks(found, screen, verbose=False)] == [
        "\x1b[31mFAILED \x1b[0m  forks         1 record has a conflicting position",
        "                       run 'custody verify'",
        "\x1b[33mwarning\x1b[0m  views         a\\x1b[2Jb",
        "                       wait",
        "\x1b[32mok     \x1b[0m  space (-v shows details)",
    ]


def test_the_commands_are_what_the_agents_run(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "codex")
    hook = report(repository)["hook"]
    assert hook["command"] == hook["agents"]["claude-code"]["command"]
    assert hook["command"][-3:] == ["FOLDER/.git/custody/hook/record.py", "--agent", "claude-code"]
    assert hook["agents"]["codex"]["command"][-5:] == [
        f"{state()}/hook/record.py", "--agent", "codex", "--user", "--where-set-up",
    ]  # fmt: skip
    assert said(repository) == [("well", "recorded live: Claude Code, Codex CLI", None)]


@pytest.mark.parametrize("name", ["with space", "quote's", 'double"quote', "$HOME", "a\\b"])
def test_whatever_the_folder_is_called_its_hook_is_known(tmp_path: Path, name: str) -> None:
    repository = a_git_folder(tmp_path / name)
    custody(repository, "init", "--agent", "claude-code")
    assert said(repository) == [("well", "recorded live: Claude Code", None)]


def test_a_hook_at_the_users_level_is_known(repository: Path) -> None:
    custody(repository, "init", "--user", "--agent", "claude-code")
    assert said(repository) == [("well", "recorded live: Claude Code", None)]
    command = report(repository)["hook"]["command"]
    assert command[-4:] == ["claude-code", "--user", "--unless", ".claude/settings.local.json"]
    event = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "cwd": str(repository)}).encode()
    assert subprocess.run(command, input=event, check=True, capture_output=True).stderr == b""
    assert len(json.loads(custody(repository, "records", "--json").out)["records"]) == 1


def test_a_users_hook_for_other_repositories_is_none_here(repository: Path, tmp_path: Path) -> None:
    custody(a_git_folder(tmp_path / "other"), "init", "--agent", "codex")
    ((state_, what, _),) = said(repository)
    assert (state_, what.startswith(NO_HOOK)) == ("note", True)
    assert report(repository)["hook"] == {"command": None, "agents": {}}


def test_a_moved_repository_is_reported_and_repaired_by_init(repository: Path, tmp_path: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "cursor")
    moved = repository.rename(tmp_path / "moved")
    told = {hint: what for state_, what, hint in said(moved) if state_ == "ill"}
    assert set(told) == {
        "run 'custody init --agent claude-code'", "run 'custody init --agent cursor'", "run 'custody init'",
    }  # fmt: skip
    assert f"runs '{repository}/.git/custody/hook/record.py'" in told["run 'custody init --agent cursor'"]
    assert custody(moved, "doctor").status == 1
    custody(moved, "init", "--agent", "claude-code", "--agent", "cursor")
    assert said(moved) == [("well", "recorded live: Claude Code, Cursor", None)]
    assert (moved / ".cursor/hooks.json").read_text().count('"command"') == 14, "one for each event"


def test_settings_with_a_deleted_hook_are_reported(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--no-git-hooks")
    shutil.rmtree(home_of(repository) / "hook")
    (first, second) = said(repository)
    assert (first[0], first[2]) == ("ill", "run 'custody init --agent claude-code'")
    assert second[1].startswith(NO_HOOK)


def test_the_reason_why_an_agent_is_not_recorded_is_reported(repository: Path) -> None:
    file, hook = repository / ".claude/settings.local.json", home_of(repository) / "hook"
    custody(repository, "init", "--agent", "claude-code", "--no-git-hooks")
    whole = file.read_text()
    events = json.loads(whole)["hooks"]
    again = "run 'custody init --agent claude-code'"

    def looked() -> list[tuple[str, str, str | None]]:
        """Return the failed checks of the hook, as the doctor reports them."""
        return [found for found in check_agent_hooks(Workspace(repository)) if found[0] != "well"]

    assert looked() == []
    file.write_text(json.dumps({"hooks": {name: events[name] for name in list(events)[2:]}}))
    ((state_, what, hint),) = looked()
    assert (state_, hint) == ("ill", again)
    assert what.endswith("does not run the hook at SessionStart, UserPromptSubmit")
    file.write_text(whole.replace("--agent claude-code", "--agent claude"))
    ((state_, what, hint),) = looked()[:1]
    assert (state_, hint) == ("ill", again) and "runs the hook with other arguments than 'custody init' writes" in what
    file.write_text(json.dumps({"disableAllHooks": True, "hooks": events}))
    ((state_, what, _),) = looked()
    assert state_ == "ill" and what.startswith("Claude Code runs no hooks: 'disableAllHooks' in ")
    file.write_text(whole[:50])
    (state_, what, hint) = looked()[0]
    assert (state_, hint) == ("ill", f"fix them, then {again}") and "cannot read" in what
    file.unlink()
    (state_, what, hint) = looked()[0]
    assert (state_, hint) == ("note", again) and "settings here do not run the hook" in what
    file.write_text(re.sub(r"/[^ ]*/python3[.0-9]*", "/gone/python3", whole))
    ((state_, what, hint),) = looked()
    assert (state_, hint) == ("note", again) and "'/gone/python3', the interpreter of the hook, is gone" in what
    file.write_text(whole)
    (hook / "lib/fast_primitives.py").write_text("# older\n")
    ((state_, what, hint),) = looked()
    assert (state_, hint) == ("note", again) and "from another version" in what
    (hook / "lib/fast_primitives.py").unlink()
    (state_, what, hint) = looked()[0]
    assert (state_, hint) == ("ill", again) and "which is incomplete" in what


def test_a_work_tree_in_which_an_agent_is_not_recorded_is_named(repository: Path, tmp_path: Path) -> None:
    install_agent_hooks(Workspace(repository), InitRequest(agents=("claude-code", "codex"), git_hooks=False))
    for words in (
        ["commit", "--quiet", "--allow-empty", "-m", "x"],
        ["worktree", "add", "--quiet", str(tmp_path / "w")],
    ):
        subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
    (_, (state_, what, _)) = check_agent_hooks(Workspace(repository))
    assert (state_, what) == ("note", f"not recorded in the work tree '{tmp_path / 'w'}': Claude Code")
    install_agent_hooks(Workspace(tmp_path / "w"), InitRequest(agents=("claude-code",), git_hooks=False))
    assert [found[0] for found in check_agent_hooks(Workspace(repository))] == ["well"]


@pytest.mark.parametrize(
    ("agent", "file", "text"),
    [
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
        ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
        ("copilot", ".copilot/settings.json", '{"disableAllHooks": true}'),
        ("claude-code", ".claude/settings.json", '{"disableAllHooks": true}'),
    ],
)
def test_a_setting_that_turns_hooks_off_is_found_where_the_agent_looks(
    repository: Path, agent: str, file: str, text: str
) -> None:
    install_agent_hooks(Workspace(repository), InitRequest(agents=(agent,), git_hooks=False))
    place = Path(os.environ["HOME"]) / file
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    assert [
        what for state_, what, _ in check_agent_hooks(Workspace(repository)) if state_ == "ill" and str(place) in what
    ]
    if agent == "claude-code":  # the nearer settings win
        (repository / ".claude/settings.json").write_text('{"disableAllHooks": false}')
        assert [found for found in check_agent_hooks(Workspace(repository)) if found[0] == "ill"] == []


def test_every_file_of_gaps_is_counted_and_named(repository: Path) -> None:
    folders = [home_of(repository), Path(locate_event_fallback(str(home_of(repository)), dict(os.environ))), state()]
    for n, folder in enumerate(folders):
        record_capture_gap(str(folder), f"gap {n}", {})
    with (state() / "gaps").open("a") as file:
        file.write("claude-code: the recorder could not be run\n")
    ((_, what, hint),) = said(repository, "gaps")
    assert what.startswith("4 events not recorded") and what.endswith("gap 2")
    assert hint is not None and hint.count("/gaps'") == 3
    (state() / "gaps").unlink()
    ((_, what, hint),) = said(repository, "gaps")
    assert hint is not None and f"'{state()}/gaps'" not in hint
