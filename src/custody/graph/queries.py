"""SQL over spans and over what was learned from calls; may touch ``store``."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from custody.core.ids import AgentName, Digest, ExecutionId, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.views import Decision, Observation, ObservedSpan
from custody.graph.calls import CallPlace, SequenceCall
from custody.graph.contribution import Contribution, EdgePart, EdgePosition
from custody.graph.model import (
    ACYCLIC,
    Edge,
    EdgeKey,
    EdgeSource,
    EdgeType,
    Kind,
    Node,
    UnitId,
    UnitKind,
    Witness,
    kind_from_node_name,
)
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
_SESSION_VIEWS = ("tool_call", "session", "prompt", "file_edit")
"""Views that the spans of a captured session are made of; without a call it is not a unit."""
_PART = (
    "unit, start_node, end_node, edge_type, run, count, executions, successes, failures, first_ns, last_ns, evidence"
)
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

    def delete(self, nodes: Iterable[str], edges: Iterable[EdgeKey]) -> None:
        """Delete these nodes and edges, inside a write."""
        self._db.run_for_each("DELETE FROM graph_node WHERE name = ?", [(name,) for name in nodes])
        self._db.run_for_each(
            "DELETE FROM graph_edge WHERE start_node = ? AND end_node = ? AND edge_type = ?",
            [(start, end, kind.value) for start, end, kind in edges],
        )

    def units(self) -> dict[UnitId, int]:
        """Return the learned units, each with its number of view rows then."""
        rows = self._db.rows("SELECT unit, places FROM graph_unit")
        return {_unit_id_from_sql(str(unit)): integer_from_sql(places) for unit, places in rows}

    def contributions(self, units: Collection[UnitId] | None = None) -> Iterator[Contribution]:
        """Yield what these units, or all, add to the graph, by id; without their calls."""
        parts: dict[str, list[EdgePart]] = {}
        for row in self._select_units(f"SELECT {_PART} FROM graph_part", units):
            parts.setdefault(str(row[0]), []).append(_part_from_sql_row(row))
        columns = "unit, first_ns, agents, repairs, nodes"
        for name, first_ns, agents, repairs, nodes in sorted(
            self._select_units(f"SELECT {columns} FROM graph_unit", units)
        ):
            yield Contribution(
                _unit_id_from_sql(str(name)),
                integer_from_sql(first_ns),
                tuple(msgspec.json.decode(str(agents))),
                msgspec.json.decode(str(repairs)),
                tuple(
                    Node(node, kind_from_node_name(node), *counts) for node, *counts in msgspec.json.decode(str(nodes))
                ),
                tuple(parts.get(str(name), ())),
                (),
            )

    def unit_starts(self) -> dict[UnitId, tuple[int, tuple[str, ...]]]:
        """Return when each learned unit started, and the agents of its calls."""
        rows = self._db.rows("SELECT unit, first_ns, agents FROM graph_unit")
        return {
            _unit_id_from_sql(str(unit)): (integer_from_sql(first_ns), tuple(msgspec.json.decode(str(agents))))
            for unit, first_ns, agents in rows
        }

    def unit_repairs(self) -> list[tuple[UnitId, dict[str, int]]]:
        """Return the repairs of each learned unit that needed any."""
        rows = self._db.rows("SELECT unit, repairs FROM graph_unit WHERE repairs <> '{}'")
        return [(_unit_id_from_sql(str(unit)), msgspec.json.decode(str(repairs))) for unit, repairs in rows]

    def unit_calls(self) -> dict[UnitId, tuple[tuple[SequenceCall, ...], ...]]:
        """Return the calls of each learned unit in order; files and messages are numbers, equal if those are."""
        rows = self._db.rows("SELECT unit, calls FROM graph_unit")
        return {_unit_id_from_sql(str(unit)): _calls_from_json(str(calls)) for unit, calls in rows}

    def parts_of_edge(self, key: EdgeKey) -> list[tuple[UnitId, Edge]]:
        """Return what each unit adds to an edge."""
        start, end, kind = key
        where = "start_node = ? AND end_node = ? AND edge_type = ?"
        rows = self._db.rows(f"SELECT {_PART} FROM graph_part WHERE {where}", (start, end, kind.value))
        return [(_unit_id_from_sql(str(row[0])), _part_from_sql_row(row).edge) for row in rows]

    def acyclic_edges(self) -> list[tuple[UnitId, EdgePosition]]:
        """Return where each unit first shows each edge that must not close a cycle."""
        marks = ", ".join("?" * len(ACYCLIC))
        rows = self._db.rows(
            f"SELECT unit, run, start_node, end_node, edge_type FROM graph_part WHERE edge_type IN ({marks})",
            [kind.value for kind in ACYCLIC],
        )
        return [
            (
                _unit_id_from_sql(str(unit)),
                (str(unit), integer_from_sql(run), (str(start), str(end), _TYPES[str(kind)])),
            )
            for unit, run, start, end, kind in rows
        ]

    def put_contributions(self, contributions: Sequence[Contribution], places: Mapping[UnitId, int]) -> None:
        """Store what units add, inside a write; the units must not be stored."""
        self._db.run_for_each(
            "INSERT INTO graph_unit (unit, places, first_ns, agents, repairs, nodes, calls)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_contribution_to_sql_row(each, places[each.unit]) for each in contributions],
        )
        self._db.run_for_each(
            f"INSERT INTO graph_part ({_PART}) VALUES ({', '.join('?' * 12)})",
            [_part_to_sql_row(each.unit, part) for each in contributions for part in each.parts],
        )

    def delete_units(self, units: Iterable[UnitId]) -> None:
        """Delete what these units add, inside a write."""
        names = [(_unit_id_to_sql(unit),) for unit in units]
        for table in ("graph_unit", "graph_part"):
            self._db.run_for_each(f"DELETE FROM {table} WHERE unit = ?", names)

    def _select_units(self, select: str, units: Collection[UnitId] | None) -> Iterator[Row]:
        if units is None:
            yield from self._db.rows(select)
            return
        for batch in split_row_batches(sorted(map(_unit_id_to_sql, units)), 2 * PAIRS):
            yield from self._db.rows(f"{select} WHERE unit IN ({', '.join('?' * len(batch))})", batch)

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
        """Return the units with views of records of a chain after a position, or of bodies erased there."""
        later = "it.store_id = ? AND it.seq > ?"
        erased = (
            "EXISTS (SELECT 1 FROM record JOIN erasure ON erasure.digest = record.digest OR erasure.digest IN"
            " (SELECT text FROM part WHERE body = record.digest) WHERE record.store_id = it.store_id"
            " AND record.seq = it.seq AND erasure.store_id = ? AND erasure.seq > ?)"
        )
        conditions = [later]
        if self._db.rows("SELECT 1 FROM erasure WHERE store_id = ? AND seq > ? LIMIT 1", (store, after)):
            conditions.append(erased)
        units: set[UnitId] = set()
        views: tuple[tuple[UnitKind, str, str], ...] = (
            *(("session", table, "session") for table in _SESSION_VIEWS),
            ("execution", "span", "execution"),
        )
        for kind, table, column in views:
            for condition in conditions:
                rows = self._db.rows(f"SELECT DISTINCT {column} FROM {table} AS it WHERE {condition}", (store, after))
                units.update(UnitId(kind, str(name)) for (name,) in rows if name is not None)
        return units

    def count_unit_rows(self) -> dict[UnitId, int]:
        """Return every session and execution with recorded calls, and the number of view rows that it is made of."""
        counts: dict[UnitId, int] = {}
        for table in _SESSION_VIEWS:
            for name, count in self._db.rows(f"SELECT session, count(*) FROM {table} GROUP BY session"):
                unit = UnitId("session", str(name))
                if table == _SESSION_VIEWS[0] or unit in counts:
                    counts[unit] = counts.get(unit, 0) + integer_from_sql(count)
        for name, count in self._db.rows("SELECT execution, count(*) FROM span GROUP BY execution"):
            counts[UnitId("execution", str(name))] = integer_from_sql(count)
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
        for table in ("graph_edge", "graph_node", "graph_unit", "graph_part"):
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


def _unit_id_to_sql(unit: UnitId) -> str:
    return f"{unit.kind}:{unit.id}"


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


def _part_from_sql_row(row: Row) -> EdgePart:
    _, start, end, type_, run, *counts = row
    edge = _edge_from_sql_row((start, end, type_, EdgeSource.INFERRED.value, *counts, 0))
    return EdgePart(integer_from_sql(run), edge)


def _part_to_sql_row(unit: UnitId, part: EdgePart) -> tuple[SqlValue, ...]:
    start, end, type_, _, *counts, _ = _edge_to_sql_row(part.edge)
    return (_unit_id_to_sql(unit), start, end, type_, part.run, *counts)


def _contribution_to_sql_row(contribution: Contribution, places: int) -> tuple[SqlValue, ...]:
    nodes = [(node.name, node.count, node.failures, node.repeats, node.recursions) for node in contribution.nodes]
    return (
        _unit_id_to_sql(contribution.unit),
        places,
        contribution.first_ns,
        *(
            msgspec.json.encode(value).decode()
            for value in (contribution.agents, contribution.repairs, nodes, _calls_to_json(contribution.calls))
        ),
    )


class _StoredCalls(msgspec.Struct, array_like=True):
    """The calls of a unit: every text once, and calls that name texts by number."""

    texts: list[str]
    runs: list[list[tuple[int, int, int, int, bool, int | None, int | None]]]


def _calls_to_json(runs: Iterable[Iterable[SequenceCall]]) -> _StoredCalls:
    """Return calls without the paths of their files and the ids around them: only equality counts."""
    texts: dict[str, int] = {}
    ids: dict[str | None, int | None] = {None: None, "": 0}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def alias(text: str | None) -> int | None:
        return ids.setdefault(text, len(ids) - 1)

    return _StoredCalls(
        runs=[
            [
                (
                    number(call.name),
                    number(call.node),
                    alias(call.place.inside) or 0,
                    number(call.place.node),
                    call.failed,
                    alias(call.file),
                    alias(call.message),
                )
                for call in calls
            ]
            for calls in runs
        ],
        texts=list(texts),
    )


def _calls_from_json(text: str) -> tuple[tuple[SequenceCall, ...], ...]:
    stored = msgspec.json.decode(text, type=_StoredCalls)
    names = stored.texts
    places: dict[tuple[int, int], CallPlace] = {}

    def place(inside: int, node: int) -> CallPlace:
        if (inside, node) not in places:
            places[inside, node] = CallPlace(str(inside) if inside else "", names[node])
        return places[inside, node]

    return tuple(
        tuple(
            SequenceCall(
                names[name],
                names[node],
                place(inside, above),
                failed,
                None if file is None else str(file),
                None if message is None else str(message),
            )
            for name, node, inside, above, failed, file, message in calls
        )
        for calls in stored.runs
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


# Lookups of many spans or observations at once.


PAIRS = 250
"""Spans per query: a statement may have 999 parameters."""

SpanObservations = dict[NaturalKey, dict[Digest, list[RecordRef]]]
"""The records of an observation by the digest of their content."""


class SpanTables:
    """Reads rows of spans."""

    def __init__(self, store: Store) -> None:
        self._db, self._tables = store.db, store.tables

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
        for record, _ in self._tables.find_batched_spans(keys):
            observations.setdefault(record.entry.key, {}).setdefault(record.entry.digest, []).append(record.ref)
        return observations

    def executions(self) -> Iterator[ExecutionId]:
        """Yield every execution, in order, with one query each."""
        last = ""
        while rows := self._db.rows("SELECT min(execution) FROM span WHERE execution > ?", (last,)):
            if rows[0][0] is None:
                return
            last = str(rows[0][0])
            yield ExecutionId(last)
