"""The GitHub Action's script as a runner runs it, on a real repository."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
import yaml

from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import Built, a_history, a_repository

ROOT = Path(__file__).resolve().parents[3]
OLD, NEW = b"one = first(1)\n", b"one = first(1)\nalpha = beta(gamma)\n"
STRICT = b'[gate.levels]\nATTR-UNSEEN = "block"\n'


@dataclass(frozen=True)
class Ran:
    """The exit status of the step, and its output files."""

    status: int
    said: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Put a ``custody`` on PATH."""
    path = tmp_path / "custody-program"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m custody "$@"\n')
    path.chmod(0o755)
    return path


def step(built: Built, program: Path, tmp_path: Path, **environment: str) -> Ran:
    """Run the action's step."""
    runner = tmp_path / "runner"
    runner.mkdir(exist_ok=True)
    output, summary = runner / "output", runner / "summary"
    output.write_text("")
    summary.write_text("")
    done = subprocess.run(
        ["bash", str(ROOT / "action" / "gate.sh")],
        cwd=built.path,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "RUNNER_TEMP": str(runner),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "CUSTODY_ACTION": str(ROOT),
            "CUSTODY_PROGRAM": str(program),
            "CUSTODY_PYTHON": sys.executable,
            "CUSTODY_EVIDENCE": "",
            **environment,
        },
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return Ran(done.returncode, done.stdout + done.stderr, outputs, summary.read_text())


def changed(tmp_path: Path, base: dict[bytes, bytes], head: dict[bytes, bytes]) -> tuple[Built, str, str]:
    """Return a repository with a change, its base and its head."""
    built = a_repository(tmp_path / "checkout")
    first, last = a_history(built, base, head)
    built.checkout()
    return built, first, last


def test_a_verdict_is_written_where_the_runner_looks(tmp_path: Path, program: Path) -> None:
    built, base, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    sarif = tmp_path / "found.sarif"
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head, CUSTODY_SARIF=str(sarif))
    assert (ran.status, ran.outputs["level"]) == (0, "review"), ran.said
    assert json.loads(Path(ran.outputs["verdict"]).read_text())["head"] == head
    assert "ATTR-UNSEEN" in unescape(ran.summary)
    assert "title=medium%3A ATTR-UNSEEN" in ran.said
    assert json.loads(sarif.read_text())["version"] == "2.1.0"


@pytest.mark.parametrize(("fail_on", "status"), [("block", 1), ("nothing", 0)])
def test_a_blocked_change_fails_the_step_unless_told_not_to(
    tmp_path: Path, program: Path, fail_on: str, status: int
) -> None:
    built, base, head = changed(
        tmp_path, {b"a.py": OLD, b"custody.toml": STRICT}, {b"a.py": NEW, b"custody.toml": STRICT}
    )
    ran = step(
        built,
        program,
        tmp_path,
        CUSTODY_BASE=base,
        CUSTODY_HEAD=head,
        CUSTODY_FAIL_ON=fail_on,
        CUSTODY_ANNOTATIONS="false",
    )
    assert "::error" not in ran.said
    assert (ran.status, ran.outputs["level"]) == (status, "block"), ran.said


@pytest.mark.parametrize("base", ["", "main", "$(touch pwned)", "a" * 41])
def test_a_base_that_is_not_a_commit_is_a_readable_error(tmp_path: Path, program: Path, base: str) -> None:
    built, _, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head)
    assert ran.status == 2
    assert "no base commit" in ran.said


def test_a_shallow_checkout_is_an_error_that_names_the_remedy(tmp_path: Path, program: Path) -> None:
    built, _, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    ran = step(built, program, tmp_path, CUSTODY_BASE="b" * 40, CUSTODY_HEAD=head)
    assert ran.status == 2
    assert "fetch-depth: 0" in ran.said


def test_without_an_answer_no_verdict_is_given(tmp_path: Path, program: Path) -> None:
    built, base, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    program.write_text("#!/bin/sh\nexit 3\n")
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head)
    assert (ran.status, ran.outputs) == (2, {})


