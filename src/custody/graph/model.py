"""The nouns of the graph: events and spans as input, nodes and edges as learned."""

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from msgspec import Struct, field

from custody.core.structs import hash_struct
from custody.core.views import SpanKind

Plain = str | int | float | bool

_NOTHING: Mapping[str, Plain] = MappingProxyType({})


def _empty_span_attributes() -> Mapping[str, Plain]:
    return _NOTHING


class EventType(StrEnum):
    """The type of an event of a traced execution."""

    CAPABILITY_START = "capability_start"
    CAPABILITY_END = "capability_end"
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"


Kind = SpanKind
"""The kind of a span."""

STRUCTURAL = frozenset({Kind.SESSION, Kind.TURN})
"""Kinds that group calls and are not calls themselves: every session has them, so they make no two nodes similar."""


class Status(Enum):
    """The outcome of a call."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class EdgeType(StrEnum):
    """How two nodes are related; ``dependency`` goes from the needed node to the one that needs it."""

    DEPENDENCY = "dependency"
    CONTAINS = "contains"
    SEQUENCE = "sequence"


class EdgeSource(StrEnum):
    """How an edge is known: observed often, observed at least once (inferred), or from a template."""

    OBSERVED = "observed"
    INFERRED = "inferred"
    TEMPLATE = "template"


ACYCLIC = (EdgeType.CONTAINS, EdgeType.DEPENDENCY)
"""Types whose edges never close a cycle, each type by itself."""


class TraceEvent(Struct, frozen=True, kw_only=True):
    """The start or the end of one call, as a running program reports it.

    ``name`` is a capability's name or a tool as ``SERVER:TOOL``; the id is used if it is missing. Either of a call's
    two events may have its times, outcome and parent. ``needs`` are the ids of calls whose results it used.
    """

    type: EventType
    trace_id: str
    parent_trace_id: str | None = None
    name: str | None = None
    at_ns: int | None = None
    status: Status = Status.UNKNOWN
    execution: str = ""
    session: str | None = None
    needs: tuple[str, ...] = ()
    attributes: Mapping[str, Plain] = field(default_factory=_empty_span_attributes)

    def __hash__(self) -> int:
        return hash_struct(self, but=("attributes",))


class CallSpan(Struct, frozen=True, kw_only=True):
    """One traced call, identified by its execution and its id.

    ``start_ns`` is None when only its end was reported, ``end_ns`` when no end was. ``link`` is a parent that was named
    and is not among the spans. ``abandoned``: it started and never ended. ``first`` is the position of its first record
    in the input; ``began`` and ``ended`` are the positions of its start and its end, if reported.
    """

    id: str
    kind: Kind
    name: str
    parent: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    status: Status = Status.UNKNOWN
    execution: str = ""
    session: str | None = None
    needs: tuple[str, ...] = ()
    attributes: Mapping[str, Plain] = field(default_factory=_empty_span_attributes)
    abandoned: bool = False
    link: str | None = None
    first: int = 0
    began: int | None = None
    ended: int | None = None

    @property
    def node(self) -> str:
        """Return the name of the node that counts this call."""
        return make_graph_node_name(self.kind, self.name)

    def __hash__(self) -> int:
        return hash_struct(self, but=("attributes",))


_RESERVED = frozenset(kind.value for kind in Kind)


def make_graph_node_name(kind: Kind, name: str) -> str:
    """Return the name of a call's node: ``capability:NAME``, ``SERVER:TOOL``; all sessions share one, as do all turns.

    >>> make_graph_node_name(Kind.CAPABILITY, "cap1"), make_graph_node_name(Kind.TOOL, "filesystem:read_file")
    ('capability:cap1', 'filesystem:read_file')
    >>> make_graph_node_name(Kind.TOOL, "Read")
    'tool:Read'
    >>> make_graph_node_name(Kind.SESSION, "monday"), make_graph_node_name(Kind.TOOL, "capability:cap1")
    ('session', 'tool:capability:cap1')
    """
    if kind is Kind.TOOL:
        server, colon, _ = name.partition(":")
        # A server whose name is a kind must not be taken for that kind.
        return name if colon and server and server not in _RESERVED else f"tool:{name}"
    return kind.value if kind in STRUCTURAL else f"{kind.value}:{name}"


def kind_from_node_name(node: str) -> Kind:
    """Return the kind of a node from its name.

    >>> [kind_from_node_name(node).value for node in ("capability:cap1", "filesystem:read_file", "turn")]
    ['capability', 'tool', 'turn']
    """
    word = node.partition(":")[0]
    return next((kind for kind in Kind if kind.value == word), Kind.TOOL)


EdgeKey = tuple[str, str, EdgeType]
"""Start, end, type: one pair of nodes may have an edge of each type."""


UnitKind = Literal["session", "execution"]


class UnitId(NamedTuple):
    """The id of what is learned as a whole: a session of an agent, or an execution of a traced program."""

    kind: UnitKind
    id: str


class Witness(NamedTuple):
    """Two spans of one execution that show an edge, and when (0 if the time is unknown)."""

    at_ns: int
    execution: str
    before: str
    after: str


class Edge(Struct, frozen=True):
    """An edge between two nodes with its counts; ``weight`` follows from type and source and is never stored.

    A stored row without a type or a source is an inferred sequence. ``evidence`` holds the newest witnesses. An edge of
    a template that was not observed yet has a count of 0. ``aside``: it would close a cycle, so it is counted and is
    not part of the graph.
    """

    start: str
    end: str
    type: EdgeType = EdgeType.SEQUENCE
    source: EdgeSource = EdgeSource.INFERRED
    weight: float = 0.0
    count: int = 0
    executions: int = 0
    successes: int = 0
    failures: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    evidence: tuple[Witness, ...] = ()
    aside: bool = False

    @property
    def key(self) -> EdgeKey:
        """Return the edge's key."""
        return self.start, self.end, self.type


class Node(Struct):
    """How often a node was called, failed, followed itself, and called itself."""

    name: str
    kind: Kind
    count: int = 0
    failures: int = 0
    repeats: int = 0
    recursions: int = 0

    def add(self, other: "Node") -> None:
        """Add the counts of ``other``."""
        self.count += other.count
        self.failures += other.failures
        self.repeats += other.repeats
        self.recursions += other.recursions
