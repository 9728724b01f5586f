"""``custody init`` and ``custody uninstall`` as a user runs them, with the real hook and real git."""

import json
import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import WorldError
from custody.intake.install.init import InitRequest, Recorder, install_agent_hooks, uninstall_agent_hooks
from custody.intake.install.site import list_hook_entries
from custody.workspace.workspace import Workspace
from tests.builders.cli import Ran, a_git_folder
from tests.builders.in_process import custody
from tests.builders.transcripts import a_transcript, project_name
from tests.settings.plain import said

ALL = ("claude-code", "cursor", "codex", "gemini")
LOCAL = ".claude/settings.local.json"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


@pytest.fixture(autouse=True)
def _nobody_is_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No agent's program on PATH but git, sh and what they need."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/local/bin", "/usr/bin", "/bin"]))


def home() -> Path:
    return Path(os.environ["HOME"])


def tree(*folders: Path) -> dict[str, tuple[str, int]]:
    """Return every file, link and folder with its content and mode; git's own database left out."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        if (
            "/.git/objects" not in str(path)
            and path.name not in ("index", "COMMIT_EDITMSG")
            and "/logs" not in str(path)
        ):
            text = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
            found[str(path)] = (text, path.lstat().st_mode)
    return found


def files(ran: Ran) -> dict[str, str]:
    """Return the actions, by the end of their paths."""
    report: dict[str, Any] = json.loads(ran.out)
    return {re.sub(r".*/(?=[^/]*/[^/]*$)", "", file["path"]): file["done"] for file in report["files"]}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def a_commit(folder: Path, *words: str) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "x", *words)


def recorded(folder: Path) -> list[str]:
    """Return the agents of the stored records, oldest first."""
    report = json.loads(custody(folder, "records", "--json").out)
    return [re.split("[:]", record["key"])[1] for record in reversed(report["records"])]


def command_in(path: Path) -> str:
    value = said(path, path.read_bytes())
    (group,) = value["hooks"]["Stop"]
    text: str = group["hooks"][0]["command"] if "hooks" in group else group["command"]
    return text


def run_hook(path: Path, folder: Path, **fields: str) -> None:
    """Return the agent's command for its event Stop."""
    event = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "cwd": str(folder), **fields})
    done = subprocess.run(
        ["sh", "-c", command_in(path)], cwd=folder, input=event, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


# Choosing.


def test_without_a_terminal_nothing_is_guessed(repository: Path) -> None:
    (repository / ".claude").mkdir()
    before = tree(repository, home())
    ran = custody(repository, "init")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == ("error: cannot prompt without a terminal; found claude-code\nhint: pass --agent or --yes\n")
    assert tree(repository, home()) == before


def on_a_terminal(folder: Path, answers: str, *words: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "custody", *words], cwd=folder, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    )
    os.write(ours, answers.encode())
    out, _ = process.communicate(timeout=60)
    os.close(theirs)
    asked = os.read(ours, 10_000).decode()
    os.close(ours)
    return process.returncode, asked + out.decode()


def test_on_a_terminal_each_found_agent_is_asked_for(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / ".gemini").mkdir()
    status, words = on_a_terminal(repository, "n\ny\n", "init", "--no-git-hooks")
    assert status == 0
    assert "Record Claude Code?" in words and "Record Gemini CLI?" in words and "Cursor?" not in words
    assert not (repository / LOCAL).exists()
    assert (repository / ".gemini/settings.json").exists()


