"""Kinds of routes: questions answered with a verb's report, lists that take items and return pages."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.wire.arrival import Arrival
from custody.core.wire.event import GenericEvent, SpanEvent
from custody.core.wire.report import Report, encode_report
from custody.server.app.intake import ITEMS_MAX, IngestFate, IngestResult, Item, RejectedItem, SentItems
from custody.server.app.questions import NameNotFound, Note
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, PAGED, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.pages.page import parse_choice, parse_number
from custody.server.problems import HttpProblem
from custody.server.wire.service import (
    BatchReceipt,
    ConversationBody,
    ItemReceipt,
    ListPage,
    Problem,
    RecordReceipt,
    asked_in,
)
from custody.workspace.workspace import Workspace

NAME_SIGNS_MAX = 1000

Question = Callable[[Workspace], Report]
B = TypeVar("B", bound=msgspec.Struct)


def make_question_endpoint(  # noqa: PLR0913 - what an endpoint is
    path: str,
    name: str,
    words: str,
    gives: Any,
    question: Callable[[EndpointCall], Question],
    *parameters: Parameter,
    places: Mapping[str, str] | None = None,
    by_name: bool = False,
) -> Endpoint:
    """The endpoint of a question in an address; ``question`` checks what was asked before a store is looked at.

    What is asked for ``by_name``, or in the path, may not be there.
    """

    async def handle(call: EndpointCall) -> HttpAnswer:
        return await render_question_report(call, question(call))

    return Endpoint(
        method="GET",
        path=path,
        name=name,
        words=words,
        scope=TokenScope.READ,
        handle=handle,
        gives={200: gives, 404: Problem} if places or by_name else {200: gives},
        parameters=parameters,
        places=places or {},
    )


def asking_in_body(
    path: str, name: str, words: str, gives: Any, takes: type[B], question: Callable[[EndpointCall, B], Question]
) -> Endpoint:
    """The endpoint of a question that is too long for an address."""

    async def handle(call: EndpointCall) -> HttpAnswer:
        return await render_question_report(call, question(call, await read_question_body(call, takes)))

    return Endpoint(
        method="POST",
        path=path,
        name=name,
        words=words,
        scope=TokenScope.READ,
        handle=handle,
        takes={JSON: takes},
        gives={200: gives},
    )


async def read_question_body(call: EndpointCall, kind: type[B]) -> B:
    """The question in the body of a call."""
    return asked_in(await call.body(), kind)


async def render_question_report(call: EndpointCall, question: Question) -> HttpAnswer:
    """The report that a question comes to, as the verb prints it."""
    return await await_found(call.ask(lambda workspace: HttpAnswer(body=encode_report(question(workspace)))))


T = TypeVar("T")


async def await_found(answer: Awaitable[T]) -> T:
    """What is waited for; what is not there by its name is a 404."""
    try:
        return await answer
    except NameNotFound as error:
        raise HttpProblem(404, error.message, remedy=error.hint) from error


def note_of(call: EndpointCall) -> Note | None:
    """What notes that the caller reads words of a conversation; None of one who may not."""
    return call.note_read if call.may(TokenScope.TEXT) else None


def read_actor(call: EndpointCall) -> str:
    """Who does something, where the caller names nobody."""
    return f"token {call.grant.token_id}"


# --- parameters -------------------------------------------------------------------------------------------------------


def validate_record_name(name: str, value: str) -> str:
    """A name that a store can be asked for."""
    if not 0 < len(value) <= NAME_SIGNS_MAX or not all(sign.isprintable() for sign in value):
        raise InputError(f"'{name}' is a name of at most {NAME_SIGNS_MAX:,} printable signs")
    return value


def place(call: EndpointCall, name: str) -> str:
    """What stands in the path's braces."""
    return validate_record_name(name, str(call.request.path_params[name]))


def word(call: EndpointCall, parameter: Parameter) -> str | None:
    """A parameter that names something, if it was given."""
    given = call.text(parameter.name)
    return None if given is None else validate_record_name(parameter.name, given)


