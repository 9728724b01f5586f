"""The bench of sketching, on a small real repository."""

import io
import json
import subprocess
from pathlib import Path

import pytest

from bench import sketch
from bench.attribution.world import surroundings
from bench.runner import MissingData


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make three commits: two of text, one of bytes."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    for name, content in (
        ("a.ts", b"const a = 1;\nconst b = 2;\n"),
        ("b.bin", b"\0\1\2"),
        ("a.ts", b"const a = 1;\n@@ caf\xe9 = 3;\n"),
    ):
        (folder / name).write_bytes(content)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"change {name}")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=surroundings(folder.parent), check=True)


def test_changes_are_the_sides_of_hunks(repository: Path, tmp_path: Path) -> None:
    found = sketch.changes_of(repository, tmp_path)
    assert found.texts == [["const b = 2;", "@@ caf\udce9 = 3;"], ["const a = 1;\nconst b = 2;"]]
    assert (found.lines, found.passed_over) == (4, 1)


def test_a_missing_object_costs_its_commit_only(repository: Path, tmp_path: Path) -> None:
    shown = subprocess.run(
        ["git", "rev-parse", "HEAD:a.ts"], cwd=repository, env=surroundings(tmp_path), capture_output=True, check=True
    )
    name = shown.stdout.decode().strip()
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    (repository / "a.ts").unlink()  # git would read the bytes from there
    found = sketch.changes_of(repository, tmp_path)
    assert found.texts == [["const a = 1;\nconst b = 2;"]]
    assert found.passed_over == 2


def test_both_sides_give_keys_for_every_view(repository: Path, tmp_path: Path) -> None:
    changes = sketch.changes_of(repository, tmp_path)
    for _, _, job in sketch.JOBS:
        sides = job(changes)
        for keys in (sides.subject(), sides.baseline()):
            assert isinstance(keys, list)
            assert [len(view) for view in keys] == [sketch.BANDS] * 4


def test_the_command_says_what_it_measured_on(repository: Path) -> None:
    out = io.StringIO()
    assert sketch.main(["--repo", str(repository), "--json"], out=out, err=io.StringIO()) == 0
    said = json.loads(out.getvalue())
    assert (said["commits"], said["lines"], said["passed_over"]) == (2, 4, 1)
    assert [result["name"] for result in said["results"]] == ["sketch-signatures", "sketch-pipeline"]


def test_without_a_repository_no_figure_is_given(tmp_path: Path) -> None:
    err = io.StringIO()
    with pytest.raises(MissingData, match="needs a repository"):
        sketch.changes_of(tmp_path, tmp_path)
    assert sketch.main(["--repo", str(tmp_path)], out=io.StringIO(), err=err) == 1
    assert err.getvalue().startswith("not measured: needs a repository")
