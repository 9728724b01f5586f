"""The nouns of the graph: events and spans as they come in, nodes and edges as they are learnt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

from custody.core.views import SpanKind

Plain = str | int | float | bool

_NOTHING: Mapping[str, Plain] = MappingProxyType({})


def _nothing() -> Mapping[str, Plain]:
    return _NOTHING


class EventType(StrEnum):
    """What an event of a traced execution says."""

    CAPABILITY_START = "capability_start"
    CAPABILITY_END = "capability_end"
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"


Kind = SpanKind
"""What a span is of."""

STRUCTURAL = frozenset({Kind.SESSION, Kind.TURN})
"""Kinds that hold calls together and are none themselves: every session has them, so they make nothing alike."""


class Status(Enum):
    """How a call came out."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class EdgeType(StrEnum):
    """What two nodes are to each other; ``dependency`` goes from what is needed to what needs it."""

    DEPENDENCY = "dependency"
    CONTAINS = "contains"
    SEQUENCE = "sequence"


class EdgeSource(StrEnum):
    """How an edge is known: seen often, seen, or only foreseen by a template."""

    OBSERVED = "observed"
    INFERRED = "inferred"
    TEMPLATE = "template"


ACYCLIC = (EdgeType.CONTAINS, EdgeType.DEPENDENCY)
"""Types whose edges never close a cycle, each type for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """The start or the end of one call, as a running program tells it.

    ``name`` is a capability's name or a tool as ``SERVER:TOOL``; where nobody said it, the id stands for it. A call's
    times, outcome and parent may stand in either of its two events. ``needs`` are the ids of calls whose results it
    used.
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
    attributes: Mapping[str, Plain] = field(default_factory=_nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSpan:
    """One traced call: known by its execution and its id.

    ``start_ns`` is None when only its end was seen, ``end_ns`` when nobody saw it end. ``link`` is a parent that was
    named and is not among the spans. ``abandoned``: it was begun and never ended. ``first`` is the place of its first
    record among all that came in; ``began`` and ``ended`` are those of its start and of its end, where one came.
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
    attributes: Mapping[str, Plain] = field(default_factory=_nothing, hash=False)
    abandoned: bool = False
    link: str | None = None
    first: int = 0
    began: int | None = None
    ended: int | None = None

    @property
    def node(self) -> str:
        """The node that it is counted under."""
        return node_of(self.kind, self.name)


_RESERVED = frozenset(kind.value for kind in Kind)


def node_of(kind: Kind, name: str) -> str:
    """The name of a call's node: ``capability:NAME``, ``SERVER:TOOL``; all sessions are one node, and all turns.

    >>> node_of(Kind.CAPABILITY, "cap1"), node_of(Kind.TOOL, "filesystem:read_file"), node_of(Kind.TOOL, "Read")
    ('capability:cap1', 'filesystem:read_file', 'tool:Read')
    >>> node_of(Kind.SESSION, "monday"), node_of(Kind.TOOL, "capability:cap1")
    ('session', 'tool:capability:cap1')
    """
    if kind is Kind.TOOL:
        server, colon, _ = name.partition(":")
        # A server that is called like a kind must not pass for one.
        return name if colon and server and server not in _RESERVED else f"tool:{name}"
    return kind.value if kind in STRUCTURAL else f"{kind.value}:{name}"


def kind_of(node: str) -> Kind:
    """The kind that a node's name tells.

    >>> [kind_of(node).value for node in ("capability:cap1", "filesystem:read_file", "turn")]
    ['capability', 'tool', 'turn']
    """
    word = node.partition(":")[0]
    return next((kind for kind in Kind if kind.value == word), Kind.TOOL)


EdgeKey = tuple[str, str, EdgeType]
"""From, to, type: the same pair may be contained and in sequence."""


class Witness(NamedTuple):
    """Two spans of one execution that show an edge, and when it was seen (0 where no time was told)."""

    at_ns: int
    execution: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Edge:
    """What was learnt about one pair of nodes; ``weight`` follows from type and source and is never stored.

    A stored row without a type or a source is a sequence, and inferred. ``evidence`` is the newest of what shows it. An
    edge of a template that was not seen yet has a count of 0. ``aside``: it would have closed a cycle, so it is counted
    and not part of the graph.
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
        """What it is known by."""
        return self.start, self.end, self.type


@dataclass(slots=True)
class Node:
    """How often a node was called, failed, followed itself, and called itself."""

    name: str
    kind: Kind
    count: int = 0
    failures: int = 0
    repeats: int = 0
    recursions: int = 0

    def add(self, other: "Node") -> None:
        """Count what ``other`` counted too."""
        self.count += other.count
        self.failures += other.failures
        self.repeats += other.repeats
        self.recursions += other.recursions
