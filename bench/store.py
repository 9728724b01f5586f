"""How the store's look-ups grow with its size."""

import hashlib
import json
from datetime import date, timedelta

from bench.growth import Growth, Population
from bench.runner import Ground
from custody.attribution.queries.traces import find_candidate_edits_in_window, find_commit_session_links
from custody.core.ids import CommitSha, EventId
from custody.core.paths import RepoPath
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.store import Heads, Store, StoreEnvironment, open_sqlite
from custody.workspace.wiring import VIEWS
from tests.builders.lookups import edits_at, sessions_at

BATCH = 5_000
EDITS_PER_PATH = 200
EVENTS_PER_REVISION = 20
START_S = 1_769_860_800
HOUR_NS = 3_600_000_000_000


def a_sha(what: str, n: int) -> str:
    """Return a commit id that depends on ``what`` and ``n`` only."""
    return hashlib.sha1(f"{what} {n}".encode(), usedforsecurity=False).hexdigest()


def an_arrival(n: int) -> Arrival:
    """Return the ``n``-th event: of twenty, one opens a session, one links a commit, the others edit files."""
    seconds = START_S + 60 * n
    day, second = divmod(seconds, 86_400)
    shared = {
        "custody": 1,
        "agent": "bench",
        "session": f"s{n // EVENTS_PER_REVISION}",
        "id": str(n),
        "at": f"{_day(day)}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z",
        "head": a_sha("revision", n // EVENTS_PER_REVISION),
    }
    match n % EVENTS_PER_REVISION:
        case 0:
            event = {**shared, "kind": "session", "model": "m"}
        case 1:
            event = {**shared, "kind": "link", "commit": a_sha("commit", n), "origin": "hook"}
        case _:
            event = {**shared, "kind": "edit", "path": f"src/f{n // EDITS_PER_PATH}.py", "after": f"line {n}\n"}
    return arrival_from_bytes(EventId(f"{n:020d}-1-{n:016x}"), json.dumps(event).encode())


def populate(ground: Ground, size: int) -> Population:
    """Return a store of ``size`` records, and the look-ups that commands use."""
    db = open_sqlite(ground.folder / "custody.db")
    store = Store(db, VIEWS, StoreEnvironment(lambda: 0, lambda: "0" * 32, Heads(ground.folder)))
    for numbers in ground.number_batches(size, BATCH):
        store.append([an_arrival(n) for n in numbers])
    n = (size // 2) // EDITS_PER_PATH * EDITS_PER_PATH + EDITS_PER_PATH // 2 + 5
    edit = an_arrival(n)
    (found,) = store.tables.records_named(edit.entry.event)
    return Population(
        db.connection,
        {
            "id": lambda: store.tables.records_named(edit.entry.event),
            "natural key": lambda: store.tables.records_named(edit.entry.key),
            "revision": lambda: edits_at(store, CommitSha(a_sha("revision", n // EVENTS_PER_REVISION))),
            "session at revision": lambda: sessions_at(store, CommitSha(a_sha("revision", n // EVENTS_PER_REVISION))),
            "path and time window": lambda: find_candidate_edits_in_window(
                store,
                RepoPath(f"src/f{n // EDITS_PER_PATH}.py".encode()),
                since_ns=found.entry.at_ns - HOUR_NS // 2,
                until_ns=found.entry.at_ns + HOUR_NS // 2,
            ),
            "commit": lambda: find_commit_session_links(
                store, CommitSha(a_sha("commit", n // EVENTS_PER_REVISION * EVENTS_PER_REVISION + 1))
            ),
        },
        db.close,
    )


def _day(days: int) -> str:
    return str(date(1970, 1, 1) + timedelta(days=days))


BENCHES = (
    Growth(
        name="look-ups",
        what="SQLite steps of every look-up among 1,000,000 records against those among 5,000",
        populate=populate,
        small=5_000,
        large=1_000_000,
    ),
)
