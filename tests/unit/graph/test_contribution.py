"""Contributions add up and are subtracted exactly: any history gives the graph of learning everything again."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import AgentName, ExecutionId, SessionId, SpanId
from custody.core.views import ObservedSpan, SpanPhase, SpanStatus
from custody.graph.contribution import (
    Contribution,
    GraphSums,
    list_acyclic_edges,
    make_contribution,
    order_acyclic_edges,
    sum_contributions,
)
from custody.graph.engine import GraphEngine, Snapshot
from custody.graph.model import Edge, EdgeKey, Kind, UnitId
from custody.graph.rules import GraphRules

RULES = GraphRules()
EXECUTIONS_RULES = GraphRules(promote_by="executions")


@st.composite
def drawn_spans(draw: st.DrawFn, unit: str) -> list[ObservedSpan]:
    """Return spans of up to two executions, nested and in sequence; few names, so that cycles and repeats occur."""
    spans: list[ObservedSpan] = []
    for number in range(draw(st.integers(1, 24))):
        parent = draw(st.none() | st.sampled_from([f"{place}" for place in range(number)])) if number else None
        start = draw(st.none() | st.integers(0, 40))
        spans.append(
            ObservedSpan(
                execution=ExecutionId(f"{unit}-{draw(st.integers(0, 1))}"),
                id=SpanId(str(number)),
                phase=SpanPhase.WHOLE,
                name=draw(st.sampled_from("abc")),
                kind=Kind.CAPABILITY,
                parent=None if parent is None else SpanId(parent),
                started_ns=start,
                ended_ns=None if start is None else start + draw(st.integers(0, 3)),
                status=draw(st.sampled_from((SpanStatus.OK, SpanStatus.ERROR))),
                agent=AgentName("robot"),
                session=SessionId(unit),
            )
        )
    return spans


@st.composite
def drawn_histories(draw: st.DrawFn) -> list[list[tuple[UnitId, Contribution | None]]]:
    """Return batches of changes: units arrive, grow, are replaced, and go away."""
    history: list[list[tuple[UnitId, Contribution | None]]] = []
    spans: dict[UnitId, list[ObservedSpan]] = {}
    for _ in range(draw(st.integers(1, 6))):
        batch: dict[UnitId, Contribution | None] = {}
        for unit in draw(st.lists(st.sampled_from([UnitId("execution", name) for name in "xyz"]), min_size=1)):
            change = draw(st.sampled_from(("grow", "replace", "remove")))
            kept = spans.get(unit, []) if change == "grow" else []
            spans[unit] = kept + ([] if change == "remove" else draw(drawn_spans(unit.id)))
            batch[unit] = make_contribution(unit, spans[unit]) if spans[unit] else None
        history.append(list(batch.items()))
    return history


class Sums:
    """Stored parts, and the sums that are updated with every batch."""

    def __init__(self, rules: GraphRules) -> None:
        self.rules = rules
        self.parts: dict[UnitId, Contribution] = {}
        self.sums = GraphSums()

    def replace(self, batch: Sequence[tuple[UnitId, Contribution | None]]) -> None:
        changed = dict(batch)
        others = [part for unit, part in self.parts.items() if unit not in changed]

        def find_other_edges(key: EdgeKey) -> list[Edge]:
            return [part.edge for other in others for part in other.parts if part.edge.key == key]

        old = [self.parts[unit] for unit in changed if unit in self.parts]
        new = [part for part in changed.values() if part is not None]
        self.sums.replace(old, new, find_other_edges, self.rules)
        self.parts = {part.unit: part for part in (*others, *new)}
        self.sums.set_aside(order_acyclic_edges(list_acyclic_edges(self.parts.values())))


def snapshot_of(sums: GraphSums, rules: GraphRules) -> Snapshot:
    engine = GraphEngine(rules)
    engine.book.load(sums.nodes.values(), sums.edges.values())
    return engine.get_graph_snapshot()


@given(drawn_histories(), st.sampled_from((RULES, EXECUTIONS_RULES)))
def test_any_history_gives_the_graph_of_learning_everything_again(
    history: list[list[tuple[UnitId, Contribution | None]]], rules: GraphRules
) -> None:
    kept = Sums(rules)
    for batch in history:
        kept.replace(batch)
        again = sum_contributions([*kept.parts.values()], rules)
        assert kept.sums.nodes == again.nodes
        assert kept.sums.edges == again.edges


@given(st.data())
def test_contributions_add_up_to_what_the_engine_learns(data: st.DataObject) -> None:
    units = [UnitId("execution", name) for name in "xyz"]
    spans = {unit: data.draw(drawn_spans(unit.id)) for unit in units}
    engine = GraphEngine(RULES)
    for unit in units:
        engine.update_from_code_execution(spans[unit])
    sums = sum_contributions([make_contribution(unit, spans[unit]) for unit in reversed(units)], RULES)
    assert snapshot_of(sums, RULES) == engine.get_graph_snapshot()


def test_the_other_units_are_read_again_only_if_a_bound_goes_away() -> None:
    def part(unit: str, *starts: int) -> Contribution:
        spans = [
            ObservedSpan(
                execution=ExecutionId(unit),
                id=SpanId(str(number)),
                phase=SpanPhase.WHOLE,
                name=name,
                kind=Kind.CAPABILITY,
                started_ns=start,
                ended_ns=start,
                session=SessionId(unit),
            )
            for number, (name, start) in enumerate((name, start) for start in starts for name in "ab")
        ]
        return make_contribution(UnitId("execution", unit), spans)

    early, late = part("x", 1), part("y", 5)
    kept = Sums(RULES)
    kept.replace([(early.unit, early), (late.unit, late)])
    asked: list[EdgeKey] = []

    def find_other_edges(key: EdgeKey) -> list[Edge]:
        asked.append(key)
        return [part.edge for part in late.parts if part.edge.key == key]

    kept.sums.replace([early], [part("x", 1, 2)], find_other_edges, RULES)
    assert asked == []
    kept.sums.replace([part("x", 1, 2)], [part("x", 3)], find_other_edges, RULES)
    assert asked