def needed_word(call: EndpointCall, parameter: Parameter) -> str:
    """A parameter that names something and has to be given."""
    return validate_record_name(parameter.name, call.needed(parameter.name))


def read_repeated_param(call: EndpointCall, parameter: Parameter, most: int) -> list[str]:
    """A parameter that may be given several times."""
    name = parameter.name
    given = call.request.query_params.getall(name, [])
    if len(given) > most:
        raise InputError(f"'{name}' was given {len(given):,} times", hint=f"give it at most {most} times")
    return [validate_record_name(name, value) for value in given]


def number(call: EndpointCall, parameter: Parameter) -> int:
    """A parameter that is a whole number; its default where it is not given."""
    given = number_given(call, parameter)
    return int(parameter.schema["default"]) if given is None else given


def number_given(call: EndpointCall, parameter: Parameter) -> int | None:
    """A parameter that is a whole number within its bounds, if it was given."""
    given = call.text(parameter.name)
    if given is None:
        return None
    return parse_number(parameter.name, given, parameter.schema["minimum"], parameter.schema["maximum"])


def choice(call: EndpointCall, parameter: Parameter) -> str:
    """A parameter that is one of a few words; the first of them where it is not given."""
    return parse_choice(parameter.name, call.text(parameter.name), parameter.schema["enum"])


# How long a name may be is not described: one that is too long is often too long for a request's head, too (431).


def describe_word_param(name: str, words: str, *, required: bool = False) -> Parameter:
    """The description of a parameter that names something."""
    return Parameter(name, words, {"type": "string", "minLength": 1}, required)


def describe_number_param(
    name: str, words: str, usual: int | None, least: int, most: int, *, required: bool = False
) -> Parameter:
    """The description of a parameter that is a whole number."""
    shape: dict[str, Any] = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, words, shape if usual is None else {**shape, "default": usual}, required)


def describe_repeated_param(name: str, words: str) -> Parameter:
    """The description of a parameter that names something and may be given several times."""
    item_schema = {"type": "string", "minLength": 1}
    return Parameter(name, words, {"type": ["array", "string"], "minLength": 1, "items": item_schema})


def a_choice(name: str, words: str, choices: tuple[str, ...]) -> Parameter:
    """The description of a parameter that is one of a few words."""
    return Parameter(name, words, {"type": "string", "enum": list(choices), "default": choices[0]})


def a_flag(name: str, words: str) -> Parameter:
    """The description of a parameter that is true or false, and false where it is not given."""
    return Parameter(name, words, {"type": "boolean", "default": False})


# What every list takes: one thing or a batch, each kept once, with a receipt after COMMIT.


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


# The shapes of bodies, as the description has them.


ITEM_LIMIT = Meta(max_length=ITEMS_MAX)
SPANS = SpanEvent | Annotated[list[SpanEvent], ITEM_LIMIT]
EVENTS = GenericEvent | Annotated[list[GenericEvent], ITEM_LIMIT]
CONVERSATIONS = ConversationBody | Annotated[list[ConversationBody], ITEM_LIMIT]


def one_or_many(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of one thing or a batch of them."""
    return {"anyOf": [dict(shape), {"type": "array", "maxItems": ITEMS_MAX, "items": dict(shape)}]}


# What every list gives: a page, and where the next one is.


PageLister = Callable[[Workspace, str | None, int], ListPage]


def make_list_endpoint(what: str, words: str, pages: PageLister, kind: Any) -> Endpoint:
    """The endpoint that lists things of one kind."""

    async def show(call: EndpointCall) -> HttpAnswer:
        after, limit = call.page()
        page = await call.ask(lambda workspace: pages(workspace, after, limit))
        if page.next is None:
            return HttpAnswer.of(page)
        following = urlencode({"after": page.next, "limit": limit})
        return HttpAnswer.of(page, link=f'<{call.path}?{following}>; rel="next"')

    return Endpoint(
        method="GET",
        path=f"/api/v1/{what}",
        name=f"list-{what}",
        words=words,
        scope=TokenScope.READ,
        handle=show,
        gives={200: kind},
        parameters=PAGED,
    )