def test_words_of_a_pull_request_are_never_run(tmp_path: Path, program: Path) -> None:
    built, base, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    words = "`touch pwned` $(touch pwned) ; touch pwned\n::set-output name=level::approve"
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head, CUSTODY_TITLE=words, CUSTODY_BODY=words)
    assert ran.status == 0, ran.said
    assert not list(tmp_path.rglob("pwned"))


def test_the_action_hands_everything_over_by_the_environment() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (only,) = action["runs"]["steps"]
    assert "${{" not in only["run"]
    script = (ROOT / "action" / "gate.sh").read_text()
    assert all(name in script for name in only["env"])


def test_a_review_is_in_the_summary_and_uploaded_without_prompts(tmp_path: Path, program: Path) -> None:
    built, base, head = changed(tmp_path, {b"a.py": OLD}, {b"a.py": NEW})
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head)
    assert "Read these first" in ran.summary and "::warning " in ran.said, ran.said
    review = json.loads(Path(ran.outputs["review"]).read_text())
    assert (review["report"], review["head"], review["hunks"][0]["prompt"]["text"]) == ("review", head, None)


@pytest.mark.parametrize(
    ("number", "head"), [("7; rm -rf .", "b" * 40), ("", "b" * 40), ("7", "main"), ("-7", "b" * 40)]
)
def test_a_hostile_upload_reaches_no_command(tmp_path: Path, number: str, head: str) -> None:
    (tmp_path / "number").write_text(number)
    (tmp_path / "review.json").write_text("{}")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    trap.chmod(0o755)
    given = {"CUSTODY_HEAD": head, "CUSTODY_REPOSITORY": "o/n", "CUSTODY_TOKEN": "t", "CUSTODY_PROGRAM": str(trap)}
    script = str(ROOT / "action" / "comment.sh")
    done = subprocess.run(
        ["bash", script, str(tmp_path)], env={**os.environ, **given}, capture_output=True, check=False
    )
    assert done.returncode == 2 and not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("disclosure", "message", "status", "undisclosed"),
    [
        ("off", "alpha", 0, None),
        ("report", "alpha", 0, "1"),
        ("require", "alpha <b>|@ana`", 1, "1"),
        ("require", "alpha\n\nAssisted-by: robot:m-1", 0, "0"),
        ("require", "alpha\n\nAssisted-by: robot:m-1\nAssisted-by: codex", 0, "0"),
        ("nonsense", "alpha", 2, None),
    ],
)
def test_commits_must_disclose_agents_where_the_project_requires_it(
    tmp_path: Path, program: Path, disclosure: str, message: str, status: int, undisclosed: str | None
) -> None:
    built = a_repository(tmp_path / "checkout")
    base = built.commit({b"a.py": OLD}, at=1_767_000_000)
    spool_of(built.path).put(an_event("session", model="m-1", at="2026-01-31T11:59:00Z"))
    edit = {"path": "a.py", "before": OLD.decode(), "after": NEW.decode(), "head": base}
    spool_of(built.path).put(an_event("edit", id="e1", **edit))
    head = built.commit({b"a.py": NEW}, base, message=message.encode(), at=1_769_862_000)
    built.checkout()
    settings = {"CUSTODY_DISCLOSURE": disclosure, "CUSTODY_FAIL_ON": "nothing"}
    ran = step(built, program, tmp_path, CUSTODY_BASE=base, CUSTODY_HEAD=head, **settings)
    assert (ran.status, ran.outputs.get("undisclosed")) == (status, undisclosed), ran.said
    if undisclosed is not None:
        assert ("missing: <code>Assisted-by: robot:m-1</code>" in ran.summary) == (undisclosed == "1")
        assert ("no record here supports: <code>Assisted-by: codex</code>" in ran.summary) == ("codex" in message)
        assert "<b>" not in ran.summary
        assert "@ana" not in ran.summary.partition("### Disclosure")[2]
