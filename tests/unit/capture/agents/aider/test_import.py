"""Aider's history in a real repository: found in the work tree, imported once, and attributed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.core.views import CommitLink, FileEdit
from custody.core.wire.report import ImportTranscriptsReport
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.aider import MODEL, Aider
from tests.builders.captured import lines, views
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
COST, PIECE = "    return item.cost", "    return item.cost * (1 - item.discount)"
OWN = OLD.replace(COST, PIECE)
PATH = "src/app.py"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use UTC, so that the history's local times are those of the commits."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({PATH.encode(): OLD.encode()}, at=1_769_857_200)
    made.checkout()
    return made


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["aider"], place)


@pytest.mark.parametrize("tool", ["replace", "write"])
def test_the_agents_lines_are_attributed_to_the_agent_and_its_commit(built: Built, tool: str) -> None:
    commit = built.commit({PATH.encode(): OWN.encode()}, built.head(), at=1_769_860_860)
    built.checkout()
    chat = Aider().start().prompt("give a discount")
    chat = chat.replace(PATH, COST, PIECE, commit=commit[:7]) if tool == "replace" else chat.write(PATH, OWN)
    chat.put(built.path)
    report = imported(built)
    assert (report.problem_count, report.place) == (0, str(built.path))
    assert [n for n, kind in lines(built).items() if kind == "agent"] == [2]
    (answer,) = [one for one in blame(Workspace(built.path), PATH).report.attributions if one.kind == "agent"]
    assert (answer.agent, answer.model_id, answer.grade) == ("aider", MODEL, "claimed")
    assert [link.commit for link in views(built, CommitLink)] == ([commit] if tool == "replace" else [])


def test_a_grown_history_adds_what_is_new_and_a_second_import_nothing(built: Built) -> None:
    chat = Aider().start().prompt("w").write("b.py", "x\n")
    chat.put(built.path)
    assert [imported(built).new for _ in range(2)] == [2, 0]
    chat.prompt("x").write("c.py", "y\n").put(built.path)
    assert imported(built).new == 2


def test_edits_outside_the_repository_and_unknown_commits_are_reported(built: Built) -> None:
    Aider().start().prompt("w").write("../../etc/passwd", "x\n", commit="0123abc").put(built.path)
    report = imported(built)
    assert report.edits_without_file == 1 and views(built, FileEdit) == [] and views(built, CommitLink) == []
    assert any("commit '0123abc' is not in this repository" in problem.what for problem in report.problems)


def test_import_doctor_and_init_name_aider(built: Built) -> None:
    Aider().start().prompt("w").write("b.py", "x\n").put(built.path)
    doctor = custody(built.path, "doctor").out
    assert "Aider  transcripts only, no hook" in doctor and "run 'custody import aider'" in doctor
    assert "Transcripts only, no hook: Aider" in custody(built.path, "init", "--yes").out
    assert "Aider: 1 session" in custody(built.path, "import", "-v").out
    assert "1 known" not in custody(built.path, "import", str(built.path / ".aider.chat.history.md")).err
