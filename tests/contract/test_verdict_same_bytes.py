"""The same records give the same verdict, byte for byte, on every database, and again later."""

from pathlib import Path

import pytest

from custody.core.wire.report import encode_report
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict
from custody.share.export import export_chains_to_file, import_chain_export
from custody.workspace.workspace import Workspace
from tests.builders.verdicts import LATER, NS, Court

SAID = b"It rests on [S1].\n"


@pytest.fixture
def court(tmp_path: Path) -> Court:
    """A change with much recorded evidence."""
    made = Court(tmp_path / "repository").proven().edited().edited(b"# Notes\n", "notes.md", None)
    for name in ("registered", "rejected", "imported", "edited_again", "indexed"):
        made.happens(name)
    return made


def moved(court: Court, folder: Path, database: str | None = None) -> Workspace:
    """Return a workspace at a copy of the repository, with the same records and the same index."""
    exported = folder.with_suffix(".jsonl")
    export_chains_to_file(court.workspace, exported)
    court.built.git("clone", "--quiet", "--mirror", str(court.folder), str(folder))
    workspace = Workspace(folder, database, now_ns=lambda: court.seconds * NS)
    import_chain_export(workspace, exported)
    dupes_index(workspace, IndexRequest(workers=1))
    return workspace


def judged(court: Court, workspace: Workspace) -> bytes:
    return encode_report(gate(workspace, GateRequest(change=f"{court.base}..{court.head}", description=SAID)))


def test_both_databases_give_the_same_verdict(court: Court, tmp_path: Path, fresh_postgres: str) -> None:
    sqlite, postgres = moved(court, tmp_path / "one"), moved(court, tmp_path / "two", fresh_postgres)
    first = judged(court, sqlite)
    assert first == judged(court, postgres)
    for words in (b'"chains":[{', b'"index":{', b"DUPE-", b'"trust":[{'):
        assert words in first, "there is something to compare"
    assert judged(court, sqlite) == judged(court, postgres) == first
    for workspace in (sqlite, postgres):
        assert verify_verdict(workspace, VerdictCheck(verdict=first, description=SAID)).findings == []


def test_a_team_database_gives_a_verdict_again_later(tmp_path: Path, fresh_postgres: str) -> None:
    court = Court(tmp_path / "repository", fresh_postgres).proven().edited()
    verdicts = [court.said(SAID)]
    for name in LATER:
        court.happens(name)
        verdicts.append(court.said(SAID))
    assert len({encode_report(one) for one in verdicts}) == len(verdicts)
    for verdict in verdicts:
        checked = court.checked(verdict, description=SAID)
        assert (checked.again, checked.findings) == ("identical", [])


def test_a_verdict_of_one_database_is_had_again_from_the_other(
    court: Court, tmp_path: Path, fresh_postgres: str
) -> None:
    sqlite, postgres = moved(court, tmp_path / "one"), moved(court, tmp_path / "two", fresh_postgres)
    given = judged(court, postgres)
    assert verify_verdict(sqlite, VerdictCheck(verdict=given, description=SAID)).again == "identical"
    at_home = judged(court, court.workspace)
    assert at_home != given, "where records were imported they count for less"
    for workspace in (sqlite, postgres):
        checked = verify_verdict(workspace, VerdictCheck(verdict=at_home, description=SAID))
        with court.workspace.reading() as store:
            assert (checked.again, checked.home) == ("identical", store.own())
