"""A lane of tests runs when its part of the tree was changed, and whenever that is unknown."""

import subprocess
from pathlib import Path

import pytest

from tools.lanes import LANES, ROOT, skipped, touched_paths


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def commit(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(name)
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-m", name)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-b", "main")
    commit(tmp_path, "README.md")
    git(tmp_path, "branch", "base")
    return tmp_path


@pytest.mark.parametrize(
    ("touched", "left_out"),
    [
        (["docs/gate.md"], list(LANES)),
        (["web/src/app.ts"], ["tests/faults", "tests/unit/bench"]),
        (["src/custody/store/db.py"], []),
        (["src/custody/gate/rules.py"], ["tests/faults"]),
        (["bench/rows.py"], ["tests/browser", "tests/faults"]),
        (["docs/gate.md", "pyproject.toml"], []),
        (None, []),
    ],
)
def test_a_lane_runs_when_its_part_was_touched(touched: list[str] | None, left_out: list[str]) -> None:
    assert skipped(touched) == left_out


def test_every_lane_is_a_folder_of_tests() -> None:
    assert all((ROOT / lane).is_dir() for lane in LANES)
    assert all((ROOT / own).exists() for paths in LANES.values() for own in paths)


def test_committed_and_other_changes_since_the_base_count(tree: Path) -> None:
    commit(tree, "bench/rows.py")
    (tree / "new.py").write_text("")
    assert touched_paths(tree, {"CUSTODY_BASE": "base"}) == ["bench/rows.py", "new.py"]


def test_without_a_base_or_a_difference_nothing_is_known(tree: Path) -> None:
    assert touched_paths(tree, {}) is None
    assert touched_paths(tree, {"CUSTODY_BASE": "gone"}) is None
    assert touched_paths(tree, {"CUSTODY_BASE": "base"}) is None
