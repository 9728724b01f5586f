"""What every list takes: one thing or a batch, each kept once, with a receipt after COMMIT."""

from collections import Counter
from collections.abc import Iterator, Sequence

from custody.core.wire.arrival import Arrival
from custody.server.app.ingest import Fate, Kept
from custody.server.app.intake import Item, Refused, Sent
from custody.server.app.tenancy_model import Scope
from custody.server.endpoints import JSON, Answer, Call, Endpoint
from custody.server.problems import HttpProblem
from custody.server.wire.service import BatchKept, ItemKept, Receipt

CONFLICT = "another content is kept under the same key"


def taking(what: str, words: str, one: object) -> Endpoint:
    """The endpoint that takes things of one kind; ``one`` is the JSON Schema or the type of a single one."""

    async def take(call: Call) -> Answer:
        data = await call.body()
        sent = await call.read_in(data, lambda intake: intake.read(what, data))
        results = await kept(call, sent.items)
        return _single(results[0]) if sent.single else _batch(sent, results)

    return Endpoint(
        method="POST",
        path=f"/api/v1/{what}",
        name=f"send-{what}",
        words=words,
        scope=Scope.WRITE,
        handle=take,
        takes={JSON: one},
        gives={200: (ItemKept, BatchKept), 201: (ItemKept, BatchKept), 409: BatchKept, 422: BatchKept},
    )


async def kept(call: Call, items: Sequence[Item]) -> list[ItemKept]:
    """What became of each thing that was sent, once that is certain."""
    arrivals = [arrival for item in items if not isinstance(item, Refused) for arrival in item]
    fates = await _written(call, arrivals)
    return [_result(item, fates) for item in items]


async def _written(call: Call, arrivals: Sequence[Arrival]) -> Iterator[Kept]:
    if not arrivals:
        return iter(())
    done = await call.service.writers.of(call.grant.project).put(arrivals)
    for fate, count in Counter(one.fate for one in done).items():
        call.service.metrics.events.labels(fate.value).inc(count)
    return iter(done)


def _result(item: Item, fates: Iterator[Kept]) -> ItemKept:
    if isinstance(item, Refused):
        return ItemKept(status=422, detail=item.why)
    own = [next(fates) for _ in item]
    seen = {one.fate for one in own}
    receipts = [_receipt(one) for one in own if one.fate is not Fate.CONFLICT]
    if Fate.CONFLICT in seen:
        keys = ", ".join(str(one.key) for one in own if one.fate is Fate.CONFLICT)
        return ItemKept(status=409, receipts=receipts, detail=f"{CONFLICT}: {keys[:500]}")
    return ItemKept(status=201 if Fate.NEW in seen else 200, receipts=receipts)


def _receipt(one: Kept) -> Receipt:
    return Receipt(
        record=str(one.record), store=str(one.record.store), seq=int(one.record.seq), event=one.event, key=one.key
    )


def _single(result: ItemKept) -> Answer:
    if result.status == 409:
        raise HttpProblem(409, result.detail or CONFLICT, remedy="send it under another id, or leave what is kept")
    return Answer.of(result, result.status)


def _batch(sent: Sent, results: Sequence[ItemKept]) -> Answer:
    """A batch's own status: its worst thing's; what could be kept is kept whatever became of the others."""
    counts = Counter(result.status for result in results)
    status = next((bad for bad in (409, 422) if counts[bad]), 201 if counts[201] else 200)
    body = BatchKept(created=counts[201], known=counts[200], refused=counts[409] + counts[422], results=list(results))
    return Answer.of(body, status)
