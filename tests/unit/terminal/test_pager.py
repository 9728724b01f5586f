"""Long output goes through the user's pager; a failing pager, or a repository's own, changes nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from custody.terminal.pager import page_text, pager_command
from custody.terminal.screen import Screen

SCREEN = Screen(columns=80, rows=3, is_terminal=True)
LONG = "a\nb\nc\nd\n"


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "TERM": "xterm", **more}


def test_a_long_answer_goes_to_the_pager(tmp_path: Path) -> None:
    out = tmp_path / "paged"
    assert page_text(LONG, SCREEN, environment(GIT_PAGER=f"cat > {out}"))
    assert out.read_text() == LONG


@pytest.mark.parametrize(
    ("text", "screen"),
    [("a\nb\n", SCREEN), (LONG, Screen()), (LONG, Screen(columns=80, rows=40, is_terminal=True))],
    ids=["short", "no terminal", "large screen"],
)
def test_what_fits_or_is_piped_is_not_paged(text: str, screen: Screen, tmp_path: Path) -> None:
    out = tmp_path / "paged"
    assert not page_text(text, screen, environment(GIT_PAGER=f"cat > {out}"))
    assert not out.exists()


def test_a_pager_that_does_not_exist_leaves_the_printing_to_the_caller() -> None:
    assert not page_text(LONG, SCREEN, environment(GIT_PAGER="no-such-pager-here 2>/dev/null"))


def test_a_dumb_terminal_has_no_pager(tmp_path: Path) -> None:
    assert not page_text(LONG, SCREEN, environment(TERM="dumb", GIT_PAGER=f"cat > {tmp_path / 'x'}"))


@pytest.mark.parametrize("named", ["cat", "", "  "])
def test_cat_and_nothing_mean_no_pager(named: str) -> None:
    assert pager_command(environment(GIT_PAGER=named)) is None


def test_the_users_own_configuration_counts_and_a_repositorys_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.pager", "evil"], check=True)
    monkeypatch.chdir(tmp_path)
    assert pager_command(environment(PAGER="more")) == "more"
    own = tmp_path / "own"
    own.write_text("[core]\n\tpager = mine --x\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert pager_command(environment(PAGER="more")) == "mine --x"
    assert pager_command(environment(GIT_PAGER="other")) == "other"
