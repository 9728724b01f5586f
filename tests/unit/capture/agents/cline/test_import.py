"""Tasks of Cline and Roo Code in a real repository: found, imported once, and attributed."""

from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.core.views import FileEdit
from custody.core.wire.report import ImportTranscriptsReport
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.captured import lines, views
from tests.builders.cline import MODEL, SHAPES, Cline
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
COST, PIECE = "    return item.cost", "    return item.cost * (1 - item.discount)"
OWN = OLD.replace(COST, PIECE)
PATH = "src/app.py"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({PATH.encode(): OLD.encode()}, at=1_769_857_200)
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "h"))
    (tmp_path / "h").mkdir()
    return tmp_path / "h"


def imported(built: Built, agent: str = "cline", place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS[agent], place)


def put(built: Built, text: str) -> None:
    (built.path / PATH).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tool", ["replace", "write"])
def test_the_agents_lines_are_attributed_to_the_agent(built: Built, home: Path, shape: str, tool: str) -> None:
    task = Cline(built.path, shape).prompt("give a discount")
    task = task.replace(PATH, COST, PIECE, final=OWN) if tool == "replace" else task.write(PATH, OWN, existed=True)
    task.put(home)
    assert imported(built, task.agent).problem_count == 0
    put(built, OWN)
    assert [n for n, kind in lines(built).items() if kind == "agent"] == [2]
    (answer,) = [one for one in blame(Workspace(built.path), PATH).report.attributions if one.kind == "agent"]
    assert (answer.agent, answer.model_id, answer.grade) == (task.agent, MODEL, "claimed")


def test_the_persons_lines_of_an_accepted_edit_are_not_the_agents(built: Built, home: Path) -> None:
    stored = OWN.replace(PIECE, f"    check_the_currency_of(item)\n{PIECE}")
    Cline(built.path).prompt("x").write(PATH, OWN, existed=True, stored=stored).put(home)
    imported(built)
    put(built, stored)
    assert lines(built)[3] == "agent" and lines(built)[2] != "agent"


def test_a_grown_task_adds_what_is_new_and_a_second_import_nothing(built: Built, home: Path) -> None:
    for shape in SHAPES:
        task = Cline(built.path, shape, task=f"176986080000{SHAPES.index(shape)}").prompt("x").write(PATH, OWN)
        task.put(home)
        assert imported(built, task.agent).new == 2
        task.shell("make").prompt("y").put(home)
        assert imported(built, task.agent).new == 2
        assert imported(built, task.agent).new == 0


def test_an_edit_outside_the_repository_is_stored_without_a_file(built: Built, home: Path) -> None:
    Cline(built.path).prompt("x").write("../../etc/passwd", "x\n").write("/etc/hosts", "x\n").put(home)
    report = imported(built)
    assert report.edits_without_file == 2 and views(built, FileEdit) == []


def test_secrets_are_redacted(built: Built, home: Path) -> None:
    key = "sk-ant-api03-" + "Zx9" * 30
    Cline(built.path).prompt(f"use {key}").write("a.py", f"KEY = '{key}'\n").put(home)
    imported(built)
    assert key not in custody(built.path, "export").out


def test_import_accepts_the_agents_name_a_path_and_finds_both_alone(built: Built, home: Path) -> None:
    cline, roo = (Cline(built.path, shape).prompt("x").write(PATH, OWN) for shape in ("cline", "roo"))
    file = cline.put(home)
    roo.put(home)
    assert "Imported 1 session" in custody(built.path, "import", str(file)).out
    assert "Imported 1 session" in custody(built.path, "import", "roo-code").out
    everything = custody(built.path, "import", "-v").out
    assert "Cline: 1 session" in everything and "Roo Code: 1 session" in everything


def test_doctor_and_init_say_that_only_transcripts_are_read(built: Built, home: Path) -> None:
    Cline(built.path).prompt("x").write(PATH, OWN).put(home)
    doctor = custody(built.path, "doctor").out
    assert "Cline" in doctor and "transcripts only, no hook" in doctor
    assert "1 session not imported (run 'custody import cline')" in doctor
    assert "Roo Code" not in doctor
    assert "Transcripts only, no hook: Cline" in custody(built.path, "init", "--yes").out
    refused = custody(built.path, "init", "--agent", "cline")
    assert refused.status == 2 and "Cline has no hook: transcripts only" in refused.err
    assert "custody import cline" in refused.err
    imported(built)
    assert "1 session" in custody(built.path, "doctor").out


def test_an_installed_agent_without_a_hook_is_not_offered_for_recording(built: Built, home: Path) -> None:
    Cline("/elsewhere").prompt("x").put(home)
    status = custody(built.path).out
    assert "init --agent cline" not in status
