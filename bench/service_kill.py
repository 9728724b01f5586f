"""A service under load is killed repeatedly: acknowledged events are stored, each once.

    python -m bench service-kill [--rounds N] [--seed S] [--embedded] [--database URL]

Several clients send events of their own and count those that were acknowledged; what was not, they send again to the
next process. The service and the whole PostgreSQL are killed in turn. PostgreSQL starts again, and the running service
has to recover by itself. ``--database`` names another server: one of its processes is killed, so that all of them
restart. ``--embedded`` uses no server. At the end every acknowledged event must be in the store under its receipt, and
no event twice.
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
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from bench.progress import Progress, Tell, quiet
from bench.service_load import serving
from custody.server.app.tenancy import TokenRequest, TokenScope, create_token, init_team_database
from custody.server.queries import PageTables
from custody.workspace.workspace import Workspace
from tests.house.not_run import CannotBeHad
from tests.house.postgres import a_server

CLIENTS = 8
LOAD_SECONDS = (0.2, 1.2)
"""The shortest and longest time between kills."""
BACK_SECONDS_MAX = 60
"""Maximum wait for a database to restart on a busy machine."""


@dataclass(slots=True)
class Load:
    """The events that clients sent, and the answers."""

    sent: set[str] = field(default_factory=set)
    receipts: dict[str, str] = field(default_factory=dict)
    """The record of every event that was acknowledged."""
    statuses: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Killed:
    """The result."""

    rounds: int
    sent: int
    acknowledged: int
    lost: int
    twice: int
    misplaced: int
    """Events acknowledged with another record's receipt."""
    stuck: int = 0
    """How often a service acknowledged nothing after its database was back."""

    @property
    def is_fine(self) -> bool:
        """Whether nothing was lost, duplicated or misplaced, and every service continued."""
        return not (self.lost or self.twice or self.misplaced or self.stuck) and self.acknowledged > 0


def killed(
    folder: Path, rounds: int, seed: int, database: str | None = None, tell: Tell = quiet, *, whole: bool = False
) -> Killed:
    """Kill a service, or its database, that many times, with clients that never stop.

    Of a database one process is killed, or the ``whole`` server, which somebody has to start again.
    """
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    chance = random.Random(seed)
    workspace = Workspace(folder, database)
    token = None
    if database is not None:
        init_team_database(workspace, None)
        token = create_token(
            workspace, TokenRequest(workspace.project, (TokenScope.READ, TokenScope.WRITE), "1d", "load")
        ).secret
    load = Load()
    stuck = 0
    for number in range(rounds):
        with serving(folder, database) as made:
            secret = token or re.findall(r"token=(\w+)", made.said)[0]
            with _clients(made.port, secret, load, number):
                threading.Event().wait(chance.uniform(*LOAD_SECONDS))
                if database is not None and number % 2:
                    _kill_database(database, whole=whole)
                    stuck += not _goes_on(load)
                made.process.send_signal(signal.SIGKILL)
                made.process.wait()
        tell(f"round {number + 1}: {len(load.receipts):,} acknowledged")
    return replace(_judged(workspace, load, rounds), stuck=stuck)


def _goes_on(load: Load) -> bool:
    """Return whether more is acknowledged within the start time of a database."""
    until, before = time.monotonic() + BACK_SECONDS_MAX, len(load.receipts)
    while len(load.receipts) < before + CLIENTS:
        if time.monotonic() > until:
            return False
        threading.Event().wait(0.05)
    return True


def _judged(workspace: Workspace, load: Load, rounds: int) -> Killed:
    places: dict[str, list[str]] = {}
    with workspace.reading() as store:
        after = None
        while page := PageTables(store).records(("prompt",), after, 500):
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
def _clients(port: int, token: str, load: Load, number: int) -> Iterator[None]:
    """Run clients that send until the block ends."""
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


def _kill_database(url: str, *, whole: bool) -> None:
    """Kill a process of the database server, so that all of them restart; with ``whole``, kill the main process."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        ((first,),) = connection.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").fetchall()
        victims = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'custody' AND datname = current_database()"
        ).fetchall()
    if whole:
        os.kill(int(first), signal.SIGQUIT)  # PostgreSQL calls this an immediate shutdown: no checkpoint
        return
    for (pid,) in victims[:1]:
        os.kill(int(pid), signal.SIGKILL)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Kill a separate service; return 1 when anything acknowledged was lost or stored twice."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench service-kill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=None, metavar="N")
    parser.add_argument("--database", default=None, metavar="URL", help="an empty PostgreSQL on this machine")
    parser.add_argument("--embedded", action="store_true", help="the embedded store: only the service is killed")
    args = parser.parse_args(argv)
    seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
    out.write(f"seed {seed}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="custody-kill-")))
        tell = stack.enter_context(Progress(err))
        own = args.database is None and not args.embedded
        try:
            database = stack.enter_context(a_server(durable=True)) if own else args.database
        except CannotBeHad as error:
            out.write(f"not run: {error}\n")
            return 0
        done = killed(folder, args.rounds, seed, database, tell, whole=own)
    out.write(
        f"rounds {done.rounds}, sent {done.sent:,}, acknowledged {done.acknowledged:,}, "
        f"lost {done.lost}, twice {done.twice}, misplaced {done.misplaced}, stuck {done.stuck}\n"
    )
    return 0 if done.is_fine else 1
