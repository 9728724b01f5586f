"""Ingest through the service against the database alone: the same PostgreSQL, the same tables, the same indexes.

``single`` sends a trace a request, from several clients, against as many clients of pgbench that insert one row of a
record a transaction. ``batch`` sends traces by the batch, against COPY of the same rows, in one
transaction. Both sides grow alike. The service also reads, checks, redacts and chains each trace,
and looks for existing ones.
"""

import re
import resource
import secrets
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.bars import BenchError
from bench.service_load import (
    CLOCK,
    PROCESSOR,
    TICKS,
    Client,
    Rates,
    clients,
    drive,
    processor_seconds,
    request,
    serving,
)
from custody.server.app.tenancy import TokenRequest, TokenScope, create_token, init_team_database
from custody.store.postgres import SCHEMA
from custody.workspace.workspace import Workspace

CLIENTS = 16
SINGLES = 240
"""Traces sent in one timing, one by one; pgbench makes as many commits."""
BATCH, BATCHES = 256, 4
"""Traces of a batch, and batches of one timing."""
PREFILLED = 3
"""Batches that are stored before anything is timed."""
ALONE = "alone"
PATH = "/api/v1/traces"
NOT_ROWS = ("state", "fork", "erasure")
"""Tables with positions in a chain, but not one row per record."""

SCRIPT = f"""\
\\set n :n + 1
INSERT INTO {ALONE}.record (store_id, seq, event_id, kind, natural_key, at_ns, digest, link) VALUES (
  'd1f0c0de00000000000000000000' || lpad(:client_id::text, 4, '0'), :n, 'import-' || md5(:client_id || '-' || :n),
  'trace', 'import:trace:load-' || :client_id || '-' || :n, 1769860800000000000,
  sha256((:client_id || '-' || :n)::bytea), sha256((:n || '-' || :client_id)::bytea));
"""
_RATE = re.compile(r"^tps = ([0-9.]+) ", re.MULTILINE)


def a_trace(name: str) -> dict[str, object]:
    """Return a trace of one file, as an agent's tool writes it."""
    ranges = [{"start_line": 1, "end_line": 5}, {"start_line": 20, "end_line": 41}]
    told = {"contributor": {"type": "ai", "model_id": "m/1"}, "url": f"https://x.example/{name}", "ranges": ranges}
    return {
        "version": "0.1.0",
        "id": name,
        "timestamp": "2026-01-31T12:00:00Z",
        "tool": {"name": "robot", "version": "1"},
        "vcs": {"type": "git", "revision": "a" * 40},
        "files": [{"path": f"src/{name}.py", "conversations": [told]}],
    }


@dataclass(frozen=True, slots=True)
class Lot:
    """The rows of some records in every table, in COPY's format."""

    records: int
    rows: dict[str, bytes]


