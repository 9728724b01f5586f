"""What ``custody graph`` answers: nodes and edges with what shows them, ways, likenesses, next calls, differences."""

from typing import Any, Literal

import msgspec

from custody.core.wire.report import Report

EdgeTypeName = Literal["dependency", "contains", "sequence"]
EdgeSourceName = Literal["observed", "inferred", "template"]


class GraphWitness(msgspec.Struct, frozen=True):
    """Two spans of one execution that show an edge, and when."""

    execution: str
    before: str
    after: str
    at: str | None


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """One edge: known by both ends and its type; ``weight`` follows from type and source."""

    start: str
    end: str
    type: EdgeTypeName
    source: EdgeSourceName
    weight: float
    count: int
    executions: int
    successes: int
    failures: int
    first: str | None
    last: str | None
    evidence: list[GraphWitness]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node: how often it was called, failed, followed itself and called itself."""

    name: str
    kind: str
    count: int
    failures: int
    repeats: int
    recursions: int


class GraphOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a change that a session wrote lines of: merged, changed, closed or reverted."""

    session: str
    agent: str
    told: str
    commit: str | None
    at: str
    record: str


class GraphShowReport(Report, frozen=True, kw_only=True, tag="graph-show"):
    """The graph, or one session of it: nodes, edges, and the same as elements for Cytoscape.

    ``aside`` are edges that would have closed a cycle. ``repairs`` counts what had to be mended in what was learnt now.
    ``outcomes`` tell what became of the change that the session wrote, the last one of which stands.
    """

    view: Literal["graph", "tree", "lanes"]
    units: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    aside: list[GraphEdge]
    repairs: dict[str, int]
    elements: dict[str, Any]
    outcomes: list[GraphOutcome]


class GraphPathReport(Report, frozen=True, kw_only=True, tag="graph-path"):
    """The cheapest way from one node to another; no nodes where there is none."""

    start: str
    end: str
    measure: Literal["document", "reliability", "surprisal"]
    nodes: list[str]
    cost: float | None
    edges: list[GraphEdge]


class SharedNeighbour(msgspec.Struct, frozen=True):
    """A neighbour that two nodes share, what it adds to their likeness, and the heaviest edge from each to it."""

    node: str
    share: float
    edges: list[GraphEdge]


class GraphSimilarNode(msgspec.Struct, frozen=True):
    """A node that is like the one asked about, and the neighbours that say so most."""

    node: str
    score: float
    witnesses: list[SharedNeighbour]


class GraphRelatedReport(Report, frozen=True, kw_only=True, tag="graph-related"):
    """The nodes most like one, by the neighbours that they share."""

    node: str
    formula: Literal["page", "document"]
    alike: list[GraphSimilarNode]


class GraphSuggestion(msgspec.Struct, frozen=True):
    """A call that may come next: its chance, what each part of the model says, and the edges that lead to it."""

    name: str
    node: str
    chance: float
    parts: dict[str, float]
    edges: list[GraphEdge]


class GraphNextReport(Report, frozen=True, kw_only=True, tag="graph-next"):
    """The likeliest next calls of a session, or after some calls; ``calls`` is how many the model learnt from."""

    session: str | None
    after: list[str]
    calls: int
    suggestions: list[GraphSuggestion]


class GraphDagReport(Report, frozen=True, kw_only=True, tag="graph-dag"):
    """The graph without cycles: an order in which every edge goes forwards, and what was removed."""

    order: list[str]
    edges: list[GraphEdge]
    removed: list[GraphEdge]


class GraphChange(msgspec.Struct, frozen=True, kw_only=True):
    """How an edge differs between two graphs; shares are of all edges of its type."""

    start: str
    end: str
    type: EdgeTypeName
    change: Literal["new", "gone", "more", "less", "same"]
    count_before: int
    count_after: int
    share_before: float
    share_after: float


class GraphDiffReport(Report, frozen=True, kw_only=True, tag="graph-diff"):
    """What differs between two periods or two agents, and both as elements for Cytoscape."""

    before: str
    after: str
    changes: list[GraphChange]
    elements: dict[str, Any]


# What importing and exporting OpenTelemetry's spans says.


class SpanPlace(msgspec.Struct, frozen=True):
    """Where something was mended: the file, its line or its frame where it has some, and the span or why."""

    file: str
    line: int | None
    what: str


class SpanRepairReport(msgspec.Struct, frozen=True):
    """One thing that was mended: its code, the sentence for it, how often, and the first places."""

    code: str
    what: str
    count: int
    places: list[SpanPlace]


class ImportOtlpReport(Report, frozen=True, kw_only=True, tag="import-otlp"):
    """What was read of OpenTelemetry's spans and what became of it.

    ``known`` spans were in the store before; those that came twice are among ``repairs``. ``attributes_left_out`` are
    texts that were not asked for and what is too long or too many. ``unfollowed`` spans wait for a parent of which
    nobody looked whether it came, since too many wait.
    """

    files: list[str]
    spans: int
    new: int
    known: int
    kinds: dict[str, int]
    attributes_left_out: int
    unfollowed: int
    repairs: list[SpanRepairReport]


class ExportOtlpReport(Report, frozen=True, kw_only=True, tag="export-otlp"):
    """What was written; ``sessions`` are captured ones, told as spans."""

    path: str
    spans: int
    executions: int
    sessions: int
    without_end: int
    bytes: int
