"""A name in a transcript is a path of this repository, or is reported as outside."""

from pathlib import Path

import pytest

from custody.capture import ChangedFile
from custody.git import discover_repository
from custody.intake.backfill import Paths, list_history_paths
from tests.builders.repo import a_history, a_repository

HISTORY = frozenset(("src/app.py", "app.py", "README.md", "lib/deep/x.py"))
PATHS = Paths(("/home/me/repo", "/home/me/repo/inner", "/home/me/linked"), lambda: HISTORY)


@pytest.mark.parametrize(
    ("name", "cwd", "path"),
    [
        ("/home/me/repo/new/file.py", "/anywhere", "new/file.py"),
        ("/home/me/repo/inner/a.py", None, "a.py"),
        ("/home/me/linked/src/app.py", None, "src/app.py"),
        ("src/x.py", "/home/me/repo", "src/x.py"),
        ("../x.py", "/home/me/repo/src", "x.py"),
        ("/home/me/repo/.claude/worktrees/fix/src/y.py", None, "src/y.py"),
        ("/home/me/repo", None, None),
        ("/home/me/repo/../other/x.py", None, None),
        ("/home/me/repository/x.py", None, None),
        ("../../x.py", "/home/me/repo", None),
        ("/other/machine/src/app.py", "/other/machine", "src/app.py"),
        ("/other/machine/lib/deep/x.py", None, "lib/deep/x.py"),
        ("/other/machine/README.md", "/other/machine", "README.md"),
        ("/other/machine/README.md", "/other/machine/src", "README.md"),
        ("/other/else/README.md", "/other/machine", None),
        ("/tmp/app.py", "/home/me/repo", None),
        ("/README.md", "/", None),
        ("deep/x.py", "/other/machine/lib", "lib/deep/x.py"),
        ("C:\\work\\repo\\src\\app.py", "C:\\work\\repo", "src/app.py"),
        ("C:\\work\\repo\\README.md", "C:\\work\\repo", "README.md"),
        ("D:\\else\\README.md", "C:\\work\\repo", None),
        ("/other/machine/unheard/of.py", "/other/machine", None),
        ("bad\0name", "/home/me/repo", None),
        ("", "/home/me/repo", None),
    ],
)
def test_names(name: str, cwd: str | None, path: str | None) -> None:
    assert PATHS.find(ChangedFile(name, cwd)) == path


@pytest.mark.parametrize(
    ("name", "cwd", "path"),
    [
        ("/link/new.py", "/link", "new.py"),
        ("/link/src/new.py", "/link/src", "src/new.py"),
        ("/link/new.py", "/link/src", "new.py"),
        ("../new.py", "/link/src", "new.py"),
        ("/linked/new.py", "/link", None),
        ("/short/new.py", "/short", "src/new.py"),
        ("/away/new.py", "/away", None),
    ],
)
def test_a_folder_that_was_reached_through_a_link_is_the_work_trees(name: str, cwd: str, path: str | None) -> None:
    links = {"/link": "/repo", "/link/src": "/repo/src", "/short": "/repo/src"}
    paths = Paths(("/repo",), lambda: frozenset(()), lambda folder: links.get(folder, folder))
    assert paths.find(ChangedFile(name, cwd)) == path


def test_history_is_read_once_and_only_when_it_is_needed() -> None:
    asked: list[int] = []
    paths = Paths(("/r",), lambda: frozenset((asked.append(1), "a/b")[1:]))  # type: ignore[func-returns-value]
    assert paths.find(ChangedFile("/r/x", None)) == "x"
    assert asked == []
    assert (paths.find(ChangedFile("/o/a/b", None)), paths.find(ChangedFile("/p/a/b", None)), asked) == (
        "a/b",
        "a/b",
        [1],
    )


def test_every_path_of_every_branch_is_known(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    first, _ = a_history(built, {b"gone.py": b"x"}, {b"dir/kept.py": b"y"})
    built.commit({b"gone.py": b"x", b"elsewhere.py": b"z"}, first, ref="refs/heads/other")
    assert list_history_paths(discover_repository(built.path)) == {"gone.py", "dir/kept.py", "elsewhere.py"}


def test_an_empty_repository_has_no_paths(tmp_path: Path) -> None:
    assert list_history_paths(discover_repository(a_repository(tmp_path / "r").path)) == frozenset()
