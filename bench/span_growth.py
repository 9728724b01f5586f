"""How the look-ups of spans grow with their number: spans of one execution, one span, and spans that come again."""

import json

from bench.growth import Growth, Population
from bench.runner import Ground
from bench.store import BATCH, START_S
from custody.core.ids import EventId, ExecutionId
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.core.wire.time import format_timestamp
from custody.graph.queries import SpanTables, query_execution_spans
from custody.store import Heads, Store, StoreEnvironment, open_sqlite
from custody.workspace.wiring import VIEWS

NS = 1_000_000_000
EXECUTION_SPANS = 50


def a_span(n: int) -> Arrival:
    """Return the ``n``-th span: a tool's call inside the first span of its execution."""
    execution, place = divmod(n, EXECUTION_SPANS)
    event: dict[str, object] = {
        "custody": 1,
        "kind": "span",
        "id": f"e{execution}:{place}:whole",
        "at": format_timestamp((START_S + n) * NS),
        "ended_at": format_timestamp((START_S + n) * NS + 500),
        "execution": f"e{execution}",
        "span": str(place),
        "phase": "whole",
        "name": f"tool {place % 7}",
        "span_kind": "tool",
        "status": "ok",
        "attributes": {"tool.name": f"tool {place % 7}", "count": n},
    }
    if place:
        event["parent"] = "0"
    return arrival_from_bytes(EventId(f"{n:020d}-4-{n:016x}"), json.dumps(event).encode())


def populate(ground: Ground, size: int) -> Population:
    """Return a store of ``size`` spans, in records of up to a thousand."""
    db = open_sqlite(ground.folder / "custody.db")
    store = Store(db, VIEWS, StoreEnvironment(lambda: 0, lambda: "0" * 32, Heads(ground.folder)))
    for numbers in ground.number_batches(size, BATCH):
        store.append([a_span(n) for n in numbers])
    execution = size // EXECUTION_SPANS // 2
    again = [a_span(execution * EXECUTION_SPANS + place) for place in range(EXECUTION_SPANS)]
    return Population(
        db.connection,
        {
            "an execution": lambda: query_execution_spans(store, ExecutionId(f"e{execution}")),
            "a span by its key": lambda: store.tables.records_named(again[1].entry.key),
            "whether parents are stored": lambda: SpanTables(store).find_stored_spans({(f"e{execution}", "0")}),
            "spans that come again": lambda: store.append(again).known,
        },
        db.close,
    )


BENCHES = (
    Growth(
        name="span-steps",
        what="SQLite steps of finding spans among 1,000,000 against those among 5,000",
        populate=populate,
        small=5_000,
        large=1_000_000,
    ),
)
