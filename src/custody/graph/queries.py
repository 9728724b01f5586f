"""SQL over spans and over what was learned from calls; may touch ``store``."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from custody.core.ids import AgentName, Digest, ExecutionId, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.views import Decision, Observation, ObservedSpan
from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Node, Witness, kind_of
from custody.store import ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import integer, raw, split_batches

# What was learnt from calls: rows in and out. No truth lives here: everything can be learnt from the records again.


GRAPH = "graph"
"""The watermark's name: how far each chain was looked at for new units, and by which rules was learnt."""

_NODE = "name, kind, count, failures, repeats, recursions"
_EDGE = (
    "start_node, end_node, edge_type, edge_source, count, executions, successes, failures, first_ns, last_ns,"
    " evidence, aside"
)
_KINDS = {kind.value: kind for kind in Kind}
_TYPES = {kind.value: kind for kind in EdgeType}
_SOURCES = {source.value: source for source in EdgeSource}
_COUNTED = {
    "session": "SELECT count(*) FROM tool_call WHERE session = ?",
    "execution": "SELECT count(*) FROM span WHERE execution = ?",
}


class GraphTables:
    """Nodes, edges and the units that they were learnt from; a shelf for the engine."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def nodes(self) -> Iterator[Node]:
        """Every node."""
        for name, kind, *counts in self._db.rows(f"SELECT {_NODE} FROM graph_node ORDER BY name"):
            yield Node(str(name), _KINDS.get(str(kind)) or kind_of(str(name)), *map(integer, counts))

    def edges(self) -> Iterator[Edge]:
        """Every edge, those that were set aside too; rows of an unknown type or source stay where they are."""
        order = "start_node, end_node, edge_type"
        for row in self._db.rows(f"SELECT {_EDGE} FROM graph_edge ORDER BY {order}"):
            if row[2] in _TYPES and row[3] in _SOURCES:
                yield _edge(row)

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Inside a write: keep these rows, each instead of the one with the same key."""
        for node in nodes:
            values = (node.name, node.kind.value, node.count, node.failures, node.repeats, node.recursions)
            self._put("graph_node", _NODE, values, ("name",))
        for edge in edges:
            self._put("graph_edge", _EDGE, _row(edge), ("start_node", "end_node", "edge_type"))

    def units(self) -> dict[str, int]:
        """What was learnt from, and how many records each had."""
        return {str(unit): integer(places) for unit, places in self._db.rows("SELECT unit, places FROM graph_unit")}

    def put_units(self, units: Mapping[str, int]) -> None:
        """Inside a write: these were learnt from."""
        for unit, places in units.items():
            self._put("graph_unit", "unit, places", (unit, places), ("unit",))

    def brought(self, event: str, kinds: Sequence[str]) -> set[str]:
        """The sessions and executions of which an import tells: by the names of its events, its kinds, its chain."""
        marks = ", ".join("?" * len(kinds))
        where = (
            f"record.event_id LIKE ? OR record.kind IN ({marks})"
            " OR record.store_id NOT IN (SELECT store_id FROM chain WHERE owned = 1)"
        )
        found: set[str] = set()
        for table, column, prefix in (("tool_call", "session", "session:"), ("span", "execution", "execution:")):
            rows = self._db.rows(
                f"SELECT DISTINCT {table}.{column} FROM {table} JOIN record"
                f" ON record.store_id = {table}.store_id AND record.seq = {table}.seq WHERE {where}",
                (f"{event}%", *kinds),
            )
            found.update(prefix + str(name) for (name,) in rows)
        return found

    def touched(self, store: str, after: int) -> set[str]:
        """The units of which a chain tells behind a place."""
        found: set[str] = set()
        for kind, table, column in (("session", "tool_call", "session"), ("execution", "span", "execution")):
            rows = self._db.rows(
                f"SELECT DISTINCT {column} FROM {table} WHERE store_id = ? AND seq > ? AND {column} IS NOT NULL",
                (store, after),
            )
            found.update(f"{kind}:{name!s}" for (name,) in rows)
        return found

    def places(self, units: Iterable[str]) -> dict[str, int]:
        """How many records tell of each of these units now."""
        found = {}
        for unit in units:
            kind, _, name = unit.partition(":")
            ((count,),) = self._db.rows(_COUNTED[kind], (name,))
            found[unit] = integer(count)
        return found

    def state(self) -> dict[str, tuple[int, str]]:
        """How far each chain was looked at, and the version of what was learnt from it."""
        rows = self._db.rows("SELECT store_id, seq, version FROM state WHERE view = ?", (GRAPH,))
        return {str(store): (integer(seq), str(version)) for store, seq, version in rows}

    def set_state(self, store: str, seq: int, version: str) -> None:
        """Inside a write: a chain was looked at up to a place."""
        self._put("state", "view, store_id, seq, version", (GRAPH, store, seq, version), ("view", "store_id"))

    def forget(self) -> None:
        """Inside a write: let go of everything; the next question learns it again."""
        for table in ("graph_edge", "graph_node", "graph_unit"):
            self._db.run(f"DELETE FROM {table}")
        self._db.run("DELETE FROM state WHERE view = ?", (GRAPH,))

    def _put(self, table: str, columns: str, values: Sequence[SqlValue], key: Sequence[str]) -> None:
        names = [name.strip() for name in columns.split(",")]
        sets = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
        self._db.run(
            f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"
            f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sets}",
            values,
        )


