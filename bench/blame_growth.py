"""How the steps of a blame grow with the evidence about other files."""

import hashlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random

from msgspec.structs import replace

from bench.attribution import templates
from bench.attribution.telling import stamp
from bench.attribution.world import surroundings
from bench.bars import BenchError
from bench.growth import Growth, Population
from bench.runner import Ground, Thunk
from bench.store import an_arrival
from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.queries.lineage import LineageTables, StateRow
from custody.core.ids import EventId, RecordRef, Seq
from custody.core.paths import RepoPath
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.store import Store
from custody.store.sqlite import SqliteDb
from custody.workspace.workspace import Workspace

BATCH = 5_000
COMMITS = 12
LINES_BROUGHT = 3
PER_FILE = 200
FILE = "asked.py"


def a_repository(folder: Path) -> Iterator[Arrival]:
    """Yield a small repository with one file; every second version was written by an agent and captured."""
    environment = surroundings(folder)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, env=environment, check=True)
    before = ""
    for n, text in enumerate(templates.versions(Random("growth"), COMMITS)):
        (folder / FILE).write_text(text, encoding="utf-8")
        subprocess.run(["git", "add", FILE], cwd=folder, env=environment, check=True)
        subprocess.run(["git", "commit", "--quiet", "-m", "a change"], cwd=folder, env=environment, check=True)
        at = float(subprocess.check_output(["git", "log", "-1", "--format=%at"], cwd=folder, env=environment))
        if n % 2:
            yield an_edit(n, at, before, text)
        before = text


def an_edit(n: int, at: float, before: str, after: str) -> Arrival:
    """Return the captured evidence of one version."""
    event = {
        "custody": 1,
        "kind": "edit",
        "agent": "bench",
        "session": "asked",
        "id": f"asked {n}",
        "at": stamp(at),
        "path": FILE,
        "before": before,
        "after": after,
    }
    return arrival_from_bytes(EventId(f"{n:020d}-2-{n:016x}"), json.dumps(event).encode())


def populate(ground: Ground, size: int) -> Population:
    """Make a repository with the evidence of one file among ``size`` traces of other files."""
    captured = list(a_repository(ground.folder))
    workspace = Workspace(ground.folder)
    with workspace.writing() as store:
        store.append(captured)
    with open_attribution(workspace) as evidence:
        version = evidence.lineage.version
    with workspace.writing() as store:
        fill(store, size, version)
    opened = ExitStack()
    evidence = opened.enter_context(open_attribution(workspace))
    db = evidence.store.db
    assert isinstance(db, SqliteDb), "the repository's own store is SQLite's"
    return Population(db.connection, look_ups(evidence), opened.close)


def look_ups(evidence: AttributionContext) -> dict[str, Thunk]:
    """Return the same query with an empty cache, and with a full one."""
    path = RepoPath(FILE.encode())
    head = evidence.repository.head().commit

    def ask(*, cold: bool) -> Sequence[object]:
        if cold:
            with evidence.store.writing():
                evidence.store.db.run("DELETE FROM lineage_version WHERE path = ?", (path.raw,))
        fresh = AttributionContext(
            evidence.workspace, evidence.store, evidence.objects, evidence.rules, evidence.ratings
        )
        found = BlameReporter(fresh).blame_file(path, head, ()).report.attributions
        fresh.save()
        return [one for one in found if one.kind == "agent"]

    return {"blame, cold": lambda: ask(cold=True), "blame, warm": lambda: ask(cold=False)}


def fill(store: Store, size: int, version: str) -> None:
    """Records of other files, and their replayed states.

    The states are written directly, not replayed: the rows are the same, and replaying is not measured here.
    """
    pattern = LineageTables(store).last_of(RepoPath(FILE.encode()))
    if pattern is None:
        raise BenchError("the queried file was not replayed")
    numbers = iter(range(size))
    while batch := list(islice(numbers, BATCH)):
        arrivals = [an_arrival(n) for n in batch]
        store.append(arrivals)
        with store.writing():
            lay_states(store, arrivals, version, pattern)


def lay_states(store: Store, arrivals: Sequence[Arrival], version: str, pattern: StateRow) -> None:
    """Insert one state for each record, like ``pattern`` but of another file and with other lines."""
    (head,) = store.tables.chains()
    first, seq = LineageTables(store).newest() + 1, int(head.seq) - len(arrivals) + 1
    for place, arrival in enumerate(arrivals):
        keys = tuple(key_of(arrival.entry.event, line) for line in range(LINES_BROUGHT))
        row = replace(
            pattern,
            id=first + place,
            path=RepoPath(f"src/f{(seq + place) // PER_FILE}.py".encode()),
            author=replace(pattern.author, at_ns=arrival.entry.at_ns, ref=RecordRef(head.store, Seq(seq + place))),
            keys=keys,
        )
        LineageTables(store).put(row, keys)
    LineageTables(store).read_until(head.store, int(head.seq), version)


def key_of(event: str, line: int) -> int:
    """Return the key of a unique line."""
    digest = hashlib.sha256(f"{event} {line}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


BENCHES = (
    Growth(
        name="blame-steps",
        what="blame of a file does not depend on the evidence about other files",
        populate=populate,
        small=5_000,
        large=1_000_000,
    ),
)
