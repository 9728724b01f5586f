"""Help is where people expect it, and every verb names a revision the same way."""

import subprocess
from pathlib import Path

import pytest

from tests.builders.in_process import custody


def test_help_of_a_verb_is_its_own_help(tmp_path: Path) -> None:
    assert custody(tmp_path, "help", "blame").out == custody(tmp_path, "blame", "--help").out
    assert custody(tmp_path, "help", "trust", "approve").out == custody(tmp_path, "trust", "approve", "--help").out
    assert custody(tmp_path, "help").out == custody(tmp_path, "--help").out


def test_help_of_an_unknown_topic_names_the_nearest(tmp_path: Path) -> None:
    ran = custody(tmp_path, "help", "blam")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "error: unknown command 'blam'; did you mean 'blame'?\nhint: run 'custody --help'\n"


@pytest.mark.parametrize("verb", [("blame", "a.py"), ("why", "a.py:1"), ("stats", ".")])
def test_a_revision_comes_after_what_a_verb_is_about_or_with_its_alias(repository: Path, verb: tuple[str, ...]) -> None:
    named, alias = custody(repository, *verb, "HEAD", "--json"), custody(repository, *verb, "--rev", "HEAD", "--json")
    assert (named.status, named.out) == (0, alias.out)
    both = custody(repository, *verb, "HEAD", "--rev", "HEAD")
    assert both.status == 2
    assert both.err == "error: REV and --rev are mutually exclusive\nhint: leave out --rev\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:

    (tmp_path / "a.py").write_text("x = 1\n")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path