@dataclass(slots=True)
class Place:
    """A service on a database, its clients, and copies of its tables."""

    url: str
    pgbench: Path
    folder: Path
    asked: Sequence[Client]
    tokens: Sequence[str]
    admin: Any
    served: tuple[int, int]
    """Return the processes of the service and of the database."""
    made: int = 0
    alone: int = 0
    copied: int = 0
    lots: deque[Lot] = field(default_factory=deque)

    def names(self, count: int) -> list[str]:
        """Return trace ids that were never sent."""
        self.made += count
        return [f"load-{n}" for n in range(self.made - count, self.made)]

    def singles(self) -> Rates:
        """Measure traces per second, one per request."""
        named = zip(self.names(SINGLES), self._spread(SINGLES), strict=True)
        sent = [request(PATH, a_trace(name), token) for name, token in named]
        before = processor_seconds(*self.served)
        took = drive(self.asked, sent, 201)
        used = processor_seconds(*self.served) - before
        self.copied = self._last()  # not part of any batch
        return {CLOCK: SINGLES / took, PROCESSOR: SINGLES / used}

    def inserts(self) -> Rates:
        """Measure pgbench's commits per second, by its own count and without connecting."""
        script = self.folder / "single.sql"
        script.write_text(SCRIPT)
        each = SINGLES // CLIENTS
        words = [
            "-n",
            "-f",
            str(script),
            "-c",
            str(CLIENTS),
            "-j",
            "2",
            "-t",
            str(each),
            "-D",
            f"n={self.alone}",
            self.url,
        ]
        before = processor_seconds(self.served[1]) + _ended()
        done = subprocess.run([self.pgbench, *words], capture_output=True, text=True, check=False)
        used = processor_seconds(self.served[1]) + _ended() - before
        self.alone += each
        found = _RATE.search(done.stdout)
        if done.returncode or found is None:
            raise BenchError(f"pgbench: {done.stderr[-500:]}")
        return {CLOCK: float(found[1]), PROCESSOR: each * CLIENTS / used}

    def batches(self) -> Rates:
        """Measure traces per second in batches; their rows are later copied by COPY."""
        sent = [request(PATH, [a_trace(name) for name in self.names(BATCH)], token) for token in self._spread(BATCHES)]
        before = processor_seconds(*self.served)
        took = drive(self.asked[:BATCHES], sent, 201)
        used = processor_seconds(*self.served) - before
        self.lots.append(self._lot())
        return {CLOCK: BATCH * BATCHES / took, PROCESSOR: BATCH * BATCHES / used}

    def copies(self) -> Rates:
        """Measure records per second by COPY into the copied tables, with the oldest rows not copied yet."""
        lot = self.lots.popleft()
        before, began = processor_seconds(self.served[1]) + time.process_time(), time.perf_counter()
        with self.admin.transaction(), self.admin.cursor() as cursor:
            for table, rows in lot.rows.items():
                with cursor.copy(f"COPY {ALONE}.{table} FROM STDIN") as copy:
                    copy.write(rows)
        took = time.perf_counter() - began
        used = processor_seconds(self.served[1]) + time.process_time() - before
        return {CLOCK: lot.records / took, PROCESSOR: lot.records / max(used, 1 / TICKS)}

    def _spread(self, count: int) -> list[str]:
        """Return one token per request, since each token has its own rate limit."""
        return [self.tokens[n % len(self.tokens)] for n in range(count)]

    def _last(self) -> int:
        ((last,),) = self.admin.execute(f"SELECT coalesce(max(seq), 0) FROM {SCHEMA}.record").fetchall()
        return int(last)

    def _lot(self) -> Lot:
        """Return the rows stored since the last batch."""
        first, last = self.copied, self._last()
        self.copied = last
        behind = f"seq > {first} AND seq <= {last}"
        rows = {table: self._read(f"SELECT * FROM {SCHEMA}.{table} WHERE {behind}") for table in self.tables()}
        held = f"IN (SELECT digest FROM {SCHEMA}.record WHERE {behind})"
        rows["body"] = self._read(f"SELECT * FROM {SCHEMA}.body WHERE digest {held}")
        rows["part"] = self._read(f"SELECT * FROM {SCHEMA}.part WHERE body {held}")
        return Lot(last - first, {table: data for table, data in rows.items() if data})

    def tables(self) -> list[str]:
        """Return the tables with one row per record."""
        found = self.admin.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_name IN"
            " ('store_id', 'seq') GROUP BY table_name HAVING count(*) = 2 ORDER BY 1",
            (SCHEMA,),
        ).fetchall()
        return [str(name) for (name,) in found if name not in NOT_ROWS]

    def _read(self, sql: str) -> bytes:
        with self.admin.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT") as copy:
            return b"".join(bytes(chunk) for chunk in copy)


@contextmanager
def a_place(folder: Path, url: str, pgbench: Path) -> Iterator[Place]:
    """Yield a warm service on the empty database at ``url``, with the extra tables."""
    import psycopg

    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    workspace = Workspace(folder, url)
    init_team_database(workspace, None)
    wanted = TokenRequest(workspace.project, (TokenScope.WRITE,), "1d", "load")
    tokens = [create_token(workspace, wanted).secret for _ in range(CLIENTS)]
    with (
        psycopg.connect(url, autocommit=True) as admin,
        serving(folder, url) as made,
        clients(made.port, CLIENTS) as asked,
    ):
        ((server,),) = admin.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").fetchall()
        served = made.process.pid, int(server)
        place = Place(url, pgbench, folder, asked, tokens, admin, served, made=secrets.randbits(30) << 20)
        drive(asked[:1], [request(PATH, a_trace(place.names(1)[0]), tokens[0])], 201)
        _beside(place)
        for _ in range(PREFILLED):
            place.batches()
        while place.lots:
            place.copies()
        admin.execute("ANALYZE")  # The server does this itself after a minute; before, it plans for empty tables.
        yield place


def _ended() -> float:
    """Return the resources that ended child processes used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _beside(place: Place) -> None:
    """Create the same tables with the same indexes, under other names."""
    place.admin.execute(f"CREATE SCHEMA {ALONE}")
    for table in (*place.tables(), "body", "part"):
        place.admin.execute(f"CREATE TABLE {ALONE}.{table} (LIKE {SCHEMA}.{table} INCLUDING ALL)")
