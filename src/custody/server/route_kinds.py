"""Kinds of routes: questions answered with a command's report, and lists that accept items and return pages."""

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
from custody.server.auth import START
from custody.server.endpoints import JSON, PAGED, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.pages.page import parse_choice_param, parse_number_param
from custody.server.problems import HttpProblem
from custody.server.wire.service import (
    BatchReceipt,
    ConversationBody,
    ItemReceipt,
    ListPage,
    Problem,
    RecordReceipt,
    decode_question_body,
)
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

NAME_CHARACTERS_MAX = 1000

Question = Callable[[Workspace], Report]
B = TypeVar("B", bound=msgspec.Struct)


def make_question_endpoint(  # noqa: PLR0913 - what an endpoint is
    path: str,
    name: str,
    summary: str,
    gives: Any,
    question: Callable[[EndpointCall], Question],
    *parameters: Parameter,
    places: Mapping[str, str] | None = None,
    by_name: bool = False,
) -> Endpoint:
    """Return the endpoint of a GET question; ``question`` checks the parameters before a store is opened.

    With ``by_name`` or ``places`` it may answer 404.
    """

    async def handle(call: EndpointCall) -> HttpAnswer:
        return await render_question_report(call, question(call))

    return Endpoint(
        method="GET",
        path=path,
        name=name,
        summary=summary,
        scope=TokenScope.READ,
        handle=handle,
        gives={200: gives, 404: Problem} if places or by_name else {200: gives},
        parameters=parameters,
        places=places or {},
    )


def make_body_question_endpoint(
    path: str, name: str, summary: str, gives: Any, takes: type[B], question: Callable[[EndpointCall, B], Question]
) -> Endpoint:
    """Return the endpoint of a question in a body."""

    async def handle(call: EndpointCall) -> HttpAnswer:
        return await render_question_report(call, question(call, await read_question_body(call, takes)))

    return Endpoint(
        method="POST",
        path=path,
        name=name,
        summary=summary,
        scope=TokenScope.READ,
        handle=handle,
        takes={JSON: takes},
        gives={200: gives},
    )


async def read_question_body(call: EndpointCall, kind: type[B]) -> B:
    """Decode the body of a call."""
    return decode_question_body(await call.body(), kind)


async def render_question_report(call: EndpointCall, question: Question) -> HttpAnswer:
    """Return the report that answers a question, as the command prints it."""
    return await await_or_http_404(call.ask(lambda workspace: HttpAnswer(body=encode_report(question(workspace)))))


T = TypeVar("T")


async def await_or_http_404(answer: Awaitable[T]) -> T:
    """Await an answer; a ``NameNotFound`` becomes a 404."""
    try:
        return await answer
    except NameNotFound as error:
        raise HttpProblem(404, error.message, remedy=error.hint) from error


def get_read_note(call: EndpointCall) -> Note | None:
    """Return the function that logs reads of conversations; None if the caller may not read them."""
    return call.note_read if call.may(TokenScope.TEXT) else None


def read_actor(call: EndpointCall) -> str:
    """Return the actor if the caller names none."""
    return f"token {call.grant.token_id}"


def name_page_reader(call: EndpointCall) -> str:
    """Return the person that the forms of a page record: the user who started this server, or the token."""
    return machine_user_name() if call.grant.token_id == START else read_actor(call)


# --- parameters -------------------------------------------------------------------------------------------------------


def validate_name_param(name: str, value: str) -> str:
    """Check a name."""
    if not 0 < len(value) <= NAME_CHARACTERS_MAX or not value.isprintable():
        raise InputError(f"'{name}' must have 1 to {NAME_CHARACTERS_MAX:,} printable characters")
    return value


def read_path_param(call: EndpointCall, name: str) -> str:
    """Return a path parameter."""
    return validate_name_param(name, str(call.request.path_params[name]))


def read_word_param(call: EndpointCall, parameter: Parameter) -> str | None:
    """Return an optional name parameter."""
    text = call.text(parameter.name)
    return None if text is None else validate_name_param(parameter.name, text)


def require_word_param(call: EndpointCall, parameter: Parameter) -> str:
    """Return a required name parameter."""
    return validate_name_param(parameter.name, call.require_text(parameter.name))


def read_repeated_param(call: EndpointCall, parameter: Parameter, most: int) -> list[str]:
    """Return the values of a repeatable parameter."""
    name = parameter.name
    values = call.request.query_params.getall(name, [])
    if len(values) > most:
        raise InputError(f"'{name}' occurs {len(values):,} times", hint=f"the maximum is {most}")
    return [validate_name_param(name, value) for value in values]


def read_number_param(call: EndpointCall, parameter: Parameter) -> int:
    """Return a whole number parameter; its default if it is missing."""
    number = read_optional_number_param(call, parameter)
    return int(parameter.schema["default"]) if number is None else number


def read_optional_number_param(call: EndpointCall, parameter: Parameter) -> int | None:
    """Return an optional whole number parameter within its bounds."""
    text = call.text(parameter.name)
    if text is None:
        return None
    return parse_number_param(parameter.name, text, parameter.schema["minimum"], parameter.schema["maximum"])


def read_choice_param(call: EndpointCall, parameter: Parameter) -> str:
    """Return a choice parameter; the first choice if it is missing."""
    return parse_choice_param(parameter.name, call.text(parameter.name), parameter.schema["enum"])


# The maximum length of names is not in the schema: a longer one is often too long for the head too (431).


def describe_word_param(name: str, summary: str, *, required: bool = False) -> Parameter:
    """Describe a name parameter."""
    return Parameter(name, summary, {"type": "string", "minLength": 1}, required)


