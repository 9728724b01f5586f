"""Queries to a large graph, against networkx with the same edges and attributes.

    python -m bench graph --edges 1000 100000 1000000

Both sides hold every edge with its type, source, counts and times; networkx as a multigraph with the type as key, since
a pair of nodes may have an edge of each type. *pair* is the cheapest path between two nodes, searched from both ends on
both sides; *oneway* is the same against networkx's plain Dijkstra. *hub* is Adamic-Adar from a node with a hundredth of
all nodes as neighbors to all others, by the document's formula, which is networkx's own times the weight. *update* is
one observation of an edge in the large graph against the same in one of a thousand edges. *late* is a late call of an
old session among many recorded sessions, until the graph is complete again, against the same among a tenth of them.
Memory is what Python allocates while a graph is built, the matrix of *hub* included. Times are CPU.
"""

import argparse
import gc
import json
import math
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bench import report
from bench.bars import BenchError, at_most
from bench.columns import columns
from bench.progress import Progress
from bench.runner import Bench, Ground, Sides, judged, measure
from bench.stats import PAIRS_MIN
from bench.store import BATCH, START_S
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.core.wire.time import format_timestamp
from custody.graph.app.learn import learn_call_graph
from custody.graph.engine import GraphEngine
from custody.graph.lessons import EdgeCounts, Lesson
from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Node
from custody.graph.paths import WEIGHT_MIN
from custody.graph.rules import GraphRules
from custody.store import Heads, Store, StoreEnvironment, open_sqlite, split_row_batches
from custody.workspace.wiring import VIEWS
from custody.workspace.workspace import Workspace

SIZES = (1_000, 100_000)
SMALL = 1_000
EDGES_PER_NODE = 10
HUB_SHARE = 100
ASKED = 20
"""Pairs per call, one after another."""
HUB = "s:hub"
MEMORY = at_most(0.334)
SESSIONS, CALLS, TOOLS = 1_000, 20, 40
"""Sessions of the larger store of *late*, the calls of each, and the tools they call."""
SEED = 4
RULES = GraphRules()


def rows_of(edges: int) -> Iterator[Edge]:
    """Yield the edges of a random graph without cycles; a hub is connected to one node in a hundred."""
    chance = random.Random(SEED)
    nodes = edges // EDGES_PER_NODE
    seen: set[tuple[int, int, EdgeType]] = set()
    for other in range(0, nodes, HUB_SHARE):
        yield _row(chance, HUB, f"s:{other}", EdgeType.SEQUENCE)
    while len(seen) < edges:
        one, other, kind = chance.randrange(nodes), chance.randrange(nodes), chance.choice(tuple(EdgeType))
        if kind is not EdgeType.SEQUENCE:
            one, other = min(one, other), max(one, other)
        if one != other and (one, other, kind) not in seen:
            seen.add((one, other, kind))
            yield _row(chance, f"s:{one}", f"s:{other}", kind)


