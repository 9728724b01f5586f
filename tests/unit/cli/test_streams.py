"""What the command writes where: help on standard output, nothing to a closed stream, no escapes to the terminal."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from custody.cli.main import cli
from custody.cli.verb_table import SECTIONS
from tests.builders.cli import a_git_folder, recorded
from tests.builders.in_process import custody


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


@pytest.fixture
def committed(repository: Path) -> Path:
    (repository / "a.py").write_text("x = 1\n")
    for command in (("add", "."), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *command], cwd=repository, check=True)
    return repository


def list_groups() -> list[str]:
    """Return the verbs that only group others."""
    context = click.Context(cli)
    commands = {verb: cli.get_command(context, verb) for verbs in SECTIONS.values() for verb in verbs}
    return [verb for verb, group in commands.items() if isinstance(group, click.Group) and group.no_args_is_help]


def test_a_group_alone_prints_its_help(tmp_path: Path) -> None:
    assert len(list_groups()) >= 6
    for verb in list_groups():
        ran, shown = custody(tmp_path, verb), custody(tmp_path, verb, "--help")
        assert (ran.status, ran.err) == (2, ""), verb
        assert ran.out == shown.out


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["log", "blame a.py"])
def test_a_closed_stream_changes_no_exit_status(committed: Path, verb: str, closed: str) -> None:
    command = f"{sys.executable} -m custody {verb} {closed}"
    ran = subprocess.run(command, shell=True, cwd=committed, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert bool(ran.stdout) == (closed == "2>&-")


def test_an_error_without_a_stream_for_it_keeps_its_status(committed: Path) -> None:
    ran = subprocess.run(f"{sys.executable} -m custody log --nothing 2>&-", shell=True, cwd=committed, check=False)
    assert ran.returncode == 2


def test_a_closed_standard_output_is_not_the_store(committed: Path) -> None:
    recorded(committed)
    subprocess.run(f"{sys.executable} -m custody export >&-", shell=True, cwd=committed, check=True)
    assert custody(committed, "verify").out == "OK: 3 records verified\n"


@pytest.mark.parametrize("verb", ["export", "records -n 1000"])
def test_a_reader_that_leaves_early_is_not_a_failure(committed: Path, verb: str) -> None:
    recorded(committed, 800)
    script = f"{sys.executable} -m custody {verb} | head -c 10; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], cwd=committed, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


EVIL = "\x1b[31mx\r\nhint: run this\u202e"


@pytest.mark.parametrize(
    "words",
    [
        ("log", EVIL),
        (EVIL,),
        ("log", f"--{EVIL}"),
        ("trust", "show", EVIL),
        ("blame", EVIL),
        ("blame", "a.py", EVIL),
        ("-C", EVIL, "log"),
        ("log", "-n", EVIL),
        ("help", EVIL),
        ("import", EVIL),
        ("show", EVIL),
        ("--color", EVIL, "log"),
        ("push", EVIL),
    ],
    ids=lambda words: " ".join(words).replace(EVIL, "EVIL"),
)
def test_control_characters_of_a_name_do_not_reach_the_terminal(committed: Path, words: tuple[str, ...]) -> None:
    ran = custody(committed, *words)
    printed = ran.out + ran.err
    assert [letter for letter in printed if letter in "\x1b\r\u202e"] == []
    assert [line for line in printed.splitlines() if line.startswith("hint: run this")] == []
    assert printed
