"""What ``custody doctor`` says of hooks and gaps."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from custody.world.hook.homes import add_gap, fallback_of
from tests.builders.cli import a_git_folder, custody
from tests.builders.hooks import home_of

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
    """How it is, what it is and what to do, of one thing that is looked at."""
    checks = report(repository)["checks"]
    return [(check["state"], check["what"], check.get("hint")) for check in checks if check["name"] == name]


def test_before_init_nothing_runs(repository: Path) -> None:
    assert report(repository)["hook"] == {"command": None, "agents": {}}
    assert said(repository) == [
        ("note", "no hook is installed: nothing is captured as it happens", "run 'custody init'")
    ]


def test_the_commands_are_what_the_agents_run(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "codex")
    hook = report(repository)["hook"]
    assert hook["command"] == hook["agents"]["claude-code"]["command"]
    assert hook["command"][-3:] == ["FOLDER/.git/custody/hook/record.py", "--agent", "claude-code"]
    assert hook["agents"]["codex"]["command"][-5:] == [
        f"{state()}/hook/record.py", "--agent", "codex", "--user", "--where-set-up",
    ]  # fmt: skip
    assert said(repository) == [("well", "recorded as it happens: Claude Code, Codex CLI", None)]


@pytest.mark.parametrize("name", ["with space", "quote's", 'double"quote', "$HOME", "a\\b"])
def test_whatever_the_folder_is_called_its_hook_is_known(tmp_path: Path, name: str) -> None:
    repository = a_git_folder(tmp_path / name)
    custody(repository, "init", "--agent", "claude-code")
    assert said(repository) == [("well", "recorded as it happens: Claude Code", None)]


def test_a_hook_at_the_users_level_is_known(repository: Path) -> None:
    custody(repository, "init", "--user", "--agent", "claude-code")
    assert said(repository) == [("well", "recorded as it happens: Claude Code", None)]
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


def test_a_moved_repository_is_told_and_mended_by_init(repository: Path, tmp_path: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--agent", "cursor")
    moved = repository.rename(tmp_path / "moved")
    told = {hint: what for state_, what, hint in said(moved) if state_ == "ill"}
    assert set(told) == {
        "run 'custody init --agent claude-code'", "run 'custody init --agent cursor'", "run 'custody init'",
    }  # fmt: skip
    assert f"runs '{repository}/.git/custody/hook/record.py'" in told["run 'custody init --agent cursor'"]
    assert custody(moved, "doctor").status == 1
    custody(moved, "init", "--agent", "claude-code", "--agent", "cursor")
    assert said(moved) == [("well", "recorded as it happens: Claude Code, Cursor", None)]
    assert (moved / ".cursor/hooks.json").read_text().count('"command"') == 14, "one for each event"


def test_settings_whose_hook_was_deleted_are_told(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code", "--no-git-hooks")
    shutil.rmtree(home_of(repository) / "hook")
    (first, second) = said(repository)
    assert (first[0], first[2]) == ("ill", "run 'custody init --agent claude-code'")
    assert second[1].startswith(NO_HOOK)


def test_every_file_of_gaps_is_counted_and_named(repository: Path) -> None:
    folders = [home_of(repository), Path(fallback_of(str(home_of(repository)), dict(os.environ))), state()]
    for n, folder in enumerate(folders):
        add_gap(str(folder), f"gap {n}", {})
    with (state() / "gaps").open("a") as file:
        file.write("claude-code: the recorder could not be run\n")
    ((_, what, hint),) = said(repository, "gaps")
    assert what.startswith("4 gap(s)") and what.endswith("gap 2")
    assert hint is not None and hint.count("/gaps'") == 3
    (state() / "gaps").unlink()
    ((_, what, hint),) = said(repository, "gaps")
    assert hint is not None and f"'{state()}/gaps'" not in hint
