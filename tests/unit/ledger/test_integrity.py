"""Verified records are not verified again while a seal is valid; any other write to the store breaks it."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bench.faults.tamper import RECORDS, TAMPERS, a_store
from custody.core.wire.report import VerifyReport
from custody.ledger import verify as integrity
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import check_ledger_integrity, verify_ledger, verify_ledger_store
from custody.store import open_sqlite
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import home_of


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A repository with a verified store."""
    repository = a_store(tmp_path / "repository")
    assert not check_ledger_integrity(Workspace(repository)).findings
    assert (home_of(repository) / "seal").is_file()
    return repository


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list with an entry for every full verification."""
    times: list[str] = []

    def counted(*arguments: object) -> VerifyReport:
        times.append("verified")
        return verify_ledger_store(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(integrity, "verify_ledger_store", counted)
    return times


def database(repository: Path) -> Path:
    return home_of(repository) / "custody.db"


def test_a_sealed_store_is_not_verified_again(sealed: Path, whole: list[str]) -> None:
    for _ in range(3):
        report = check_ledger_integrity(Workspace(sealed))
        assert (report.records, report.findings) == (RECORDS + 1, [])
    assert whole == []


def test_only_records_that_arrive_through_custody_are_checked_and_the_seal_continues(
    sealed: Path, whole: list[str]
) -> None:
    for number in range(3):
        spool_of(sealed).put(an_event(id=f"late {number}"))
        assert check_ledger_integrity(Workspace(sealed)).records == RECORDS + 2 + number
    assert whole == []


def test_an_erasure_is_checked_once(sealed: Path, whole: list[str]) -> None:
    event = spool_of(sealed).put(an_event(id="late")).event
    erase_record_bodies(Workspace(sealed), [event], who="ana", why="a secret")
    for _ in range(3):
        assert not check_ledger_integrity(Workspace(sealed)).findings
    assert len(whole) <= 1


@pytest.mark.parametrize("name", TAMPERS)
@pytest.mark.parametrize("arrived", [0, 2])
def test_whatever_is_tampered_with_is_found_behind_a_seal_too(sealed: Path, name: str, arrived: int) -> None:
    for number in range(arrived):
        spool_of(sealed).put(an_event(id=f"late {number}"))
    check_ledger_integrity(Workspace(sealed))
    with closing(sqlite3.connect(database(sealed))) as db, db:
        TAMPERS[name](random.Random(name), db)
    found = check_ledger_integrity(Workspace(sealed)).findings
    assert found and found == verify_ledger(Workspace(sealed)).findings
    assert check_ledger_integrity(Workspace(sealed)).findings == found, "what is damaged is never sealed"


def forged(home: Path) -> None:
    seal = json.loads((home / "seal").read_bytes())
    seal["verified"] = {store: 10**6 for store in seal["verified"]}
    (home / "seal").write_text(json.dumps(seal))


def cut(home: Path) -> None:
    (home / "seal").write_bytes((home / "seal").read_bytes()[:20])


def of_no_shape(home: Path) -> None:
    (home / "seal").write_text("[]")


def removed(home: Path) -> None:
    (home / "seal").unlink()


def touched(home: Path) -> None:
    (home / "custody.db").touch()


def restored(home: Path) -> None:
    shutil.copyfile(home / "custody.db", home / "aside")
    (home / "aside").rename(home / "custody.db")


@pytest.mark.parametrize("do", [forged, cut, of_no_shape, removed, touched, restored])
def test_a_seal_that_does_not_fit_says_nothing(sealed: Path, whole: list[str], do: Callable[[Path], None]) -> None:
    do(home_of(sealed))
    assert not check_ledger_integrity(Workspace(sealed)).findings
    assert whole == ["verified"]
    check_ledger_integrity(Workspace(sealed))
    assert whole == ["verified"], "it is sealed again"


def test_a_copy_is_not_sealed(sealed: Path, whole: list[str], tmp_path: Path) -> None:
    shutil.copytree(sealed, tmp_path / "copy")
    check_ledger_integrity(Workspace(tmp_path / "copy"))
    assert whole == ["verified"]


def test_a_connection_notices_what_another_one_writes(sealed: Path) -> None:
    with closing(open_sqlite(database(sealed))) as ours:
        assert ours.read_seal() is not None
        with closing(sqlite3.connect(database(sealed))) as theirs, theirs:
            theirs.execute("UPDATE record SET at_ns = at_ns + 1 WHERE seq = 3")
        assert ours.read_seal() is None
        with ours.writing():
            ours.run("UPDATE setting SET value = value")
    with closing(open_sqlite(database(sealed))) as again:
        assert again.read_seal() is None
    assert verify_ledger(Workspace(sealed)).findings


def test_what_is_written_by_others_before_ours_is_not_sealed(sealed: Path) -> None:
    with closing(sqlite3.connect(database(sealed))) as theirs, theirs:
        theirs.execute("UPDATE record SET at_ns = at_ns + 1 WHERE seq = 3")
    spool_of(sealed).put(an_event(id="late"))
    with Workspace(sealed).writing():
        pass
    assert check_ledger_integrity(Workspace(sealed)).findings


def test_a_head_that_is_gone_is_found_behind_a_seal(sealed: Path) -> None:
    (head,) = home_of(sealed).glob("head-*")
    head.unlink()
    assert [finding.code for finding in check_ledger_integrity(Workspace(sealed)).findings] == ["HEAD-MISSING"]


def test_a_waiting_event_that_was_set_aside_is_found_behind_a_seal(sealed: Path) -> None:
    event = spool_of(sealed).put(an_event(id="late")).event
    (spool_of(sealed).folder / event).write_bytes(b"{}")
    assert [finding.code for finding in check_ledger_integrity(Workspace(sealed)).findings] == ["SPOOL-DAMAGED"]
