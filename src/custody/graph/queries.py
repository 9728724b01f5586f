"""SQL over spans and over what was learned from calls; may touch ``store``."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from custody.core.ids import AgentName, Digest, ExecutionId, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.views import Decision, Observation, ObservedSpan
from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Node, UnitId, UnitKind, Witness, kind_from_node_name
from custody.store import ObservedView, Store
from custody.store.db import Row, SqlValue
from custody.store.tables import bytes_from_sql, integer_from_sql, split_row_batches

# The learned graph: rows in and out. It is derived: everything can be learned from the records again.


GRAPH = "graph"
"""The view's name in the table of states: how far each chain was read, and by which rules it was learned."""

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
_UNIT_COLUMNS: tuple[tuple[UnitKind, str, str], ...] = (
    ("session", "tool_call", "session"),
    ("execution", "span", "execution"),
)


class GraphTables:
    """Nodes, edges and the units they were learned from; the engine's storage."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def nodes(self) -> Iterator[Node]:
        """Yield every node."""
        for name, kind, *counts in self._db.rows(f"SELECT {_NODE} FROM graph_node ORDER BY name"):
            yield Node(
                str(name), _KINDS.get(str(kind)) or kind_from_node_name(str(name)), *map(integer_from_sql, counts)
            )

    def edges(self) -> Iterator[Edge]:
        """Yield every edge, including those set aside; rows of an unknown type or source are skipped."""
        order = "start_node, end_node, edge_type"
        for row in self._db.rows(f"SELECT {_EDGE} FROM graph_edge ORDER BY {order}"):
            if row[2] in _TYPES and row[3] in _SOURCES:
                yield _edge_from_sql_row(row)

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Store these rows, inside a write; each replaces the row with its key."""
        for node in nodes:
            values = (node.name, node.kind.value, node.count, node.failures, node.repeats, node.recursions)
            self._put("graph_node", _NODE, values, ("name",))
        for edge in edges:
            self._put("graph_edge", _EDGE, _edge_to_sql_row(edge), ("start_node", "end_node", "edge_type"))

    def units(self) -> dict[UnitId, int]:
        """Return the learned units, each with its number of records then."""
        rows = self._db.rows("SELECT unit, places FROM graph_unit")
        return {_unit_id_from_sql(str(unit)): integer_from_sql(places) for unit, places in rows}

    def put_units(self, units: Mapping[UnitId, int]) -> None:
        """Mark units as learned, inside a write."""
        for unit, places in units.items():
            self._put("graph_unit", "unit, places", (f"{unit.kind}:{unit.id}", places), ("unit",))

    def list_imported_units(self, event: str, kinds: Sequence[str]) -> set[UnitId]:
        """Return the sessions and executions with imported records, by event name, kind or chain."""
        marks = ", ".join("?" * len(kinds))
        where = (
            f"record.event_id LIKE ? OR record.kind IN ({marks})"
            " OR record.store_id NOT IN (SELECT store_id FROM chain WHERE owned = 1)"
        )
        units: set[UnitId] = set()
        for unit_kind, table, column in _UNIT_COLUMNS:
            rows = self._db.rows(
                f"SELECT DISTINCT {table}.{column} FROM {table} JOIN record"
                f" ON record.store_id = {table}.store_id AND record.seq = {table}.seq WHERE {where}",
                (f"{event}%", *kinds),
            )
            units.update(UnitId(unit_kind, str(name)) for (name,) in rows)
        return units

    def list_units_after(self, store: str, after: int) -> set[UnitId]:
        """Return the units with records of a chain after a position."""
        units: set[UnitId] = set()
        for kind, table, column in _UNIT_COLUMNS:
            rows = self._db.rows(
                f"SELECT DISTINCT {column} FROM {table} WHERE store_id = ? AND seq > ? AND {column} IS NOT NULL",
                (store, after),
            )
            units.update(UnitId(kind, str(name)) for (name,) in rows)
        return units

    def places(self, units: Iterable[UnitId]) -> dict[UnitId, int]:
        """Return the current number of records of each unit."""
        counts = {}
        for unit in units:
            ((count,),) = self._db.rows(_COUNTED[unit.kind], (unit.id,))
            counts[unit] = integer_from_sql(count)
        return counts

    def state(self) -> dict[str, tuple[int, str]]:
        """Return how far each chain was read, and the version of the rules."""
        rows = self._db.rows("SELECT store_id, seq, version FROM state WHERE view = ?", (GRAPH,))
        return {str(store): (integer_from_sql(seq), str(version)) for store, seq, version in rows}

    def set_state(self, store: str, seq: int, version: str) -> None:
        """Store how far a chain was read, inside a write."""
        self._put("state", "view, store_id, seq, version", (GRAPH, store, seq, version), ("view", "store_id"))

    def forget(self) -> None:
        """Delete everything, inside a write; the next query learns it again."""
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


