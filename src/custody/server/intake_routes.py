"""What every list takes: one thing or a batch, each kept once, with a receipt after COMMIT."""

from collections import Counter
from collections.abc import Iterator, Sequence

from custody.core.wire.arrival import Arrival
from custody.server.app.ingest import IngestFate, IngestResult
from custody.server.app.intake import Item, RejectedItem, SentItems
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import HttpProblem
from custody.server.wire.service import BatchReceipt, ItemReceipt, RecordReceipt

CONFLICT = "another content is kept under the same key"


def make_intake_endpoint(what: str, words: str, value: object) -> Endpoint:
    """The endpoint that takes things of one kind; ``one`` is the JSON Schema or the type of a single one."""

    async def take(call: EndpointCall) -> HttpAnswer:
        data = await call.body()
        sent = await call.read_in(data, lambda intake: intake.read(what, data))
        results = await await_receipts(call, sent.items)
        return _single(results[0]) if sent.single else _batch(sent, results)

    return Endpoint(
        method="POST",
        path=f"/api/v1/{what}",
        name=f"send-{what}",
        words=words,
        scope=TokenScope.WRITE,
        handle=take,
        takes={JSON: value},
        gives={
            200: (ItemReceipt, BatchReceipt),
            201: (ItemReceipt, BatchReceipt),
            409: BatchReceipt,
            422: BatchReceipt,
        },
    )


async def await_receipts(call: EndpointCall, items: Sequence[Item]) -> list[ItemReceipt]:
    """What became of each thing that was sent, once that is certain."""
    arrivals = [arrival for item in items if not isinstance(item, RejectedItem) for arrival in item]
    fates = await _written(call, arrivals)
    return [_result(item, fates) for item in items]


async def _written(call: EndpointCall, arrivals: Sequence[Arrival]) -> Iterator[IngestResult]:
    if not arrivals:
        return iter(())
    done = await call.service.writers.of(call.grant.project).put(arrivals)
    for fate, count in Counter(result.fate for result in done).items():
        call.service.metrics.events.labels(fate.value).inc(count)
    return iter(done)


def _result(item: Item, fates: Iterator[IngestResult]) -> ItemReceipt:
    if isinstance(item, RejectedItem):
        return ItemReceipt(status=422, detail=item.why)
    own = [next(fates) for _ in item]
    seen = {result.fate for result in own}
    receipts = [_receipt(result) for result in own if result.fate is not IngestFate.CONFLICT]
    if IngestFate.CONFLICT in seen:
        keys = ", ".join(str(result.key) for result in own if result.fate is IngestFate.CONFLICT)
        return ItemReceipt(status=409, receipts=receipts, detail=f"{CONFLICT}: {keys[:500]}")
    return ItemReceipt(status=201 if IngestFate.NEW in seen else 200, receipts=receipts)


def _receipt(result: IngestResult) -> RecordReceipt:
    return RecordReceipt(
        record=str(result.record),
        store=str(result.record.store),
        seq=int(result.record.seq),
        event=result.event,
        key=result.key,
    )


def _single(result: ItemReceipt) -> HttpAnswer:
    if result.status == 409:
        raise HttpProblem(409, result.detail or CONFLICT, remedy="send it under another id, or leave what is kept")
    return HttpAnswer.of(result, result.status)


def _batch(sent: SentItems, results: Sequence[ItemReceipt]) -> HttpAnswer:
    """A batch's own status: its worst thing's; what could be kept is kept whatever became of the others."""
    counts = Counter(result.status for result in results)
    status = next((bad for bad in (409, 422) if counts[bad]), 201 if counts[201] else 200)
    body = BatchReceipt(
        created=counts[201], known=counts[200], refused=counts[409] + counts[422], results=list(results)
    )
    return HttpAnswer.of(body, status)
