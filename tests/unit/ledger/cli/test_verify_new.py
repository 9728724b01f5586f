"""``custody verify --new`` starts where the last check ended; a seal that does not fit means a check of everything."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from custody.ledger import verify as integrity
from custody.ledger.verify import verify_ledger_store
from custody.trust.app.approve import _find_decision_log_damage
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.hooks import home_of
from tests.builders.in_process import custody

AGAIN = "everything was checked again: no earlier check fits the store's files\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with three records, never checked."""
    return recorded(a_git_folder(tmp_path / "repository"))


def test_verify_is_where_the_next_check_starts(repository: Path) -> None:
    assert custody(repository, "verify", "--new").out == f"{AGAIN}OK: 3 records verified\n"
    assert custody(repository, "verify", "--new").out == "OK: 0 new records verified, 3 verified earlier\n"
    spool_of(repository).put(an_event(id="late"))
    assert custody(repository, "verify", "--new").out == "OK: 1 new record verified, 3 verified earlier\n"
    assert custody(repository, "verify", "--new").out == "OK: 0 new records verified, 4 verified earlier\n"


def test_verify_without_options_checks_everything_and_seals(repository: Path) -> None:
    for _ in range(2):
        assert custody(repository, "verify").out == "OK: 3 records verified\n"
    assert custody(repository, "verify", "--new").out == "OK: 0 new records verified, 3 verified earlier\n"
    report = json.loads(custody(repository, "verify", "--new", "--json").out)
    assert (report["records"], report["earlier"], report["outcome"]) == (3, 3, "fine")
    assert json.loads(custody(repository, "verify", "--json").out)["earlier"] is None


def _write(repository: Path) -> None:
    with closing(sqlite3.connect(home_of(repository) / "custody.db")) as database, database:
        database.execute("INSERT INTO setting (name, value) VALUES ('other', 'x')")


def _touch(repository: Path) -> None:
    (home_of(repository) / "custody.db").touch()


def _unseal(repository: Path) -> None:
    (home_of(repository) / "seal").unlink()


def _forge(repository: Path) -> None:
    path = home_of(repository) / "seal"
    path.write_text(path.read_text().replace(":3}", ":4}"))


def _copy(repository: Path) -> None:
    shutil.copyfile(home_of(repository) / "custody.db", home_of(repository) / "copy")
    (home_of(repository) / "copy").rename(home_of(repository) / "custody.db")


@pytest.mark.parametrize("change", [_write, _touch, _unseal, _forge, _copy], ids=lambda change: change.__name__[1:])
def test_a_seal_that_does_not_fit_means_everything_and_says_so(
    repository: Path, change: Callable[[Path], None]
) -> None:
    custody(repository, "verify")
    change(repository)
    assert custody(repository, "verify", "--new").out == f"{AGAIN}OK: 3 records verified\n"
    assert custody(repository, "verify", "--new").out == "OK: 0 new records verified, 3 verified earlier\n"


def test_what_others_change_is_found_and_never_sealed(repository: Path) -> None:
    custody(repository, "verify")
    with closing(sqlite3.connect(home_of(repository) / "custody.db")) as database, database:
        database.execute("DELETE FROM record WHERE seq = 2")
    for option in ((), ("--new",), ("--new",)):
        ran = custody(repository, "verify", *option)
        assert (ran.status, "FAILED: " in ran.out) == (1, True)


def test_nothing_recorded_is_nothing_to_check_again(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path / "repository")
    assert custody(repository, "verify", "--new").out == "nothing has been recorded here yet\n"


def test_an_approval_checks_only_what_is_new(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, checked = Workspace(repository), list[str]()

    def count(*arguments: object) -> object:
        checked.append("everything")
        return verify_ledger_store(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(integrity, "verify_ledger_store", count)
    assert _find_decision_log_damage(workspace) is None
    assert _find_decision_log_damage(workspace) is None
    assert checked == ["everything"]
    with closing(sqlite3.connect(home_of(repository) / "custody.db")) as database, database:
        database.execute("DELETE FROM record WHERE seq = 2")
    assert "record" in (_find_decision_log_damage(workspace) or "")


def test_doctor_shows_how_far_the_records_were_verified(repository: Path) -> None:
    assert "3 records, 0 verified (own)" in custody(repository, "doctor", "-v").out
    custody(repository, "verify")
    spool_of(repository).put(an_event(id="late"))
    assert "4 records, 3 verified (own)" in custody(repository, "doctor", "-v").out
