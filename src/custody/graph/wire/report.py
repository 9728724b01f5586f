"""The reports of ``custody graph``: nodes and edges with evidence, paths, similar nodes, next calls, differences."""

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
    """One edge, identified by both ends and its type; ``weight`` follows from type and source."""

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
    """The outcome of a change that a session wrote lines of: merged, changed, closed or reverted."""

    session: str
    agent: str
    told: str
    commit: str | None
    at: str
    record: str


class GraphShowReport(Report, frozen=True, kw_only=True, tag="graph-show"):
    """The graph, or one session of it: nodes, edges, and the same as elements for Cytoscape.

    ``aside`` are edges that would close a cycle. ``repairs`` counts the repairs of what was learned just now.
    ``outcomes`` are those of the change that the session wrote; the last one is current.
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
    """The cheapest path between two nodes; without nodes if there is none."""

    start: str
    end: str
    measure: Literal["document", "reliability", "surprisal"]
    nodes: list[str]
    cost: float | None
    edges: list[GraphEdge]


class SharedNeighbor(msgspec.Struct, frozen=True):
    """A node that two nodes both have edges to, and how much it adds to their similarity.

    ``share`` is that part of the similarity; ``edges`` are the heaviest edge from each of the two nodes.
    """

    node: str
    share: float
    edges: list[GraphEdge]


class GraphSimilarNode(msgspec.Struct, frozen=True):
    """A node similar to the requested one, and the neighbors that contribute most."""

    node: str
    score: float
    witnesses: list[SharedNeighbor]


class GraphRelatedReport(Report, frozen=True, kw_only=True, tag="graph-related"):
    """The nodes most similar to a node, by the neighbors they share."""

    node: str
    formula: Literal["page", "document"]
    alike: list[GraphSimilarNode]


class GraphSuggestion(msgspec.Struct, frozen=True):
    """A likely next call: its probability, the part of each predictor, and the edges that lead to it."""

    name: str
    node: str
    chance: float
    parts: dict[str, float]
    edges: list[GraphEdge]


class GraphNextReport(Report, frozen=True, kw_only=True, tag="graph-next"):
    """The likeliest next calls of a session, or after given calls; ``calls`` is how many the model learned from."""

    session: str | None
    after: list[str]
    calls: int
    suggestions: list[GraphSuggestion]


class GraphDagReport(Report, frozen=True, kw_only=True, tag="graph-dag"):
    """The graph without cycles: an order in which every edge points forward, and the removed edges."""

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
    """The differences between two periods or two agents, and both as elements for Cytoscape."""

    before: str
    after: str
    changes: list[GraphChange]
    elements: dict[str, Any]


# Reports of importing and exporting OpenTelemetry spans.


class SpanPlace(msgspec.Struct, frozen=True):
    """Where something was repaired: the file, its line or frame if any, and the span or the reason."""

    file: str
    line: int | None
    what: str


class SpanRepairReport(msgspec.Struct, frozen=True):
    """One kind of repair: its code, its sentence, how often, and the first places."""

    code: str
    what: str
    count: int
    places: list[SpanPlace]


class ImportOtlpReport(Report, frozen=True, kw_only=True, tag="import-otlp"):
    """The result of importing OpenTelemetry spans.

    ``known`` spans were stored before; spans repeated in the files are among ``repairs``. ``attributes_left_out`` are
    texts that were not requested and attributes over the limits. ``unfollowed`` spans wait for a parent that was not
    looked up, because too many wait.
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
    """The result of an export; ``sessions`` are captured sessions exported as spans."""

    path: str
    spans: int
    executions: int
    sessions: int
    without_end: int
    bytes: int