def _row(chance: random.Random, start: str, end: str, kind: EdgeType) -> Edge:
    count = chance.choice((0, 1, 1, 2, 3, 5, 40))
    source = EdgeSource.TEMPLATE if not count else EdgeSource.INFERRED if count < 3 else EdgeSource.OBSERVED
    at_ns = 1_700_000_000_000_000_000 + chance.randrange(10**15)
    return Edge(
        start=start,
        end=end,
        type=kind,
        source=source,
        count=count,
        executions=count,
        successes=count,
        first_ns=at_ns,
        last_ns=at_ns + 10**12,
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """A storage that can only be read."""

    count: int

    def nodes(self) -> Iterator[Node]:
        return iter(())

    def edges(self) -> Iterator[Edge]:
        return rows_of(self.count)

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        raise BenchError("the bench stores nothing")


def ours(edges: int) -> GraphEngine:
    """Return the graph in our engine, with its matrix computed."""
    engine = GraphEngine(RULES)
    engine.sync_from_database(Rows(edges))
    engine.compute_adamic_adar(HUB, 1)
    return engine


def theirs(edges: int) -> Any:
    """Return the same graph in networkx."""
    import networkx as nx  # type: ignore[import-untyped]

    graph = nx.MultiDiGraph()
    for row in rows_of(edges):
        weight = RULES.type_weights[row.type] * RULES.source_weights[row.source]
        graph.add_edge(
            sys.intern(row.start),
            sys.intern(row.end),
            key=row.type,
            source=row.source,
            cost=1 / max(weight, WEIGHT_MIN),
            count=row.count,
            executions=row.executions,
            successes=row.successes,
            failures=row.failures,
            first_ns=row.first_ns,
            last_ns=row.last_ns,
        )
    return graph


def pair_sides(edges: int) -> Sides:
    """Against networkx's own search from both ends, which its ``find_cheapest_path`` uses."""
    import networkx as nx

    return _pairs(edges, nx.bidirectional_dijkstra)


def one_way_sides(edges: int) -> Sides:
    """Against networkx's ``dijkstra_path``."""
    import networkx as nx

    return _pairs(edges, nx.single_source_dijkstra)


def _pairs(edges: int, search: Callable[..., tuple[float, list[str]]]) -> Sides:
    """Return the same pairs, some of them unconnected; both sides must find the same costs."""
    import networkx as nx

    engine, graph = ours(edges), theirs(edges)
    chance = random.Random(SEED)
    names = sorted(graph)
    pairs = [tuple(chance.sample(names, 2)) for _ in range(ASKED)]

    def mine() -> list[float]:
        found = [engine.find_shortest_path(*pair) for pair in pairs]
        return [math.inf if path is None else path.cost for path in found]

    def judge() -> list[float]:
        costs = []
        for start, end in pairs:
            try:
                costs.append(search(graph, start, end, weight="cost")[0])
            except nx.NetworkXNoPath:
                costs.append(math.inf)
        return costs

    if any(not math.isclose(one, other, rel_tol=1e-6) for one, other in zip(mine(), judge(), strict=True)):
        raise BenchError("the two sides disagree about a cost")
    return Sides(mine, judge)


def hub_sides(edges: int) -> Sides:
    """Find the ten nodes most similar to the hub."""
    import networkx as nx

    engine = ours(edges)
    graph = nx.Graph(theirs(edges))
    near = {other for between in graph[HUB] for other in graph[between]} - {HUB}

    def mine() -> list[str]:
        return [similar.node for similar in engine.compute_adamic_adar(HUB, 10, "document")]

    def judge() -> list[tuple[str, str, float]]:
        found = nx.adamic_adar_index(graph, [(HUB, other) for other in near])
        return sorted(found, key=lambda one: (-one[2], one[1]))[:10]

    if not mine() or not judge():
        raise BenchError("no node is similar to the hub")
    return Sides(mine, judge)


def update_sides(edges: int) -> Sides:
    """Observe an existing edge and a new one, in the large graph and in a small one."""
    return Sides(_updates(ours(edges)), _updates(ours(SMALL)))


def _updates(engine: GraphEngine) -> Callable[[], None]:
    number = iter(range(10**12))
    lesson = Lesson("e", {}, {(HUB, "s:0", EdgeType.SEQUENCE): EdgeCounts(1)})

    def update() -> None:
        fresh = f"new:{next(number)}"
        engine.book.add(lesson)
        engine.book.add_template_edge((HUB, fresh, EdgeType.CONTAINS))

    return update


def late_sides(ground: Ground) -> Sides:
    """Record a late call and learn, in a store of many sessions and in one of few."""
    many, few = (_late(ground.folder / str(sessions), sessions) for sessions in (SESSIONS, SESSIONS // 10))
    return Sides(many, few)


def _late(folder: Path, sessions: int) -> Callable[[], int]:
    """Return a late call of a session in the middle; it must become part of the graph."""
    folder.mkdir()
    store = Store(
        open_sqlite(folder / "custody.db"), VIEWS, StoreEnvironment(lambda: 0, lambda: "0" * 32, Heads(folder))
    )
    workspace = Workspace(folder)
    for batch in split_row_batches((_a_call(n, n // CALLS) for n in range(sessions * CALLS)), BATCH):
        store.append(batch)
    numbers = iter(range(sessions * CALLS, 10**12))

    def calls() -> int:
        learned = learn_call_graph(workspace, store, RULES)
        return sum(node.count for node in learned.engine.book.nodes.values() if node.kind is Kind.TOOL)

    def late() -> int:
        number = next(numbers)
        store.append([_a_call(number, sessions // 2)])
        if calls() != number + 1:
            raise BenchError("a late call is not in the graph")
        return number

    if calls() != sessions * CALLS:
        raise BenchError("not every call is in the graph")
    return late


def _a_call(n: int, session: int) -> Arrival:
    """Return the ``n``-th call: sessions use different tools, so that their edges differ."""
    at = format_timestamp((START_S + 60 * n) * 1_000_000_000)
    event = {"custody": 1, "kind": "call", "id": f"c{n}", "at": at, "ended_at": at, "agent": "robot"}
    event |= {"session": f"s{session}", "name": f"tool-{n * (session % 7 + 1) % TOOLS}", "status": "ok"}
    return arrival_from_bytes(EventId(f"{n:020d}-4-{n:016x}"), json.dumps(event).encode())


LATE = Bench(
    name="graph-late",
    what="a late call of an old session, until the graph is complete again",
    baseline="the same among a tenth of the sessions",
    set_up=late_sides,
    bar=at_most(3),
)


def benches(edges: int) -> tuple[Bench, ...]:
    """Return the ratios for a graph of this size."""
    size = f"{edges // 1000}k" if edges < 1_000_000 else f"{edges // 1_000_000}m"

    def bench(name: str, what: str, sides: Callable[[int], Sides], limit: float, against: str) -> Bench:
        return Bench(
            name=f"graph-{name}-{size}",
            what=f"{what} among {edges:,} edges",
            baseline=against,
            set_up=lambda _: sides(edges),
            bar=at_most(limit),
        )

    return (
        bench("pair", "cheapest paths between pairs", pair_sides, 0.1, "networkx, bidirectional Dijkstra"),
        bench("oneway", "cheapest paths between pairs", one_way_sides, 0.1, "networkx, Dijkstra from one end"),
        bench("hub", "nodes similar to a hub", hub_sides, 0.01, "networkx, adamic_adar_index"),
        bench("update", "an observation", update_sides, 1.5, f"the same among {SMALL:,} edges"),
    )


BENCHES = (*benches(SIZES[-1]), LATE)


def allocated(build: Callable[[int], object], edges: int) -> int:
    """Return the bytes in use after building, including the names of nodes."""
    build(SMALL)  # so that no import is counted
    gc.collect()
    tracemalloc.start()
    held = build(edges)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del held
    return size


def memory_row(edges: int) -> tuple[str, ...]:
    """Return the memory of both sides for a graph of this size."""
    mine, judge = allocated(ours, edges), allocated(theirs, edges)
    verdict = judged(MEMORY, mine / judge)
    return f"{edges:,}", f"{mine:,}", f"{judge:,}", f"{mine / judge:.3f}", str(MEMORY), verdict.value


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure every requested size."""
    out, err = out or sys.stdout, err or sys.stderr
    args = _parser().parse_args(argv)
    wanted = [
        bench for edges in args.edges for bench in benches(edges) if args.only in (None, bench.name.split("-")[1])
    ]
    with tempfile.TemporaryDirectory() as folder, Progress(err) as tell:
        wanted += [LATE] if args.only in (None, "late") else []
        results = [
            measure(bench, Ground(Path(folder)), pairs=args.pairs, clock=time.process_time_ns, tell=tell)
            for bench in wanted
        ]
        memory = [memory_row(edges) for edges in args.edges if args.only in (None, "memory")]
    if args.json:
        print(json.dumps(report.as_json(results) | {"memory": memory}), file=out)
    else:
        header = ("edges", "ours, bytes", "networkx, bytes", "ratio", "bar", "verdict")
        print("\n".join([report.tables(results), *([columns(header, memory)] if memory else [])]), file=out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench graph", description=__doc__)
    parser.add_argument("--edges", type=int, nargs="+", default=SIZES, metavar="N", help="sizes (%(default)s)")
    parser.add_argument("--only", choices=("pair", "oneway", "hub", "update", "late", "memory"), help="one of the six")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser
