"""A repository recorded before the restructuring keeps working: store, spool, heads, export, settings and hook.

``fixtures/before-the-move.tar.gz`` was made by the version of commit 3d536fd: a Claude Code session imported, hooks
installed by ``custody init``, an index of changes, a decision, a source, an export, a rule set in custody.toml, and one
event that still waits in the spool.
"""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.builders.cli import Ran
from tests.builders.hooks import a_hook_event
from tests.builders.in_process import custody

FIXTURE = Path(__file__).parent / "fixtures" / "before-the-move.tar.gz"
RECORDS = 23
"""21 in the store, one from the spool, and one that starts a new chain, since the store was copied."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Unpack the old repository."""
    folder = tmp_path / "work"
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="fully_trusted")
    subprocess.run(["git", "reset", "-q", "--mixed"], cwd=folder, check=True)
    return folder


def answer(repository: Path, *words: str) -> dict[str, object]:
    ran = custody(repository, *words, "--json")
    assert ran.status == 0, ran.err
    value: dict[str, object] = json.loads(ran.out)
    return value


def run_old_hook(repository: Path, event: dict[str, object]) -> Ran:
    """Run the copy of the recorder that the old version installed."""
    recorder = repository / ".git" / "custody" / "hook" / "record.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", recorder, "--agent", "claude-code"],
        cwd=repository,
        input=json.dumps(event).encode(),
        capture_output=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_it_is_read_verified_and_appended_to(repository: Path) -> None:
    assert answer(repository, "verify")["records"] == RECORDS
    ran = custody(repository, "trust", "record", "claude-code", "accepted", "main")
    assert ran.status == 0, ran.err
    assert answer(repository, "verify")["records"] == RECORDS + 1


def test_its_answers_are_the_same(repository: Path) -> None:
    porcelain = custody(repository, "blame", "src/app.py", "--porcelain").out.splitlines()
    assert "claude-code" in porcelain[1] and "claude-code" not in porcelain[0]
    assert "give a discount" in custody(repository, "why", "src/app.py:2").out
    assert custody(repository, "dupes", "check", "main..again").status == 1
    assert "Discounts" in custody(repository, "cite", "show", "S1").out
    assert answer(repository, "trust", "show", "claude-code")["history"]


def test_what_waited_in_its_spool_arrives(repository: Path) -> None:
    session = answer(repository, "log", "5d2f0c3e-1111-4222-8333-444455556666")
    assert "and now taxes" in json.dumps(session)


def test_its_installed_hook_still_records(repository: Path) -> None:
    ran = run_old_hook(repository, a_hook_event("UserPromptSubmit", repository, prompt="by the old hook"))
    assert (ran.status, ran.err) == (0, "")
    assert "by the old hook" in json.dumps(answer(repository, "log", "5d2f0c3e-1111-4222-8333-444455556666"))
    assert answer(repository, "verify")["outcome"] == "fine"


def test_its_settings_hold(repository: Path) -> None:
    rules = answer(repository, "rules", "gate")["rules"]
    assert [(rule["value"], rule["origins"]) for rule in rules if rule["rule"] == "gate.tier_max"] == [  # type: ignore[attr-defined]
        (3, ["custody.toml: gate.tier_max"])
    ]


def test_its_export_is_imported_and_exported_as_the_same_bytes(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    export = repository / "export.jsonl"
    assert custody(other, "import", str(export)).status == 0
    assert custody(other, "export", "--output", str(tmp_path / "again")).status == 0
    assert (tmp_path / "again").read_bytes() == export.read_bytes()