def describe_number_param(
    name: str, summary: str, default: int | None, least: int, most: int, *, required: bool = False
) -> Parameter:
    """Describe a whole number parameter."""
    shape: dict[str, Any] = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, summary, shape if default is None else {**shape, "default": default}, required)


def describe_repeated_param(name: str, summary: str) -> Parameter:
    """Describe a repeatable name parameter."""
    item_schema = {"type": "string", "minLength": 1}
    return Parameter(name, summary, {"type": ["array", "string"], "minLength": 1, "items": item_schema})


def describe_choice_param(name: str, summary: str, choices: tuple[str, ...]) -> Parameter:
    """Describe a choice parameter."""
    return Parameter(name, summary, {"type": "string", "enum": list(choices), "default": choices[0]})


def describe_flag_param(name: str, summary: str) -> Parameter:
    """Describe a flag that is false by default."""
    return Parameter(name, summary, {"type": "boolean", "default": False})


# Every list accepts one item or a batch; each is stored once, with a receipt after COMMIT.


CONFLICT = "other content is stored under the same key"


def make_intake_endpoint(kind: str, summary: str, value: object) -> Endpoint:
    """Return the endpoint that accepts items of a kind; ``value`` is the JSON Schema or type of the body."""

    async def take(call: EndpointCall) -> HttpAnswer:
        data = await call.body()
        sent = await call.read_in(data, lambda intake: intake.read(kind, data))
        results = await await_receipts(call, sent.items)
        return _answer_single_item(results[0]) if sent.single else _answer_item_batch(sent, results)

    return Endpoint(
        method="POST",
        path=f"/api/v1/{kind}",
        name=f"send-{kind}",
        summary=summary,
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
    """Write the items, and return the result of each after the commit."""
    arrivals = [arrival for item in items if not isinstance(item, RejectedItem) for arrival in item]
    fates = await _write_request_arrivals(call, arrivals)
    return [_make_item_receipt(item, fates) for item in items]


async def _write_request_arrivals(call: EndpointCall, arrivals: Sequence[Arrival]) -> Iterator[IngestResult]:
    if not arrivals:
        return iter(())
    done = await call.service.writers.open_writer(call.grant.project).put(arrivals)
    for fate, count in Counter(result.fate for result in done).items():
        call.service.metrics.events.labels(fate.value).inc(count)
    return iter(done)


def _make_item_receipt(item: Item, fates: Iterator[IngestResult]) -> ItemReceipt:
    if isinstance(item, RejectedItem):
        return ItemReceipt(status=422, detail=item.why)
    own = [next(fates) for _ in item]
    own_fates = {result.fate for result in own}
    receipts = [_make_record_receipt(result) for result in own if result.fate is not IngestFate.CONFLICT]
    if IngestFate.CONFLICT in own_fates:
        keys = ", ".join(str(result.key) for result in own if result.fate is IngestFate.CONFLICT)
        return ItemReceipt(status=409, receipts=receipts, detail=f"{CONFLICT}: {keys[:500]}")
    return ItemReceipt(status=201 if IngestFate.NEW in own_fates else 200, receipts=receipts)


def _make_record_receipt(result: IngestResult) -> RecordReceipt:
    return RecordReceipt(
        record=str(result.record),
        store=str(result.record.store),
        seq=int(result.record.seq),
        event=result.event,
        key=result.key,
    )


def _answer_single_item(result: ItemReceipt) -> HttpAnswer:
    if result.status == 409:
        raise HttpProblem(409, result.detail or CONFLICT, remedy="send it under another id")
    return HttpAnswer.of(result, result.status)


def _answer_item_batch(sent: SentItems, results: Sequence[ItemReceipt]) -> HttpAnswer:
    """Return the worst status of a batch; valid items are stored even if others fail."""
    counts = Counter(result.status for result in results)
    status = next((bad for bad in (409, 422) if counts[bad]), 201 if counts[201] else 200)
    body = BatchReceipt(
        created=counts[201], known=counts[200], refused=counts[409] + counts[422], results=list(results)
    )
    return HttpAnswer.of(body, status)


ITEM_LIMIT = Meta(max_length=ITEMS_MAX)
SPANS = SpanEvent | Annotated[list[SpanEvent], ITEM_LIMIT]
EVENTS = GenericEvent | Annotated[list[GenericEvent], ITEM_LIMIT]
CONVERSATIONS = ConversationBody | Annotated[list[ConversationBody], ITEM_LIMIT]


def make_batch_schema(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON Schema of one item or a batch."""
    return {"anyOf": [dict(shape), {"type": "array", "maxItems": ITEMS_MAX, "items": dict(shape)}]}


PageLister = Callable[[Workspace, str | None, int], ListPage]


def make_list_endpoint(kind: str, summary: str, pages: PageLister, page_type: Any) -> Endpoint:
    """Return the endpoint that lists items of a kind, page by page."""

    async def show(call: EndpointCall) -> HttpAnswer:
        after, limit = call.page()
        page = await call.ask(lambda workspace: pages(workspace, after, limit))
        if page.next is None:
            return HttpAnswer.of(page)
        following = urlencode({"after": page.next, "limit": limit})
        return HttpAnswer.of(page, link=f'<{call.path}?{following}>; rel="next"')

    return Endpoint(
        method="GET",
        path=f"/api/v1/{kind}",
        name=f"list-{kind}",
        summary=summary,
        scope=TokenScope.READ,
        handle=show,
        gives={200: page_type},
        parameters=PAGED,
    )
