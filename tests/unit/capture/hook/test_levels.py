"""Which hook records an event when several could: the repository's own, the user's, or another agent's."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from custody.capture.hook.install import add_hooked_agents, hook_argv, hook_shell_command, install_hook
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.hooks import a_hook_event, home_of, installed, run_hook

SETTINGS = ".claude/settings.local.json"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return the user's home, with a hook in it."""
    install_hook(tmp_path / "state" / "custody")
    return tmp_path / "state" / "custody"


def run_users_hook(state: Path, folder: Path, *words: str, **environment: str) -> None:
    said = json.dumps(a_hook_event("Stop", folder)).encode()
    ran = subprocess.run(
        hook_argv(state, "claude-code", "--user", *words),
        input=said,
        capture_output=True,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def kept(repository: Path) -> int:
    return len(spool_of(repository).names())


def with_own_hook(repository: Path, folder: Path | None = None, home: Path | None = None) -> Path:
    """Return a repository whose project settings run its own hook."""
    path = (folder or repository) / SETTINGS
    path.parent.mkdir(parents=True)
    command = hook_shell_command(home or home_of(repository), "claude-code")
    entry = {"hooks": [{"type": "command", "command": command}]}
    path.write_text(json.dumps({"hooks": {"Stop": [entry]}}, ensure_ascii=False, indent=2))
    return installed(repository)


def test_a_hook_for_set_up_repositories_is_silent_in_all_others(state: Path, tmp_path: Path) -> None:
    one, other, never = (a_git_folder(tmp_path / name) for name in ("one", "other", "never"))
    add_hooked_agents(home_of(installed(one)), ["claude-code", "codex"])
    add_hooked_agents(home_of(installed(other)), ["codex"])
    for folder in (one, other, never):
        run_users_hook(state, folder, "--where-set-up")
    assert [kept(folder) for folder in (one, other, never)] == [1, 0, 0]
    assert not home_of(never).exists()


def test_a_hook_for_every_repository_needs_no_setup(state: Path, tmp_path: Path) -> None:
    never = a_git_folder(tmp_path / "never")
    run_users_hook(state, never, "--unless", SETTINGS)
    assert kept(never) == 1


@pytest.mark.parametrize("name", ["plain", "with space", "quote's", 'double"quote', "ünï\\code"])
def test_the_users_hook_leaves_an_event_to_the_repositorys_own(state: Path, tmp_path: Path, name: str) -> None:
    repository = with_own_hook(a_git_folder(tmp_path / name))
    run_users_hook(state, repository, "--unless", SETTINGS)
    assert kept(repository) == 0


def test_settings_that_run_a_hook_elsewhere_do_not_silence_the_users(state: Path, tmp_path: Path) -> None:
    repository = with_own_hook(a_git_folder(tmp_path / "moved"), home=tmp_path / "before" / ".git" / "custody")
    run_users_hook(state, repository, "--unless", SETTINGS)
    assert kept(repository) == 1


def test_only_settings_that_the_agent_reads_silence_the_users_hook(state: Path, tmp_path: Path) -> None:
    repository = with_own_hook(a_git_folder(tmp_path / "repository"))
    (repository / "deep").mkdir()
    run_users_hook(state, repository, "--unless", SETTINGS, CLAUDE_PROJECT_DIR=str(repository / "deep"))
    assert kept(repository) == 1
    run_users_hook(state, repository / "deep", "--unless", SETTINGS, CLAUDE_PROJECT_DIR=str(repository))
    assert kept(repository) == 1


@pytest.mark.parametrize("own", [{"cursor_version": "2.1"}, {"conversation_id": "c"}], ids=["version", "conversation"])
def test_cursors_events_in_claude_codes_hook_are_left_to_its_own_hook(tmp_path: Path, own: dict[str, Any]) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    ran = run_hook(repository, a_hook_event("Stop", repository, **own))
    assert (ran.status, ran.out, ran.err) == (0, "{}\n" if "cursor_version" in own else "", "")
    assert kept(repository) == 0
