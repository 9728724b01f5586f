"""Leaks between two projects of one PostgreSQL, by calls in the role of a service.

    python -m bench tenancy URL [--calls N] [--seed S]

URL is that of the owner of an empty database. Both projects are filled alike, with the same sessions, paths and
commits; then the store of one is queried in every way for the other's records, texts, keys and tables.
"""

import argparse
import json
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TextIO

from custody.attribution.queries.traces import find_candidate_edits_by_session
from custody.core.ids import CommitSha, EventId, SessionId
from custody.core.paths import RepoPath
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.server.app.tenancy import create_project, init_team_database
from custody.store import Store
from custody.store.postgres import postgres_schema_name
from custody.workspace.workspace import Workspace
from tests.builders.lookups import sessions_at

TABLES = ("record", "body", "prompt", "file_edit", "session", "observation", "part", "setting", "chain", "erasure")
EVENTS = 200
AT = "2026-01-31T12:00:00Z"
LONG = "a line that is long enough to be kept apart\n" * 200


def crossings(mine: Workspace, theirs: Workspace, calls: int, seed: int) -> list[str]:
    """Return which of ``calls`` random calls on one project's store returned data of the other."""
    chance = random.Random(seed)
    found: list[str] = []
    with theirs.reading() as there, mine.reading() as here:
        looks = _looks(there, theirs.project, chance)
        for _ in range(calls):
            number = chance.randrange(len(looks))
            if looks[number](here):
                found.append(f"look {number}")
    return found


def _looks(there: Store, project: str, chance: random.Random) -> list[Callable[[Store], object]]:
    """Return the queries for data of the other project; each returns a false value if it finds nothing."""
    head = max(there.tables.chains(), key=lambda chain: chain.seq)
    # Both projects store their own copy of shared bytes; ids of this project's own bytes start with its letter.
    theirs = [r for r in there.tables.records(head.store) if r.entry.event.startswith(f"{project[0]}-")]
    held = there.tables.bodies({record.entry.digest for record in theirs})
    digests = sorted(digest for digest, body in held.items() if body.data is not None)
    session = SessionId("s1")

    def own(stores: Iterable[str]) -> list[str]:
        return [store for store in stores if store == head.store]

    return [
        lambda s: s.tables.record(chance.choice(theirs).ref),
        lambda s: s.tables.records_holding(chance.choice(digests)),
        lambda s: s.tables.find_stored_bodies(chance.sample(digests, 3)),
        lambda s: s.tables.bodies(chance.sample(digests, 3)),
        lambda s: s.tables.records_named(chance.choice(theirs).entry.event),
        lambda s: own(record.store for record in s.tables.records_named(chance.choice(theirs).entry.key)),
        lambda s: s.tables.digests_like(chance.choice(digests).hex()[:16]),
        lambda s: list(s.tables.records(head.store)),
        lambda s: s.tables.is_known(chance.choice(theirs).entry),
        lambda s: own(record.store for record in s.tables.newest(1000, None)),
        lambda s: own(chain.store for chain in s.tables.chains()),
        lambda s: own(seen.record.store for seen in sessions_at(s, CommitSha("a" * 40))),
        lambda s: own(
            seen.record.store for seen in find_candidate_edits_by_session(s, session, RepoPath.of("src/app.py"))
        ),
        lambda s: s.db.rows("SELECT 1 FROM record WHERE store_id = ? LIMIT 1", (head.store,)),
        lambda s: s.db.rows(f"SELECT * FROM {postgres_schema_name(project)}.{chance.choice(TABLES)} LIMIT 1"),
    ]


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Fill two projects, make the calls, print the figures; 1 when anything leaked."""
    args = _arguments().parse_args(argv)
    seed = args.seed if args.seed is not None else secrets.randbits(32)
    owner = Workspace(Path(), args.url)
    init_team_database(owner, None)
    names = [f"{letter}-{secrets.token_hex(4)}" for letter in "ab"]
    workspaces = []
    for name in names:
        create_project(owner, name)
        workspaces.append(Workspace(Path(), args.url, project=name, bound=True, spooled=False))
        with workspaces[-1].writing() as store:
            store.append([_arrival(name, n) for n in range(EVENTS)])
    began = time.perf_counter()
    leaked = crossings(workspaces[0], workspaces[1], args.calls, seed)
    took = time.perf_counter() - began
    print(f"{args.calls} calls, {len(leaked)} leaks, {took:.1f} s, seed {seed}", file=out or sys.stdout)
    if leaked:
        print(f"first: {leaked[0]}", file=err or sys.stderr)
    return int(bool(leaked))


def _arrival(project: str, n: int) -> Arrival:
    event = f"{project[0]}-{n}"
    kind, more = [
        ("session", {"head": "a" * 40}),
        ("prompt", {"text": f"the secret of {project}, number {n}"}),
        ("edit", {"path": "src/app.py", "after": f"{project} {n}\n{LONG}"}),
    ][n % 3]
    said = {"custody": 1, "kind": kind, "id": event, "at": AT, "agent": "robot", "session": "s1", **more}
    return arrival_from_bytes(EventId(event), json.dumps(said).encode())


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench tenancy", description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="the URL of an empty database, as its owner")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int)
    return parser
