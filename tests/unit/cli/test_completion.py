"""The shell completes files, revisions, sessions and agents, and nothing outside a repository."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from custody.cli.completion import PAGES
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody


def completed(folder: Path, line: str) -> list[str]:
    words = line.split(" ")
    environment = {
        **os.environ,
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_CUSTODY_COMPLETE": "bash_complete",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "custody"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet", "--initial-branch", "main"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "branch", "feature/refunds"], check=True)
    subprocess.run([*git, "tag", "v1.0"], check=True)
    spool_of(tmp_path).put(an_event("prompt", session="5d2f0c3e", agent="robot"))
    return tmp_path


def test_files_are_left_to_the_shell(repository: Path) -> None:
    assert completed(repository, "custody blame src/a") == ["file,src/a"]


def test_revisions_are_branches_and_tags(repository: Path) -> None:
    assert completed(repository, "custody blame app.py ") == [
        "plain,HEAD",
        "plain,feature/refunds",
        "plain,main",
        "plain,v1.0",
    ]
    assert completed(repository, "custody gate main..fe") == ["plain,main..feature/refunds"]


def test_sessions_and_agents_are_those_of_the_store(repository: Path) -> None:
    assert completed(repository, "custody log 5d") == ["plain,5d2f0c3e"]
    assert completed(repository, "custody stats --agent ") == ["plain,robot"]
    assert completed(repository, "custody trust show r") == ["plain,robot"]


def test_outside_a_repository_nothing_is_completed(tmp_path: Path) -> None:
    assert completed(tmp_path, "custody log ") == []


def test_help_completes_commands_and_topics(tmp_path: Path) -> None:
    assert completed(tmp_path, "custody help ce") == ["plain,certainty"]
    assert completed(tmp_path, "custody help tru") == ["plain,trust"]
    assert completed(tmp_path, "custody help trust app") == ["plain,approve"]
    assert completed(tmp_path, "custody help blame ") == []
    assert completed(tmp_path, "custody help nothing ") == []


def test_decisions_imports_and_pages_are_completed(repository: Path) -> None:
    assert completed(repository, "custody trust record r") == ["plain,robot"]
    assert completed(repository, "custody trust record robot ") == [
        "plain,accepted",
        "plain,modified",
        "plain,rejected",
    ]
    assert completed(repository, "custody trust record robot accepted H") == ["plain,HEAD"]
    assert completed(repository, "custody import cla") == ["plain,claude-code"]
    assert completed(repository, "custody import ent") == ["plain,entire"]
    assert completed(repository, "custody import evid") == ["file,evid"]
    assert completed(repository, "custody serve --open ov") == ["plain,overview"]
    assert completed(repository, "custody serve --open src/") == ["file,src/"]


def test_the_pages_are_those_that_the_help_of_serve_names(tmp_path: Path) -> None:
    shown = " ".join(custody(tmp_path, "serve", "--help").out.split())
    assert f"the name of a page ({', '.join(PAGES)})" in shown


@pytest.mark.parametrize(
    "calling",
    [
        "words=(git custody log 5d); cword=3; _git_custody",
        "words=(git -C . custody log 5d); cword=5; __git_cmd_idx=3; _git_custody",
        "COMP_WORDS=(git-custody log 5d); COMP_CWORD=2; _custody_completion git-custody",
    ],
)
def test_git_custody_is_completed_as_custody_is(repository: Path, calling: str) -> None:
    script = custody(repository, "completion", "bash").out
    programs = f'PATH="{Path(sys.executable).parent}:$PATH"'
    ran = subprocess.run(
        ["bash", "-c", f'{programs}\n{script}\n{calling}\necho "${{COMPREPLY[@]}}"'],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("5d2f0c3e\n", "")


def test_every_shell_completes_git_custody(tmp_path: Path) -> None:
    for shell, line in (
        ("bash", "complete -o nosort -F _custody_completion git-custody"),
        ("zsh", "compdef _custody_completion git-custody"),
        ("fish", "--command git-custody"),
    ):
        assert line in custody(tmp_path, "completion", shell).out
