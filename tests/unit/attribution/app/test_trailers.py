"""``custody trailer``: trailers rest on recorded edits, never on what commits say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.app.trailers import add_message_trailers
from custody.core.commit_agents import list_assisting_agents
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"
ROOT = Path(__file__).resolve().parents[4]
ROBOT = "Assisted-by: robot:m-1"
AFTER = 1_769_862_000


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """Return a repository with a commit of a person, and a recorded edit that is not committed yet."""
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()}, at=1_767_000_000)
    spool_of(made.path).put(an_event("session", model="m-1", at="2026-01-31T11:59:00Z"))
    spool_of(made.path).put(an_event("edit", id="e1", path="a.py", before=OLD, after=NEW, head=made.head()))
    return made


def commit(built: Built, message: str) -> None:
    built.commit({b"a.py": NEW.encode()}, built.head(), message=message.encode(), at=AFTER)


def test_a_commit_has_a_trailer_for_each_agent_that_wrote_lines(built: Built) -> None:
    assert "No recorded agent wrote lines of " in custody(built.path, "trailer").out
    commit(built, "mean\n")
    assert custody(built.path, "trailer").out == f"{ROBOT}\n"
    assert custody(built.path, "trailer", "HEAD~1..HEAD", "--json").out.count(ROBOT) == 2


@pytest.mark.parametrize(
    ("message", "status", "shown"),
    [
        ("mean\n", 1, f"missing   {ROBOT}"),
        (f"mean\n\n{ROBOT}\n", 0, "OK: 1 commit checked"),
        ("mean\n\nassisted-by: Robot\n", 0, "OK: 1 commit checked"),
        ("mean\n\nAssisted-by: robot:m-2\n", 1, "unbacked  Assisted-by: robot:m-2"),
        (f"mean\n\n{ROBOT}\nAssisted-by: codex\n", 1, "unbacked  Assisted-by: codex"),
        ("mean\n\nCo-authored-by: robot <robot@example.invalid>\n", 1, f"missing   {ROBOT}"),
    ],
)
def test_a_check_compares_trailers_with_records(built: Built, message: str, status: int, shown: str) -> None:
    commit(built, message)
    ran = custody(built.path, "trailer", "HEAD~1..HEAD", "--check")
    assert (ran.status, shown in ran.out) == (status, True), ran.out


def test_a_trailer_does_not_back_itself(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "plain")
    made.commit({b"a.py": OLD.encode()}, message=b"total\n\nAssisted-by: codex:gpt-5\n")
    ran = custody(made.path, "trailer", "HEAD", "--check")
    assert (ran.status, "unbacked  Assisted-by: codex:gpt-5" in ran.out) == (1, True)


def test_a_hook_discloses_what_is_staged(built: Built, tmp_path: Path) -> None:
    built.checkout()
    (built.path / "a.py").write_text(NEW)
    built.git("add", "a.py")
    tree = built.git("write-tree").decode().strip()
    staged = built.git("commit-tree", tree, "-p", "HEAD", "-m", "staged").decode().strip()
    message = tmp_path / "MESSAGE"
    message.write_text("mean\n\n# Please enter the commit message\n")
    assert custody(built.path, "trailer", staged, "--write", str(message)).status == 0
    assert message.read_text() == f"mean\n\n{ROBOT}\n\n# Please enter the commit message\n"
    assert custody(built.path, "trailer", staged, "--write", str(message)).status == 0
    assert message.read_text().count(ROBOT) == 1


def list_documented_hooks() -> list[str]:
    """Return the hook of the documentation, and that of the pre-commit framework as a script."""
    written = (ROOT / "docs" / "disclosure.md").read_text().split("```sh\n")[1].split("```")[0]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (entry,) = [hook["entry"] for hook in hooks if hook["id"] == "custody-trailer"]
    return [written, f'#!/bin/sh\nexec {entry} "$1"\n']


@pytest.mark.parametrize("script", list_documented_hooks(), ids=["by hand", "pre-commit"])
def test_the_documented_hooks_disclose_in_a_real_commit(built: Built, tmp_path: Path, script: str) -> None:
    program = tmp_path / "bin" / "custody"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m custody "$@"\n')
    hook = built.path / ".git" / "hooks" / "commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script)
    for file in (program, hook):
        file.chmod(0o755)
    built.checkout()
    (built.path / "a.py").write_text(NEW)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    built.git(*author, "commit", "-qam", "mean", environment=path)
    assert built.git("log", "-1", "--format=%B").decode().strip() == f"mean\n\n{ROBOT}"
    (built.path / "b.py").write_text("typed = 1\n")
    built.git("add", "b.py")
    built.git(*author, "commit", "-qm", "typed", environment=path)
    assert built.git("log", "-1", "--format=%B").decode().strip() == "typed"


def test_wrong_uses_are_named(built: Built, tmp_path: Path) -> None:
    for arguments, words in (
        (("nowhere",), "nowhere"),
        (("HEAD", "--check", "--write", "x"), "mutually exclusive"),
        (("HEAD", "--write", str(tmp_path / "missing")), "cannot read"),
    ):
        ran = custody(built.path, "trailer", *arguments)
        assert (ran.status, words in ran.err) == (2, True), ran.err
    assert json.loads(custody(built.path, "trailer", "HEAD..HEAD", "--json").out)["commits"] == []


@given(st.text(st.characters(exclude_characters="#\r\x00", exclude_categories=("Cs", "Zl", "Zp", "Cc")), min_size=1))
def test_git_reads_the_trailers_that_were_added(subject: str) -> None:
    """git's own parser finds exactly the new trailers, and the text before them is as it was."""
    message = f"subject {subject}\n\nbody {subject}\n"
    changed = add_message_trailers(message, [ROBOT])
    assert changed.startswith(message)
    ran = subprocess.run(
        ("git", "interpret-trailers", "--parse"), input=changed.encode(), capture_output=True, check=True
    )
    assert ran.stdout.decode().splitlines() == [ROBOT]
    assert [named.model for named in list_assisting_agents(changed) if named.agent == "robot"] == ["m-1"]
