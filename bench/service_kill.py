"""A service under load is killed, again and again: what it acknowledged is kept, each thing once.

Several clients send events of their own and count those that were acknowledged; what was not, they send again to the
next process. With ``--database`` a server process of PostgreSQL is killed too, so that the whole server restarts. At
the end every acknowledged event must be in the store, under its receipt, and no event twice.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from bench.progress import Progress, Tell, quiet
from custody.app.desk import Desk
from custody.app.projects import init_database
from custody.app.tenancy_model import Scope
from custody.app.tokens import Wanted, create_token
from custody.world.store import PageTables

CLIENTS = 8
LOAD_SECONDS = (0.2, 1.2)
"""How long a process is let alone, at least and at most."""
START_SECONDS_MAX = 60


@dataclass(slots=True)
class Load:
    """What clients sent and were told."""

    sent: set[str] = field(default_factory=set)
    receipts: dict[str, str] = field(default_factory=dict)
    """The record of every event that was acknowledged."""
    statuses: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of it."""

    rounds: int
    sent: int
    acknowledged: int
    lost: int
    twice: int
    misplaced: int
    """Acknowledged under a receipt that is not the record's."""

    @property
    def is_fine(self) -> bool:
        """Whether nothing was lost, doubled or misplaced."""
        return not (self.lost or self.twice or self.misplaced) and self.acknowledged > 0


def killed(folder: Path, rounds: int, seed: int, database: str | None = None, tell: Tell = quiet) -> Killed:
    """Kill a service that many times, with clients that never stop."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    chance = random.Random(seed)
    desk = Desk(folder, database)
    token = None
    if database is not None:
        init_database(desk, None)
        token = create_token(desk, Wanted(desk.project, (Scope.READ, Scope.WRITE), "1d", "load")).secret
    load = Load()
    for number in range(rounds):
        with _service(folder, database, token) as (process, port, secret), _clients(port, secret, load, number):
            threading.Event().wait(chance.uniform(*LOAD_SECONDS))
            if database is not None and number % 2:
                _kill_database(database)
                threading.Event().wait(LOAD_SECONDS[1])
            process.send_signal(signal.SIGKILL)
            process.wait()
        tell(f"round {number + 1}: {len(load.receipts):,} acknowledged")
    return _judged(desk, load, rounds)


def _judged(desk: Desk, load: Load, rounds: int) -> Killed:
    places: dict[str, list[str]] = {}
    with desk.reading() as store:
        after = None
        while page := PageTables(store.db).records(("prompt",), after, 500):
            for record in page:
                places.setdefault(str(record.entry.key).rpartition(":")[2], []).append(str(record.ref))
            after = page[-1].ref
    return Killed(
        rounds=rounds,
        sent=len(load.sent),
        acknowledged=len(load.receipts),
        lost=sum(name not in places for name in load.receipts),
        twice=sum(len(found) > 1 for found in places.values()),
        misplaced=sum(load.receipts[name] not in found for name, found in places.items() if name in load.receipts),
    )


@contextmanager
def _service(
    folder: Path, database: str | None, token: str | None
) -> Iterator[tuple["subprocess.Popen[str]", int, str]]:
    """A service in a process of its own, its port and a token for it."""
    words = [sys.executable, "-m", "custody", "serve", "--port", "0", "--json"]
    words += [] if database is None else ["--database", database]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    late = threading.Timer(START_SECONDS_MAX, process.kill)
    late.start()
    try:
        assert process.stdout is not None and process.stderr is not None
        said = process.stdout.readline()
        late.cancel()
        if not said:
            raise RuntimeError(process.stderr.read())
        told = process.stderr.readline()
        yield process, int(json.loads(said)["port"]), token or re.findall(r"token=(\w+)", told)[0]
    finally:
        late.cancel()
        process.kill()
        process.communicate()


@contextmanager
def _clients(port: int, token: str, load: Load, number: int) -> Iterator[None]:
    """Clients that send until the block ends."""
    stop, alone = threading.Event(), threading.Lock()
    threads = [
        threading.Thread(target=_client, args=(port, token, load, f"{number}-{n}", stop, alone)) for n in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _client(port: int, token: str, load: Load, name: str, stop: threading.Event, alone: threading.Lock) -> None:
    with alone:
        again = [event for event in sorted(load.sent) if event not in load.receipts][:50]
    count = 0
    while not stop.is_set():
        event = again.pop() if again else f"{name}-{count}"
        count += 1
        with alone:
            load.sent.add(event)
        try:
            status, receipt = _send(port, token, event)
        except (OSError, http.client.HTTPException):
            continue  # the process was killed: nothing was acknowledged
        with alone:
            load.statuses[status] += 1
            if receipt is not None:
                load.receipts[event] = receipt


def _send(port: int, token: str, event: str) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    said = {
        "custody": 1,
        "kind": "prompt",
        "agent": "load",
        "session": "load",
        "id": event,
        "at": "2026-01-31T12:00:00Z",
        "text": f"this is {event}",
    }
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/evidence", json.dumps(said), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    finally:
        connection.close()
    return answer.status, told["receipts"][0]["record"] if answer.status in (200, 201) else None


def _kill_database(url: str) -> None:
    """Kill a process of the database server, so that all of them start anew."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        victims = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'custody' AND datname = current_database()"
        ).fetchall()
    for (pid,) in victims[:1]:
        os.kill(int(pid), signal.SIGKILL)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Kill a service of its own; the number is 1 when anything acknowledged was lost or is there twice."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench service-kill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=None, metavar="N")
    parser.add_argument("--database", default=None, metavar="URL", help="an empty PostgreSQL on this machine")
    args = parser.parse_args(argv)
    seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
    out.write(f"seed {seed}\n")
    with tempfile.TemporaryDirectory(prefix="custody-kill-") as folder, Progress(err) as tell:
        done = killed(Path(folder), args.rounds, seed, args.database, tell)
    out.write(
        f"rounds {done.rounds}, sent {done.sent:,}, acknowledged {done.acknowledged:,}, "
        f"lost {done.lost}, twice {done.twice}, misplaced {done.misplaced}\n"
    )
    return 0 if done.is_fine else 1
