"""A person or a failing disk changes stored data: every change is reported, or had no effect."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from io import BytesIO
from pathlib import Path
from types import MappingProxyType

from bench.faults.crew import a_repository
from bench.faults.frame import Fault, Figures, Trial, all_of, none_of, seen, some
from bench.faults.worker import an_event, spool_of
from custody.core.errors import CustodyError
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.share.export import export_chains
from custody.workspace.workspace import Workspace

RECORDS = 40
COLUMNS = ("event_id", "kind", "natural_key", "at_ns", "digest", "link")

Tamper = Callable[[random.Random, sqlite3.Connection], None]


def a_store(folder: Path) -> Path:
    """Return a repository whose store holds some records, one of them erased."""
    repository = a_repository(folder)
    for n in range(RECORDS):
        spool_of(repository).put(an_event("tamper", n))
    erase_record_bodies(Workspace(repository), ["3"], who="ana", why="an event to erase")
    return repository


def change(chance: random.Random, db: sqlite3.Connection) -> None:
    """Change one column of one record."""
    column, seq = chance.choice(COLUMNS), chance.randint(1, RECORDS)
    value = {"at_ns": "at_ns + 1", "digest": "randomblob(32)", "link": "randomblob(32)"}.get(column, f"{column} || 'x'")
    db.execute(f"UPDATE record SET {column} = {value} WHERE seq = ?", (seq,))


def borrow(chance: random.Random, db: sqlite3.Connection) -> None:
    """Replace one record's payload by another's."""
    one, other = chance.sample(range(1, RECORDS), 2)
    db.execute("UPDATE record SET digest = (SELECT digest FROM record WHERE seq = ?) WHERE seq = ?", (one, other))


def delete(chance: random.Random, db: sqlite3.Connection) -> None:
    """Delete one random record."""
    db.execute("DELETE FROM record WHERE seq = ?", (chance.randint(1, RECORDS + 1),))


def truncate(chance: random.Random, db: sqlite3.Connection) -> None:
    """Delete all records from a random one on."""
    db.execute("DELETE FROM record WHERE seq >= ?", (chance.randint(1, RECORDS + 1),))


def swap(chance: random.Random, db: sqlite3.Connection) -> None:
    """Swap two records."""
    one, other = chance.sample(range(1, RECORDS), 2)
    for old, new in ((one, -1), (other, one), (-1, other)):
        db.execute("UPDATE record SET seq = ? WHERE seq = ?", (new, old))


def replace_body(chance: random.Random, db: sqlite3.Connection) -> None:
    """Replace one stored text."""
    db.execute("UPDATE body SET codec = 'plain', bytes = ? WHERE digest = ?", (b"forged", _a_body(chance, db)))


def empty_body(chance: random.Random, db: sqlite3.Connection) -> None:
    """Empty one stored text, as if it had been erased."""
    db.execute("UPDATE body SET bytes = NULL WHERE digest = ?", (_a_body(chance, db),))


def drop_body(chance: random.Random, db: sqlite3.Connection) -> None:
    """Delete one stored text with its row."""
    db.execute("DELETE FROM body WHERE digest = ?", (_a_body(chance, db),))


def change_view(chance: random.Random, db: sqlite3.Connection) -> None:
    """Change one row of a view."""
    db.execute("UPDATE file_edit SET path = ? WHERE seq = ?", (b"src/forged.py", chance.randint(4, RECORDS)))


def drop_view(chance: random.Random, db: sqlite3.Connection) -> None:
    """Delete one row of a view."""
    db.execute("DELETE FROM file_edit WHERE seq = ?", (chance.randint(4, RECORDS),))


def _a_body(chance: random.Random, db: sqlite3.Connection) -> bytes:
    rows = db.execute("SELECT digest FROM body WHERE bytes IS NOT NULL ORDER BY digest").fetchall()
    return bytes(chance.choice(rows)[0])


TAMPERS: Mapping[str, Tamper] = MappingProxyType(
    {
        tamper.__name__: tamper
        for tamper in (
            change,
            borrow,
            delete,
            truncate,
            swap,
            replace_body,
            empty_body,
            drop_body,
            change_view,
            drop_view,
        )
    }
)


def tampered(trial: Trial) -> Figures:
    """Tamper in each way once per round, on a fresh copy, through SQL like somebody with the file."""
    original = a_store(trial.folder / "original")
    sound = bool(verify_ledger(Workspace(original)).findings)
    tried, silent = 0, []
    for round_ in trial.each():
        for name, tamper in TAMPERS.items():
            copy = round_.folder / name
            shutil.copytree(original, copy)
            with closing(sqlite3.connect(copy / ".git" / "custody" / "custody.db")) as db, db:
                tamper(trial.random(name, round_.number), db)
            if not verify_ledger(Workspace(copy)).findings:
                silent.append(name)
            shutil.rmtree(copy)
            tried += 1
    return {
        "changes made": seen(tried),
        "changes found": all_of(tried - len(silent), tried),
        "changes silent": none_of(len(silent)),
        "sound stores blamed": none_of(sound),
    }


def flipped(trial: Trial) -> Figures:
    """Flip one bit of one store file per round: it is reported, or all stored data is still equal."""
    original = a_store(trial.folder / "original")
    whole = _exported(original)
    found = harmless = silent = untyped = 0
    for round_ in trial.each():
        copy = round_.folder / "copy"
        shutil.copytree(original, copy)
        home = copy / ".git" / "custody"
        files = sorted(path for path in home.iterdir() if path.is_file() and path.stat().st_size)
        # Mostly the database, which holds nearly all of the bytes; now and then a head or the key.
        file = home / "custody.db" if round_.random.random() < 0.9 else round_.random.choice(files)
        data = bytearray(file.read_bytes())
        bit = round_.random.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        try:
            if verify_ledger(Workspace(copy)).findings:
                found += 1
            elif _exported(copy) == whole:
                harmless += 1
            else:
                silent += 1
        except CustodyError:
            found += 1  # reported, with its own exit status
        except Exception:  # noqa: BLE001 - what the figure counts
            untyped += 1
        shutil.rmtree(copy)
    return {
        "bits flipped": seen(trial.rounds),
        "found": some(found),
        "harmless": seen(harmless),
        "silent": none_of(silent),
        "untyped errors": none_of(untyped),
    }


def spool_flipped(trial: Trial) -> Figures:
    """Flip a bit of a waiting event's file: it is set aside and reported, and the other events are stored."""
    named = kept = 0
    for round_ in trial.each():
        repository = a_repository(round_.folder / "repository")
        spool = spool_of(repository)
        names = [spool.put(an_event("flip", n)).event for n in range(3)]
        path = spool.folder / round_.random.choice(names)
        data = bytearray(path.read_bytes())
        bit = round_.random.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        report = verify_ledger(Workspace(repository))
        named += [finding.code for finding in report.findings] == ["SPOOL-DAMAGED"]
        kept += report.records
        shutil.rmtree(repository)
    return {
        "files damaged": seen(trial.rounds),
        "named": all_of(named, trial.rounds),
        "kept": all_of(kept, 3 * trial.rounds),
    }


def _exported(repository: Path) -> bytes:
    out = BytesIO()
    export_chains(Workspace(repository), out, "-")
    return out.getvalue()


FAULTS = (
    Fault(name="tamper", what="changing, deleting, reordering and cutting off stored records", run=tampered, rounds=20),
    Fault(name="bit-flips", what="single bits of the store's files", run=flipped, rounds=300),
    Fault(name="spool-flips", what="single bits of a waiting event's file", run=spool_flipped, rounds=50),
)