def _edge_to_sql_row(edge: Edge) -> tuple[SqlValue, ...]:
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


def _unit_id_from_sql(unit: str) -> UnitId:
    kind, _, id_ = unit.partition(":")
    return UnitId("session" if kind == "session" else "execution", id_)


def _edge_from_sql_row(row: Row) -> Edge:
    start, end, type_, source, count, executions, successes, failures, first_ns, last_ns, evidence, aside = row
    return Edge(
        start=str(start),
        end=str(end),
        type=_TYPES[str(type_)],
        source=_SOURCES[str(source)],
        count=integer_from_sql(count),
        executions=integer_from_sql(executions),
        successes=integer_from_sql(successes),
        failures=integer_from_sql(failures),
        first_ns=None if first_ns is None else integer_from_sql(first_ns),
        last_ns=None if last_ns is None else integer_from_sql(last_ns),
        evidence=tuple(Witness(*witness) for witness in msgspec.json.decode(str(evidence))),
        aside=bool(aside),
    )


# Recorded spans, and the decisions about the changes that sessions wrote.


def query_execution_spans(store: Store, execution: ExecutionId) -> list[ObservedView[ObservedSpan]]:
    """Return the recorded spans of an execution."""
    return store.views.look_up(ObservedSpan, "execution = ?", (execution,))


def query_session_spans(store: Store, session: SessionId) -> list[ObservedView[ObservedSpan]]:
    """Return the recorded spans of an agent's session."""
    return store.views.look_up(ObservedSpan, "session = ?", (session,))


def list_session_executions(store: Store, session: SessionId) -> list[ExecutionId]:
    """Return the executions that an agent's session started, by id."""
    executions = store.views.distinct(ObservedSpan, "execution", "session = ?", (session,))
    return [ExecutionId(str(execution)) for execution in executions]


def list_decisions_between(
    store: Store, agent: AgentName, since_ns: int, until_ns: int
) -> list[ObservedView[Decision]]:
    """Return the decisions about an agent between two times, both included."""
    return store.views.look_up(Decision, "agent = ? AND at_ns >= ? AND at_ns <= ?", (agent, since_ns, until_ns))


def query_first_spans(store: Store, execution: ExecutionId, limit: int) -> list[ObservedView[ObservedSpan]]:
    """Return some of the recorded spans of an execution."""
    return store.views.look_up(ObservedSpan, f"execution = ? LIMIT {int(limit)}", (execution,))


def list_agents_with_calls(store: Store) -> list[AgentName]:
    """Return the agents of sessions with tool calls, by name."""
    agents = store.views.distinct(Observation, "agent", "session IN (SELECT session FROM tool_call)")
    return [AgentName(str(agent)) for agent in agents]


def list_agent_sessions(store: Store, agent: AgentName) -> set[SessionId]:
    """Return the sessions of an agent."""
    sessions = store.views.distinct(Observation, "session", "agent = ?", (agent,))
    return {SessionId(str(session)) for session in sessions}


# Lookups of many spans or observations at once.


PAIRS = 250
"""Spans per query: a statement may have 999 parameters."""

SpanObservations = dict[NaturalKey, dict[Digest, list[RecordRef]]]
"""The records of an observation by the digest of their content."""


class SpanTables:
    """Reads rows of spans."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def find_stored_spans(self, spans: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return which of these spans, by execution and id, have records."""
        stored: set[tuple[str, str]] = set()
        for batch in split_row_batches(sorted(spans), PAIRS):
            marks = ", ".join(["(?, ?)"] * len(batch))
            values: list[SqlValue] = [part for pair in batch for part in pair]
            # A plain IN over pairs would read every span.
            rows = self._db.rows(
                f"WITH wanted (of, id) AS (VALUES {marks}) SELECT of, id FROM wanted"
                " WHERE EXISTS (SELECT 1 FROM span WHERE execution = wanted.of AND span = wanted.id)",
                values,
            )
            stored.update((str(execution), str(span)) for execution, span in rows)
        return stored

    def find_observations(self, keys: Collection[NaturalKey]) -> SpanObservations:
        """Return the records with these natural keys."""
        observations: SpanObservations = {}
        for batch in split_row_batches(sorted(keys), 2 * PAIRS):
            marks = ", ".join("?" * len(batch))
            sql = f"SELECT natural_key, digest, store_id, seq FROM record WHERE natural_key IN ({marks})"
            for key, digest, store, seq in self._db.rows(sql, batch):
                refs = observations.setdefault(NaturalKey(str(key)), {}).setdefault(Digest(bytes_from_sql(digest)), [])
                refs.append(RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq))))
        return observations

    def executions(self) -> Iterator[ExecutionId]:
        """Yield every execution, in order, with one query each."""
        last = ""
        while rows := self._db.rows("SELECT min(execution) FROM span WHERE execution > ?", (last,)):
            if rows[0][0] is None:
                return
            last = str(rows[0][0])
            yield ExecutionId(last)