def _row(edge: Edge) -> tuple[SqlValue, ...]:
    evidence = msgspec.json.encode([list(witness) for witness in edge.evidence]).decode()
    return (
        edge.start,
        edge.end,
        edge.type.value,
        edge.source.value,
        edge.count,
        edge.executions,
        edge.successes,
        edge.failures,
        edge.first_ns,
        edge.last_ns,
        evidence,
        int(edge.aside),
    )


def _edge(row: Row) -> Edge:
    start, end, type_, source, count, executions, successes, failures, first_ns, last_ns, evidence, aside = row
    return Edge(
        start=str(start),
        end=str(end),
        type=_TYPES[str(type_)],
        source=_SOURCES[str(source)],
        count=integer(count),
        executions=integer(executions),
        successes=integer(successes),
        failures=integer(failures),
        first_ns=None if first_ns is None else integer(first_ns),
        last_ns=None if last_ns is None else integer(last_ns),
        evidence=tuple(Witness(*witness) for witness in msgspec.json.decode(str(evidence))),
        aside=bool(aside),
    )


# SQL about recorded spans and about what became of the changes that sessions wrote.


def spans_of_execution(store: Store, execution: ExecutionId) -> list[ObservedView[ObservedSpan]]:
    """Return what was recorded of the spans of an execution."""
    return store.views.look_up(ObservedSpan, "execution = ?", (execution,))


def spans_of_session(store: Store, session: SessionId) -> list[ObservedView[ObservedSpan]]:
    """Return what was recorded of the spans of an agent's session."""
    return store.views.look_up(ObservedSpan, "session = ?", (session,))


def executions_of_session(store: Store, session: SessionId) -> list[ExecutionId]:
    """Return the executions that an agent's session started, by id."""
    executions = store.views.distinct(ObservedSpan, "execution", "session = ?", (session,))
    return [ExecutionId(str(execution)) for execution in executions]


def decisions_between(store: Store, agent: AgentName, since_ns: int, until_ns: int) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent between two times, both included."""
    return store.views.look_up(Decision, "agent = ? AND at_ns >= ? AND at_ns <= ?", (agent, since_ns, until_ns))


def first_spans(store: Store, execution: ExecutionId, limit: int) -> list[ObservedView[ObservedSpan]]:
    """Return some of what was recorded of the spans of an execution."""
    return store.views.look_up(ObservedSpan, f"execution = ? LIMIT {int(limit)}", (execution,))


def agents_with_calls(store: Store) -> list[AgentName]:
    """Return the agents of sessions with tool calls, by name."""
    agents = store.views.distinct(Observation, "agent", "session IN (SELECT session FROM tool_call)")
    return [AgentName(str(agent)) for agent in agents]


def sessions_of_agent(store: Store, agent: AgentName) -> set[SessionId]:
    """Return the sessions of an agent."""
    sessions = store.views.distinct(Observation, "session", "agent = ?", (agent,))
    return {SessionId(str(session)) for session in sessions}


# Which spans and which observations a store has, asked for many at once.


PAIRS = 250
"""Spans asked for at a time: a statement may hold 999 values."""

SpanObservations = dict[NaturalKey, dict[Digest, list[RecordRef]]]
"""The records of an observation by what they say."""


class SpanTables:
    """Rows of spans, read."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def there(self, spans: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Which of these spans, by execution and id, anything was recorded of."""
        found: set[tuple[str, str]] = set()
        for some in split_batches(sorted(spans), PAIRS):
            marks = ", ".join(["(?, ?)"] * len(some))
            values: list[SqlValue] = [part for pair in some for part in pair]
            # A plain IN over pairs would look at every span there is.
            rows = self._db.rows(
                f"WITH wanted (of, id) AS (VALUES {marks}) SELECT of, id FROM wanted"
                " WHERE EXISTS (SELECT 1 FROM span WHERE execution = wanted.of AND span = wanted.id)",
                values,
            )
            found.update((str(execution), str(span)) for execution, span in rows)
        return found

    def observed(self, keys: Collection[NaturalKey]) -> SpanObservations:
        """What was recorded under these natural keys."""
        found: SpanObservations = {}
        for some in split_batches(sorted(keys), 2 * PAIRS):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT natural_key, digest, store_id, seq FROM record WHERE natural_key IN ({marks})"
            for key, digest, store, seq in self._db.rows(sql, some):
                refs = found.setdefault(NaturalKey(str(key)), {}).setdefault(Digest(raw(digest)), [])
                refs.append(RecordRef(StoreId(str(store)), Seq(integer(seq))))
        return found

    def executions(self) -> Iterator[ExecutionId]:
        """Every execution, in order, one question for each."""
        last = ""
        while rows := self._db.rows("SELECT min(execution) FROM span WHERE execution > ?", (last,)):
            if rows[0][0] is None:
                return
            last = str(rows[0][0])
            yield ExecutionId(last)

    def count(self) -> int:
        """How many records tell of spans."""
        return integer(self._db.rows("SELECT count(*) FROM span")[0][0])
