"""The cost of ordinary records imported in bulk, against msgspec and SQLite with the same durability."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from bench.bars import BenchError
from bench.runner import Bench, Ground, Sides
from custody.intake.import_events import BATCH_RECORDS, import_event_file
from custody.workspace.workspace import Workspace

EVENTS = 4_000
PER_SESSION = 200


def an_event(n: int) -> dict[str, Any]:
    """Return the ``n``-th event: of ten, one prompt, four calls, three edits, one source and one commit."""
    session = f"5f1e2d3c-aaaa-4bbb-8ccc-{n // PER_SESSION:012d}"
    at = f"2026-03-{1 + n // 3000 % 28:02d}T{n // 125 % 24:02d}:{n % 60:02d}:{n // 7 % 60:02d}.{n % 1000:03d}Z"
    shared = {"custody": 1, "agent": "bench", "session": session, "id": f"ev-{n}", "at": at}
    path = f"src/pkg/mod_{n % 300}.py"
    match n % 10:
        case 0:
            return {**shared, "kind": "prompt", "text": "please read the file and change how it loads " * 3}
        case 1 | 2 | 3 | 4:
            output = {"stdout": "".join(f"tests/test_{i}.py ok {n % 10}\n" for i in range(8)), "stderr": ""}
            arguments = {"command": f"pytest -q tests/test_{n % 97}.py", "description": "Run the tests"}
            return {**shared, "kind": "call", "name": "Bash", "status": "ok", "input": arguments, "output": output}
        case 5 | 6 | 7:
            before, after = f"def f_{n}(x):\n    return x\n", f"def f_{n}(x, y):\n    return x + y\n"
            lines = [{"first": n % 100 + 1, "last": n % 100 + 3}]
            return {**shared, "kind": "edit", "path": path, "before": before, "after": after, "lines": lines}
        case 8:
            text = f"def g_{n}():\n    return None\n" * 5
            return {**shared, "kind": "source_read", "locator": path, "reading": "verbatim", "text": text}
        case _:
            return {**shared, "kind": "link", "commit": hashlib.sha256(str(n).encode()).hexdigest(), "origin": "hook"}


def bulk(ground: Ground) -> Sides:
    """Import the same file into a new store each time; the baseline makes a new table."""
    file, template, numbers = ground.folder / "events.jsonl", ground.folder / "template", count()
    file.write_text("".join(f"{json.dumps(an_event(n))}\n" for n in range(EVENTS)))
    subprocess.run(["git", "init", "-q", str(template)], check=True)

    def ours() -> None:
        folder = ground.folder / str(next(numbers))
        shutil.copytree(template, folder)
        if import_event_file(Workspace(folder), file).new != EVENTS:
            raise BenchError("not every event was stored")
        shutil.rmtree(folder)

    def plain() -> None:
        path = ground.folder / f"{next(numbers)}.db"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE event (id TEXT PRIMARY KEY, at TEXT, body BLOB) STRICT")
        for rows in _batches(file):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO event (id, at, body) VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
        connection.close()

    return Sides(ours, plain)


def _batches(file: Path) -> Iterator[list[tuple[str, str, bytes]]]:
    rows: list[tuple[str, str, bytes]] = []
    for line in file.read_bytes().splitlines():
        event = msgspec.json.decode(line)
        rows.append((event["id"], event["at"], msgspec.json.encode(event)))
        if len(rows) == BATCH_RECORDS:
            yield rows
            rows = []
    yield rows


BENCHES = (
    Bench(
        name="append",
        what=f"import of {EVENTS:,} ordinary records into a new store",
        baseline="the same events decoded and encoded by msgspec, inserted into SQLite (WAL, FULL)",
        set_up=bulk,
        calls=1,
    ),
)
