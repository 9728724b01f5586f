"""``custody undo --apply``: all files or none, on a clean tree, also if the process is killed half-way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from custody.core.errors import InputError
from custody.undo.app import apply as applying
from custody.undo.app.plan import UndoRequest, plan_undo
from custody.workspace.workspace import Workspace
from tests.builders.undone import MINE, Undone, an_undone

FIRST, SECOND = "first = 1\nsecond = 2\n", "def other():\n    return 2\n"


def a_committed_story(tmp_path: Path) -> Undone:
    story = an_undone(tmp_path / "repository", {"a.py": FIRST, "b.py": SECOND, "gone.py": "gone = compute(3)\n"})
    story.edit("a.py", FIRST + "third = compute_third(first)\n")
    story.edit("b.py", SECOND.replace("return 2", "return compute_two()"))
    story.edit("made/new.py", "new = make_something()\n")
    (story.path / "gone.py").unlink()
    story.shell({"gone.py": ("gone = compute(3)\n", None)})
    story.commit("by the agent")
    return story


def test_the_work_tree_changes_and_nothing_is_staged_or_committed(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    head = story.built.head()
    ran = story.run(MINE, "--apply")
    assert (ran.status, ran.out.startswith("diff --git a/a.py b/a.py\n")) == (0, True)
    assert ran.err.startswith("undone: ")
    assert story.built.head() == head
    assert story.git("diff", "--cached", "--name-only") == b""
    assert {name: content for name, (content, _) in story.files().items()} == {
        "a.py": FIRST.encode(),
        "b.py": SECOND.encode(),
        "gone.py": b"gone = compute(3)\n",
    }
    assert not (story.path / "made").exists()
    assert not (story.path / ".git/custody-undo").exists()
    assert story.run(MINE, "--apply").status == 2, "the tree is no longer clean"


@pytest.mark.parametrize("change", ["modified", "staged", "deleted"])
def test_a_tree_with_uncommitted_changes_is_refused(tmp_path: Path, change: str) -> None:
    story = a_committed_story(tmp_path)
    if change == "deleted":
        (story.path / "b.py").unlink()
    else:
        story.write("b.py", "something else\n")
    if change == "staged":
        story.git("add", "--all")
    before = story.files()
    ran = story.run(MINE, "--apply")
    assert ran.err == (
        "error: the work tree has uncommitted changes\nhint: commit or stash them, or pipe the patch into 'git apply'\n"
    )
    assert (ran.status, ran.out, story.files()) == (2, "", before)


def test_files_that_git_does_not_have_are_refused(tmp_path: Path) -> None:
    story = an_undone(tmp_path / "repository", {"a.py": FIRST})
    story.edit("new.py", "new = make_something()\n")
    ran = story.run(MINE, "--apply")
    assert (ran.status, "'new.py' is not tracked by git" in ran.err) == (2, True)
    assert story.read("new.py") is not None


def test_a_failure_in_the_middle_restores_all_files(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    before = story.files()
    original, written = applying._write, []

    def failing(root: Path, path: object, content: bytes | None, mode: int) -> None:
        written.append(path)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        original(root, path, content, mode)  # type: ignore[arg-type]

    with patch.object(applying, "_write", failing):
        ran = story.run(MINE, "--apply")
    assert (ran.status, story.files()) == (3, before)
    assert "error: cannot change the work tree: No space left on device\nhint: nothing was changed\n" in ran.err
    assert not (story.path / ".git/custody-undo").exists()


def test_a_file_that_changes_meanwhile_stops_everything(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    workspace = Workspace(story.path)
    plan = plan_undo(workspace, UndoRequest(MINE))
    story.write("b.py", "a person types at this very time\n")
    before = story.files()
    with pytest.raises(InputError, match="changed meanwhile"):
        applying.apply_undo(plan, workspace.repository)
    assert story.files() == before


KILLED = """
import os, signal, sys
from custody.undo.app import apply
count, write = int(sys.argv[1]), apply._write
calls = []
def dying(*arguments):
    calls.append(arguments)
    if len(calls) > count:
        os.kill(os.getpid(), signal.SIGKILL)
    write(*arguments)
apply._write = dying
from custody.cli.main import main
sys.argv = ["custody", "undo", sys.argv[2], "--apply"]
main()
"""


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_killed_process_leaves_a_tree_that_can_be_restored(tmp_path: Path, count: int) -> None:
    story = a_committed_story(tmp_path)
    before = story.files()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(count), MINE], cwd=story.path, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    again = story.run(MINE)
    assert (again.status, again.err) == (
        2,
        (
            "error: an earlier 'custody undo --apply' was interrupted\n"
            "hint: 'custody undo --abort' restores the files as they were before it\n"
        ),
    )
    aborted = story.run("--abort")
    assert (aborted.status, story.files()) == (0, before), aborted
    assert story.run(MINE, "--apply").status == 0


def test_an_abort_spares_files_that_changed_since(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    subprocess.run([sys.executable, "-c", KILLED, "2", MINE], cwd=story.path, capture_output=True, check=False)
    story.write("a.py", "a person has been here\n")
    aborted = story.run("--abort")
    assert story.read("a.py") == b"a person has been here\n"
    assert "'a.py' changed since and stays" in aborted.err
    assert story.run("--abort").status == 2


def test_links_put_in_place_meanwhile_are_not_followed(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    workspace = Workspace(story.path)
    plan = plan_undo(workspace, UndoRequest(MINE))
    outside = tmp_path / "outside.py"
    outside.write_bytes((story.path / "b.py").read_bytes())
    (story.path / "b.py").unlink()
    os.symlink(outside, story.path / "b.py")
    with pytest.raises((InputError, OSError, Exception)):
        applying.apply_undo(plan, workspace.repository)
    assert b"compute_two" in outside.read_bytes()


def test_the_report_says_whether_it_was_applied(tmp_path: Path) -> None:
    story = a_committed_story(tmp_path)
    ran = story.run(MINE, "--apply", "--json")
    report = json.loads(ran.out)
    assert (report["applied"], report["imported"], len(report["files"])) == (True, False, 4)
