"""Usage errors have the shape of all errors: what is wrong, then one hint."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("-C",), "option '-C' requires an argument", "run 'custody --help'"),
        (("log", "-n", "x"), "invalid value for '-n': 'x' is not a whole number", "run 'custody log --help'"),
        (("records", "--knd"), "no such option '--knd'", "did you mean '--kind'?"),
        (("log", "--xyzzy"), "no such option '--xyzzy'", "run 'custody log --help'"),
        (("bogus",), "unknown command 'bogus'", "run 'custody --help'"),
        (("trust", "bogus"), "unknown command 'bogus'", "run 'custody trust --help'"),
        (("graph", "nxt"), "unknown command 'nxt'", "did you mean 'next'?"),
        (("verfy",), "unknown command 'verfy'", "did you mean 'verify'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_usage_error_has_a_message_and_a_hint(
    tmp_path: Path, words: tuple[str, ...], message: str, hint: str
) -> None:
    ran = custody(tmp_path, *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines() == [f"error: {message}", f"hint: {hint}"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_has_a_hint(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path / "repository")
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "custody", "log"], cwd=repository, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ran.returncode == 3
    assert ran.stderr.decode().splitlines() == [
        "error: cannot read or write: no space left on device",
        "hint: free disk space, then run it again",
    ]
