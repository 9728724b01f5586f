"""What the command writes where: help on standard output, nothing to a closed stream, no escapes to the terminal."""

from pathlib import Path

import click
import pytest

from custody.cli.main import cli
from custody.cli.verb_table import SECTIONS
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


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