def test_yes_takes_the_agents_used_here_and_agent_exactly_those(repository: Path) -> None:
    (repository / ".cursor").mkdir()
    (home() / ".gemini").mkdir()
    a_transcript("s1", repository.resolve()).prompt("x").put(
        home() / ".claude" / "projects" / project_name(repository.resolve())
    )
    report = json.loads(custody(repository, "init", "--yes", "--dry-run", "--json").out)
    assert (report["agents"], report["found"]) == (["claude-code", "cursor"], ["claude-code", "cursor", "gemini"])
    lines = custody(repository, "init", "--yes", "--no-git-hooks").out.splitlines()
    assert lines[0] == "Set up recording for Claude Code, Cursor"
    assert "Installed, but not set up: Gemini CLI" in lines
    assert not list((home() / ".gemini").iterdir()) and not (repository / ".gemini").exists()
    ran = custody(repository, "init", "--agent", "gemini", "--agent", "gemini", "--dry-run", "--json")
    assert json.loads(ran.out)["agents"] == ["gemini"]
    assert custody(repository, "init", "--agent", "emacs").status == 2


def test_without_an_agent_init_says_so_and_sets_up_git(repository: Path) -> None:
    ran = custody(repository, "init", "--yes")
    assert ran.status == 0
    assert "No agent was chosen or is used in this repository; pass --agent" in ran.out
    assert (repository / ".git/hooks/post-commit").exists()


# Setting up.


def test_the_words(repository: Path) -> None:
    ran = custody(repository, "init", "--agent", "claude-code")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "Set up recording for Claude Code\n"
        "created    FOLDER/.claude/settings.local.json  (claude-code: 10 events)\n"
        "created    FOLDER/.git/hooks/post-commit  (git: new hook)\n"
        "created    FOLDER/.git/hooks/post-rewrite  (git: new hook)\n"
        "created    FOLDER/.git/hooks/post-merge  (git: new hook)\n"
        "changed    FOLDER/.git/info/exclude  (git: hides our settings files from 'git status')\n"
        "Recorder in 'FOLDER/.git/custody'\n"
    )
    ran = custody(repository, "uninstall")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "deleted    FOLDER/.claude/settings.local.json  (claude-code: our entries removed)\n"
        "deleted    FOLDER/.git/hooks/post-commit  (git: our hook removed)\n"
        "deleted    FOLDER/.git/hooks/post-merge  (git: our hook removed)\n"
        "deleted    FOLDER/.git/hooks/post-rewrite  (git: our hook removed)\n"
        "changed    FOLDER/.git/info/exclude  (git: our lines removed)\n"
        "removed    recorder in 'FOLDER/.git/custody'\n"
    )
    assert custody(repository, "uninstall").out == "custody is not set up in this repository\n"


def test_all_agents_twice_is_once_and_uninstall_leaves_no_trace(repository: Path) -> None:
    (repository / "README").write_text("x")
    before = tree(repository, home())
    words = ("init", *(word for name in ALL for word in ("--agent", name)), "--json")
    ran = custody(repository, *words)
    assert files(ran) == {
        ".claude/settings.local.json": "created",
        ".cursor/hooks.json": "created",
        ".codex/hooks.json": "created",
        ".gemini/settings.json": "created",
        "hooks/post-commit": "created",
        "hooks/post-rewrite": "created",
        "hooks/post-merge": "created",
        "info/exclude": "changed",
    }
    once = tree(repository, home())
    assert set(files(custody(repository, *words)).values()) == {"unchanged"}
    assert tree(repository, home()) == once
    custody(repository, "uninstall")
    after = tree(repository, home())
    made = [path for path in after if path not in before]
    assert all(str(home()) in path and not Path(path).is_file() for path in made), made
    assert {path: after[path] for path in before} == before


def test_what_the_agent_runs_is_recorded(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "gemini")
    assert stat.S_IMODE((repository / ".git/custody").stat().st_mode) == 0o700
    run_hook(repository / LOCAL, repository)
    assert recorded(repository) == ["claude-code"]
    report = json.loads(custody(repository, "doctor", "--json").out)
    argv = report["hook"]["command"]
    assert shlex.join(argv) in command_in(repository / LOCAL).replace(str(repository), "FOLDER")


