"""The same records give the same bytes on every database."""

import json
from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from custody.core.wire.report import encode_report
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.share.export import export_chains, export_chains_to_file, import_chain_export
from custody.store import StoreUnwritable
from custody.store.sqlite import SqliteDb
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import KINDS, an_arrival
from tests.builders.in_process import custody
from tests.builders.stores import NOON


def a_workspace(folder: Path, database: str | None = None) -> Workspace:
    """Return a workspace with a fixed clock and fixed randomness."""
    ticks, tokens = count(NOON, 1_000_000_000), count(1)
    return Workspace(folder, database, now_ns=lambda: next(ticks), token=lambda: f"{next(tokens):032x}")


def lived(workspace: Workspace) -> bytes:
    """Return the export of a workspace with every kind of record, unusual texts, an erasure and a fork."""
    with workspace.writing() as store:
        store.append([an_arrival(kind, id=str(n)) for n, kind in enumerate(KINDS)])
        store.append([an_arrival("prompt", id="odd", text="\ud800 é \x00 " * 2000)])
        store.append([an_arrival("edit", id="path", path="a/\udcff\n.py", after="x\r\n" * 3000)])
    erase_record_bodies(workspace, ["2"], who="ana", why="a secret")
    return exported(workspace)


def exported(workspace: Workspace) -> bytes:
    out = BytesIO()
    export_chains(workspace, out, "-")
    return out.getvalue()


def without_head(export: bytes) -> list[bytes]:
    """Return the lines without the signed head, whose key is the store's own, and without the digest that covers it."""
    lines = export.splitlines(keepends=True)
    assert json.loads(lines[-1])["line"] == "end"
    return [line for line in lines[:-1] if json.loads(line)["line"] != "head"]


def unwritable(path: Path) -> SqliteDb:
    raise StoreUnwritable(f"cannot write '{path}'")


def test_both_databases_export_and_verify_to_the_same_bytes(tmp_path: Path, fresh_postgres: str) -> None:
    sqlite = a_workspace(a_git_folder(tmp_path / "repository"))
    postgres = a_workspace(tmp_path, fresh_postgres)
    assert without_head(lived(sqlite)) == without_head(lived(postgres))
    assert encode_report(verify_ledger(sqlite)) == encode_report(verify_ledger(postgres))
    assert verify_ledger(sqlite).outcome == "fine"


@pytest.mark.parametrize("way", ["sqlite to postgres", "postgres to sqlite"])
def test_an_export_of_one_is_an_import_of_the_other(tmp_path: Path, fresh_postgres: str, way: str) -> None:
    workspaces: dict[str, Callable[[], Workspace]] = {
        "sqlite": lambda: a_workspace(a_git_folder(tmp_path / "repository")),
        "postgres": lambda: a_workspace(tmp_path, fresh_postgres),
    }
    source, _, target = way.partition(" to ")
    before = lived(workspaces[source]())
    (tmp_path / "export").write_bytes(before)
    there = workspaces[target]()
    report = import_chain_export(there, tmp_path / "export")
    assert [(chain.known, chain.forked) for chain in report.chains] == [(0, 0)]
    assert exported(there) == before
    assert verify_ledger(there).outcome == "fine"


def test_the_verbs_work_on_postgres(tmp_path: Path, fresh_postgres: str) -> None:
    repository = recorded(a_git_folder(tmp_path / "repository"))
    ran = custody(repository, "--database", fresh_postgres, "verify")
    assert (ran.status, ran.out) == (0, "OK: 3 records verified\n")
    assert not (repository / ".git" / "custody" / "custody.db").exists()
    ran = custody(tmp_path, "doctor", "--json", CUSTODY_DATABASE=fresh_postgres)
    assert ran.status == 0
    assert json.loads(ran.out)["store"] == "the team database", "outside a repository, and without the password"
    assert custody(repository, "--database", fresh_postgres, "erase", "1", "--reason", "x", "--yes").status == 0
    assert custody(repository, "--database", fresh_postgres, "export", "-o", "export").status == 0
    assert custody(repository, "import", "export").out == "chain STORE: 4 new records, 0 known\n"


def test_a_truncated_team_database_is_found_by_the_head_kept_here(tmp_path: Path, fresh_postgres: str) -> None:
    repository = recorded(a_git_folder(tmp_path / "repository"))
    workspace = Workspace(repository, fresh_postgres)
    assert verify_ledger(workspace).outcome == "fine"
    with workspace.writing() as store:
        store.db.run("DELETE FROM record WHERE seq = 3")
    assert [finding.code for finding in verify_ledger(workspace).findings][:1] == ["CHAIN-CUT"]


def test_a_local_and_a_team_store_of_one_repository_keep_their_heads_apart(tmp_path: Path, fresh_postgres: str) -> None:
    repository = recorded(a_git_folder(tmp_path / "repository"))
    assert verify_ledger(Workspace(repository)).outcome == "fine"
    recorded(repository, 5)
    assert verify_ledger(Workspace(repository, fresh_postgres)).outcome == "fine"
    assert verify_ledger(Workspace(repository)).outcome == "fine"


def test_a_damaged_waiting_event_is_named_though_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = recorded(a_git_folder(tmp_path / "repository"))
    spool = spool_of(repository)
    (spool.folder / spool.names()[0]).write_bytes(b"rubbish")
    monkeypatch.setattr("custody.workspace.workspace.open_sqlite", unwritable)
    report = verify_ledger(a_workspace(repository))
    assert [finding.code for finding in report.findings] == ["SPOOL-DAMAGED"]
    assert report.pending == 2


def test_pending_events_are_exported_as_such_and_taken_in_by_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = recorded(a_git_folder(tmp_path / "repository"))
    with monkeypatch.context() as patch:
        patch.setattr("custody.workspace.workspace.open_sqlite", unwritable)
        export_chains_to_file(a_workspace(repository), tmp_path / "export")
    lines = [json.loads(line) for line in (tmp_path / "export").read_text().splitlines()]
    assert [line["line"] for line in lines] == ["export", "pending", "pending", "pending", "end"]
    other = a_git_folder(tmp_path / "other")
    ran = custody(other, "import", str(tmp_path / "export"))
    assert (ran.status, ran.out) == (0, "Imported 3 pending events into this store's own chain\n")
    assert custody(other, "verify").out.startswith("OK: 3 records verified")