@pytest.mark.parametrize(
    "name", ["with space", "quote's", 'double"quote', "$HOME", "ünïcode", "a\\b", "-dash", "semi;colon"]
)
def test_whatever_the_folder_is_called(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    a_git_folder(folder)
    assert custody(folder, "init", "--agent", "claude-code").status == 0
    run_hook(folder / LOCAL, folder)
    a_commit(folder)
    assert recorded(folder) == ["claude-code", "git"]
    custody(folder, "uninstall")
    assert not (folder / ".claude").exists() and not (folder / ".git/hooks/post-commit").exists()


def test_a_folder_with_a_name_that_no_settings_can_hold_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "line\nbreak"
    a_git_folder(folder)
    ran = custody(folder, "init", "--agent", "claude-code")
    assert ran.status == 2
    assert "characters that an agent's settings cannot hold" in ran.err
    assert not (folder / ".claude").exists()


def test_a_real_commit_amend_and_merge_are_recorded(repository: Path) -> None:
    custody(repository, "init", "--yes")
    a_commit(repository)
    a_commit(repository, "--amend")
    git(repository, "checkout", "--quiet", "-b", "other")
    a_commit(repository)
    git(repository, "checkout", "--quiet", "-")
    git(repository, "merge", "--quiet", "other")
    assert recorded(repository).count("git") == 5, "commit, commit and rewrite, commit, merge"


def test_no_git_hooks(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--no-git-hooks")
    assert not (repository / ".git/hooks/post-commit").exists()


def test_a_dry_run_needs_no_terminal_to_show_what_would_be_set_up(repository: Path) -> None:
    (repository / ".claude").mkdir()
    before = tree(repository, home())
    ran = custody(repository, "init", "--dry-run")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == custody(repository, "init", "--yes", "--dry-run").out
    assert tree(repository, home()) == before


def test_a_dry_run_shows_the_change_and_writes_nothing(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text('{\n\t"model": "opus"\n}\n')
    before = tree(repository, home())
    ran = custody(repository, "init", "--agent", "claude-code", "--dry-run")
    assert ran.status == 0
    assert tree(repository, home()) == before
    assert r'    -\t"model": "opus"' in ran.out, "a tab can be seen"
    exact = json.loads(custody(repository, "init", "--agent", "claude-code", "--dry-run", "--json").out)
    assert '-\t"model": "opus"\n+\t"model": "opus",\n+\t"hooks": {\n' in exact["files"][0]["diff"]
    assert "    +++ FOLDER/.git/hooks/post-commit\n" in ran.out
    assert ran.out.endswith("Dry run: would install the recorder in 'FOLDER/.git/custody'\n")


# What stops it.


def test_one_unreadable_file_stops_everything(repository: Path) -> None:
    (repository / ".gemini").mkdir()
    (repository / ".gemini/settings.json").write_text('{\n  "a": 1\n  "b": 2\n}')
    before = tree(repository, home())
    ran = custody(repository, "init", "--agent", "claude-code", "--agent", "gemini")
    assert (ran.status, ran.out) == (2, "")
    assert "cannot add to 'FOLDER/.gemini/settings.json': line 3, column 3: ',' or '}' is expected" in ran.err
    assert '"BeforeTool": [' in ran.err
    assert tree(repository, home()) == before


def test_a_read_only_file_stops_everything(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text("{}")
    (repository / LOCAL).chmod(0o444)
    before = tree(repository, home())
    ran = custody(repository, "init", "--agent", "cursor", "--agent", "claude-code")
    assert (ran.status, ran.out) == (3, "")
    assert "is read-only" in ran.err
    assert tree(repository, home()) == before


def test_a_failure_in_the_middle_leaves_nothing_behind(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text("{}")
    before = tree(repository, home())

    def meddle(where: Path) -> bool:
        (where / "hook").mkdir(parents=True)
        (repository / LOCAL).write_text('{"somebody": "else"}')
        return True

    with pytest.raises(WorldError, match="changed by another program"):
        install_agent_hooks(
            Workspace(repository), InitRequest(agents=("cursor", "claude-code")), Recorder(install=meddle)
        )
    (repository / LOCAL).write_text("{}")
    assert not (repository / ".git/custody/hook").exists() and not (repository / ".git/custody/backup").exists()
    assert {path: what for path, what in tree(repository, home()).items() if "custody" not in path} == before


def test_a_recorder_that_cannot_be_copied_stops_everything(repository: Path) -> None:
    before = tree(repository, home())

    def full(where: Path) -> bool:
        raise OSError(28, "No space left on device")

    with pytest.raises(WorldError, match="cannot install the recorder in '.*custody': No space left on device"):
        install_agent_hooks(Workspace(repository), InitRequest(agents=ALL), Recorder(install=full))
    assert {path: what for path, what in tree(repository, home()).items() if not path.endswith("custody")} == before


def test_bare_repositories_and_no_repository(tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    before = tree(bare)
    ran = custody(bare, "init", "--agent", "claude-code")
    assert (ran.status, ran.out) == (2, "")
    assert "has no work tree\n" in ran.err and "--user" in ran.err
    assert tree(bare) == before
    assert custody(bare, "uninstall").status == 0
    (tmp_path / "nothing").mkdir()
    for verb in (("init", "--yes"), ("uninstall",)):
        ran = custody(tmp_path / "nothing", *verb)
        assert (ran.status, ran.out) == (2, "")
        assert "not a git repository" in ran.err


# Files that git tracks.


def test_a_tracked_file_is_never_changed(repository: Path) -> None:
    for name in (LOCAL, ".cursor/hooks.json", ".gemini/settings.json"):
        path = repository / name
        path.parent.mkdir()
        path.write_text('{"version": 1}' if "cursor" in name else "{}")
    git(repository, "add", "-A")
    a_commit(repository)
    ran = custody(repository, "init", *(word for name in ALL for word in ("--agent", name)), "--json")
    assert files(ran) | {"x": ""} == {
        ".claude/settings.json": "created",
        ".cursor/hooks.json": "created",
        ".codex/hooks.json": "created",
        ".gemini/settings.json": "created",
        "hooks/post-commit": "created",
        "hooks/post-rewrite": "created",
        "hooks/post-merge": "created",
        "x": "",
    }
    report = json.loads(ran.out)
    assert all(str(home()) in file["path"] for file in report["files"][:4])
    assert "because git tracks '.cursor/hooks.json'" in report["files"][1]["what"]
    assert git(repository, "status", "--porcelain") == ""
    run_hook(home() / ".claude/settings.json", repository)
    assert recorded(repository)[-1] == "claude-code"
    custody(repository, "uninstall")
    assert not (home() / ".claude").exists() and not (home() / ".local/state/custody").exists()


def test_links_that_are_tracked_are_not_followed(repository: Path) -> None:
    (home() / ".claude").mkdir()
    (home() / ".claude/settings.local.json").write_text("{}")
    (repository / ".claude").symlink_to(home() / ".claude")
    (repository / ".cursor").mkdir()
    (repository / "shared.json").write_text('{"version": 1}')
    (repository / ".cursor/hooks.json").symlink_to("../shared.json")
    git(repository, "add", ".claude", "shared.json")
    report = json.loads(custody(repository, "init", "--agent", "claude-code", "--agent", "cursor", "--json").out)
    assert [file["path"] for file in report["files"][:2]] == [
        str(home() / ".claude/settings.json"),
        str(home() / ".cursor/hooks.json"),
    ]
    assert (repository / "shared.json").read_text() == '{"version": 1}'
    assert (home() / ".claude/settings.local.json").read_text() == "{}"


def test_a_file_that_was_committed_since_is_left_to_the_user(repository: Path) -> None:
    custody(repository, "init", "--agent", "cursor", "--no-git-hooks")
    git(repository, "add", "--force", ".cursor")
    a_commit(repository)
    for _ in range(2):
        ran = custody(repository, "uninstall")
        assert ran.status == 0
        assert "by hand    FOLDER/.cursor/hooks.json  (cursor: git tracks this file now)" in ran.out
        assert "remove the command that runs '…/custody/hook/record.py'" in ran.out
    assert git(repository, "status", "--porcelain") == ""
    git(repository, "rm", "--quiet", "--cached", ".cursor/hooks.json")
    custody(repository, "uninstall")
    assert not (repository / ".cursor").exists()


def test_a_tracked_hooks_folder_gets_lines_to_add(repository: Path) -> None:
    (repository / ".githooks").mkdir()
    (repository / ".githooks/pre-commit").write_text("#!/bin/sh\n")
    git(repository, "config", "core.hooksPath", ".githooks")
    git(repository, "add", "-A")
    before = tree(repository / ".githooks")
    ran = custody(repository, "init", "--agent", "claude-code")
    assert ran.status == 0
    assert "by hand    FOLDER/.githooks/post-commit  (git: git tracks this folder)\n    custody_event=" in ran.out
    assert tree(repository / ".githooks") == before and not (repository / ".git/hooks/post-commit").exists()


# The output of git status.


def test_git_status_hides_the_settings_that_we_make(repository: Path) -> None:
    (repository / ".gemini").mkdir()
    (repository / ".gemini/settings.json").write_text("{}")
    exclude = repository / ".git/info/exclude"
    exclude.write_text("mine")
    custody(repository, "init", "--agent", "claude-code", "--agent", "gemini")
    custody(repository, "init", "--agent", "cursor")
    assert git(repository, "status", "--porcelain") == "?? .gemini/\n", "this one is the user's own"
    assert exclude.read_text().count(">>> custody") == 1
    custody(repository, "uninstall")
    assert exclude.read_text() == "mine"


@pytest.mark.parametrize("lost", [True, False])
def test_lines_that_others_add_behind_ours_stay(repository: Path, lost: bool) -> None:
    exclude = repository / ".git/info/exclude"
    shutil.rmtree(exclude.parent)
    custody(repository, "init", "--agent", "cursor")
    with exclude.open("a") as file:
        file.write("theirs\n")
    if lost:
        shutil.rmtree(repository / ".git/custody/backup")
    custody(repository, "uninstall")
    assert exclude.read_text() == "theirs\n"


def test_an_exclude_file_that_is_made_for_us_goes_with_us(repository: Path) -> None:
    info = repository / ".git/info"
    shutil.rmtree(info)
    custody(repository, "init", "--agent", "cursor")
    assert git(repository, "status", "--porcelain") == ""
    custody(repository, "uninstall")
    assert not info.exists()


def test_an_exclude_file_that_is_a_link_is_left_alone(repository: Path, tmp_path: Path) -> None:
    exclude = repository / ".git/info/exclude"
    shared = exclude.rename(tmp_path / "shared")
    exclude.symlink_to(shared)
    before = shared.read_text()
    assert custody(repository, "init", "--agent", "cursor").status == 0
    assert shared.read_text() == before


# More than one repository, work tree or level.


def test_two_repositories_share_the_users_settings_until_the_last_leaves(tmp_path: Path) -> None:
    one, two = a_git_folder(tmp_path / "one"), a_git_folder(tmp_path / "two")
    file = home() / ".codex/hooks.json"
    custody(one, "init", "--agent", "codex")
    once = file.read_bytes()
    custody(two, "init", "--agent", "codex")
    assert file.read_bytes() == once
    for folder in (one, two):
        run_hook(file, folder)
        assert recorded(folder) == ["codex"], "each event goes to the repository it happened in"
    custody(one, "uninstall")
    assert file.read_bytes() == once
    custody(two, "uninstall")
    assert not file.exists()


def test_what_was_set_up_for_one_repository_records_in_no_other(tmp_path: Path) -> None:
    one, other = a_git_folder(tmp_path / "one"), a_git_folder(tmp_path / "other")
    file = home() / ".codex/hooks.json"
    ran = custody(one, "init", "--agent", "codex")
    assert "user settings, only where 'custody init' was run" in ran.out
    run_hook(file, other)
    assert recorded(other) == [] and not (other / ".git/custody").exists()
    custody(other, "init", "--agent", "claude-code")
    run_hook(file, other)
    assert recorded(other) == [], "it was set up for another agent"
    run_hook(file, one)
    custody(one, "uninstall")
    assert recorded(one) == ["codex"]


def test_whoever_asks_for_every_repository_gets_every_repository(tmp_path: Path) -> None:
    one, other = a_git_folder(tmp_path / "one"), a_git_folder(tmp_path / "other")
    file = home() / ".codex/hooks.json"
    custody(one, "init", "--agent", "codex")
    custody(tmp_path, "init", "--user", "--agent", "codex")
    ran = custody(one, "init", "--agent", "codex")
    assert "user settings, for every repository" in ran.out
    run_hook(file, other)
    assert recorded(other) == ["codex"]
    custody(one, "uninstall")
    run_hook(file, other)
    assert recorded(other) == ["codex", "codex"]


def test_both_levels_record_once(repository: Path) -> None:
    custody(repository, "init", "--user", "--agent", "claude-code")
    custody(repository, "init", "--agent", "claude-code")
    for file in (home() / ".claude/settings.json", repository / LOCAL):
        run_hook(file, repository)
    assert recorded(repository) == ["claude-code"]
    (repository / LOCAL).unlink()
    run_hook(home() / ".claude/settings.json", repository)
    assert recorded(repository) == ["claude-code", "claude-code"], "the hook of the user level records now"


def test_a_repository_that_is_gone_does_not_keep_the_users_settings(tmp_path: Path) -> None:
    one, two = a_git_folder(tmp_path / "one"), a_git_folder(tmp_path / "two")
    for folder in (one, two):
        custody(folder, "init", "--agent", "codex")
    shutil.rmtree(one)
    custody(two, "uninstall")
    assert not (home() / ".codex/hooks.json").exists()


def test_the_users_level_needs_no_repository(tmp_path: Path, repository: Path) -> None:
    ran = custody(tmp_path, "init", "--user", "--agent", "claude-code", "--json")
    assert files(ran) == {".claude/settings.json": "created"}
    assert json.loads(ran.out)["homes"] == [str(home() / ".local/state/custody")]
    run_hook(home() / ".claude/settings.json", tmp_path)
    run_hook(home() / ".claude/settings.json", repository)
    assert recorded(repository) == ["claude-code"]
    custody(repository, "uninstall")
    assert (home() / ".claude/settings.json").exists(), "the repository's level leaves the user's alone"
    custody(tmp_path, "uninstall", "--user")
    assert not (home() / ".claude").exists()
    assert custody(tmp_path, "uninstall", "--user").out == "custody is not set up in this repository\n"


def test_a_broken_file_of_codex_does_not_keep_the_user_in(tmp_path: Path, repository: Path) -> None:
    custody(tmp_path, "init", "--user", "--agent", "gemini")
    (home() / ".codex").mkdir()
    (home() / ".codex/config.toml").write_text("[broken")
    assert custody(tmp_path, "init", "--user", "--agent", "codex").status == 2
    assert [entry.agent for entry in list_hook_entries(Workspace(repository))] == ["gemini"]
    assert custody(tmp_path, "uninstall", "--user").status == 0
    assert not (home() / ".gemini").exists()


def test_each_work_tree_has_its_own_settings_and_one_hook(repository: Path, tmp_path: Path) -> None:
    a_commit(repository)
    other = tmp_path / "other"
    git(repository, "worktree", "add", "--quiet", str(other))
    for folder in (repository, other):
        assert custody(folder, "init", "--agent", "claude-code").status == 0
        run_hook(folder / LOCAL, folder)
        a_commit(folder)
    assert command_in(repository / LOCAL) == command_in(other / LOCAL)
    assert recorded(other) == ["claude-code", "git", "claude-code", "git"]
    custody(other, "uninstall")
    assert not (other / ".claude").exists() and not (repository / ".claude").exists()


def test_a_moved_repository_is_set_up_again(repository: Path, tmp_path: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text('{"hooks": { }}')
    custody(repository, "init", "--agent", "claude-code")
    moved = repository.rename(tmp_path / "moved")
    ran = custody(moved, "init", "--agent", "claude-code", "--json")
    assert files(ran)[LOCAL] == "changed"
    assert str(repository) + "/" not in (moved / LOCAL).read_text()
    run_hook(moved / LOCAL, moved)
    a_commit(moved)
    assert recorded(moved) == ["claude-code", "git"]
    custody(moved, "uninstall")
    assert (moved / LOCAL).read_text() == '{"hooks": { }}'
    assert not (moved / ".git/hooks/post-commit").exists()


# Taking out.


def test_evidence_stays_and_a_purge_asks_first(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code")
    run_hook(repository / LOCAL, repository)
    custody(repository, "uninstall")
    assert recorded(repository) == ["claude-code"]
    ran = custody(repository, "uninstall", "--purge")
    assert (ran.status, ran.out) == (2, "")
    assert "cannot prompt without a terminal" in ran.err
    status, words = on_a_terminal(repository, "n\n", "uninstall", "--purge")
    assert status == 130 and str(repository / ".git/custody") in words
    assert recorded(repository) == ["claude-code"]
    status, words = on_a_terminal(repository, "y\n", "uninstall", "--purge")
    assert status == 0 and "removed    all records" in words
    assert not (repository / ".git/custody").exists()
    assert custody(repository, "uninstall", "--purge", "--yes").status == 0


def test_a_store_behind_a_link_is_not_purged(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("x")
    (repository / ".git/custody").symlink_to(tmp_path / "precious")
    ran = custody(repository, "uninstall", "--purge", "--yes")
    assert ran.status == 3
    assert "it is a symbolic link" in ran.err
    assert (tmp_path / "precious/file").exists()


def test_lost_notes_do_not_keep_us_in(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text('{\n  "model": "opus"\n}\n')
    custody(repository, "init", "--agent", "claude-code")
    shutil.rmtree(repository / ".git/custody/backup")
    assert [entry.agent for entry in list_hook_entries(Workspace(repository))] == ["claude-code"]
    custody(repository, "uninstall")
    assert (repository / LOCAL).read_text() == '{\n  "model": "opus"\n}\n'
    assert not (repository / ".git/hooks/post-commit").exists()
    assert [entry.agent for entry in list_hook_entries(Workspace(repository))] == []


def test_a_file_that_others_broke_does_not_stop_the_rest(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "gemini")
    (repository / ".gemini/settings.json").write_text("{ broken")
    ran = custody(repository, "uninstall")
    assert ran.status == 0
    assert "by hand    FOLDER/.gemini/settings.json  (gemini: cannot read" in ran.out
    assert not (repository / LOCAL).exists()
    assert (repository / ".gemini/settings.json").read_text() == "{ broken"


def test_a_copy_of_every_changed_file_is_kept_out_of_the_work_tree(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / LOCAL).write_text('{"model": "opus"}')
    custody(repository, "init", "--agent", "claude-code")
    copies = repository / ".git/custody/backup"
    assert (copies / "1-settings.local.json").read_text() == '{"model": "opus"}'
    assert sorted(path.name for path in (repository / ".claude").iterdir()) == ["settings.local.json"]
    assert uninstall_agent_hooks(Workspace(repository)).outcome == "fine"
    assert not copies.exists()
