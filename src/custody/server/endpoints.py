"""An endpoint: its path, scope, parameters, bodies and answers; and its route.

The OpenAPI document and the routes are made from the same values, so they agree.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from msgspec import field

from custody.core.errors import InputError
from custody.server.app.intake import Intake
from custody.server.app.listing import LIMIT_DEFAULT, LIMIT_MAX
from custody.server.app.tenancy import Grant, TokenScope
from custody.server.page_data.work import WorkProgress
from custody.server.problems import TOO_LONG, HttpProblem, make_busy_problem
from custody.server.shared_state import Service
from custody.server.wire.service import encode_http_answer
from custody.workspace.workspace import Workspace

GZIP_WINDOW = 31
"""zlib's code for gzip with its header and checksum."""
CLOSE: Mapping[str, str] = {"connection": "close"}
"""Data that arrives after an error is not read."""

BodyReceive = Callable[[], Awaitable[Any]]


async def read_request_body(
    receive: BodyReceive,
    headers: Mapping[str, str],
    *,
    media: Collection[str],
    bytes_max: int,
    seconds: float,
    packed: bool = True,
) -> bytes:
    """Return the unpacked body; an ``HttpProblem`` if it is not accepted.

    ``packed``: whether gzip is allowed.
    """
    check_media_type(headers.get("content-type"), media)
    unpack = _make_body_unpacker(headers.get("content-encoding"), bytes_max, packed=packed)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > bytes_max:
        raise _make_body_size_problem(bytes_max)
    try:
        async with asyncio.timeout(seconds):
            return await _receive_body_chunks(receive, unpack, bytes_max)
    except TimeoutError as error:
        raise HttpProblem(
            408, f"the body did not arrive within {seconds:g} seconds", remedy="send less at once", headers=CLOSE
        ) from error


def check_media_type(header: str | None, media: Collection[str]) -> str:
    """Return the media type of a body if it is accepted."""
    kind, _, parameters = (header or "").partition(";")
    kind = kind.strip().lower()
    charset = [p.partition("=")[2].strip().strip('"').lower() for p in parameters.split(";") if "charset" in p.lower()]
    if kind not in media or any(name not in ("utf-8", "utf8") for name in charset):
        raise HttpProblem(
            415, f"unsupported media type '{(header or 'none')[:80]}'", remedy=f"send {' or '.join(sorted(media))}"
        )
    return kind


async def _receive_body_chunks(receive: BodyReceive, unpack: "_PlainBytes | _Gzip", bytes_max: int) -> bytes:
    arrived = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpProblem(400, "the connection closed before the end of the body", headers=CLOSE)
        chunk: bytes = message.get("body", b"")
        arrived += len(chunk)
        if arrived > bytes_max:
            raise _make_body_size_problem(bytes_max)
        unpack.feed(chunk)
        if not message.get("more_body", False):
            return unpack.whole()


def _make_body_size_problem(bytes_max: int) -> HttpProblem:
    return HttpProblem(
        413, f"the unpacked body is larger than {bytes_max:,} bytes", remedy="send several requests", headers=CLOSE
    )


def _make_body_unpacker(encoding: str | None, bytes_max: int, *, packed: bool) -> "_PlainBytes | _Gzip":
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return _PlainBytes()
    if name == "gzip" and packed:
        return _Gzip(bytes_max)
    remedy = "use gzip or no encoding" if packed else "use no encoding"
    raise HttpProblem(415, f"unsupported encoding '{name[:40]}'", remedy=remedy)


class _PlainBytes:
    """Collects bytes without unpacking."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Add a chunk."""
        self._parts.append(chunk)

    def whole(self) -> bytes:
        """Return all bytes."""
        return b"".join(self._parts)


class _Gzip:
    """Unpacks gzip, never beyond the limit."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._member = zlib.decompressobj(GZIP_WINDOW)
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Unpack a chunk."""
        while chunk:
            if self._member.eof:
                self._member = zlib.decompressobj(GZIP_WINDOW)  # gzip allows several members in a row
            try:
                unpacked = self._member.decompress(chunk, self._max - self._size + 1)
            except zlib.error as error:
                raise HttpProblem(422, "the body is not valid gzip", headers=CLOSE) from error
            self._size += len(unpacked)
            if self._size > self._max:
                raise _make_body_size_problem(self._max)
            self._parts.append(unpacked)
            chunk = self._member.unused_data or self._member.unconsumed_tail

    def whole(self) -> bytes:
        """Return all bytes; an ``HttpProblem`` if the data is incomplete."""
        if not self._member.eof:
            raise HttpProblem(422, "the gzip body is incomplete")
        return b"".join(self._parts)


JSON = "application/json"
PROTOBUF = "application/x-protobuf"
PROJECT = "project"
"""A parameter of every endpoint; the gatekeeper checks that it is the project of the token."""
INLINE_BYTES_MAX = 16 * 1024
"""Smaller bodies are parsed in the event loop, larger ones in a thread."""

T = TypeVar("T")


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer."""

    body: bytes
    status: int = 200
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: msgspec.Struct, status: int = 200, **headers: str) -> "HttpAnswer":
        """Return an answer with a value as JSON."""
        return cls(body=encode_http_answer(value), status=status, headers=headers)


class EndpointCall:
    """One request and its caller."""

    def __init__(self, service: Service, request: Request[Any, Any, Any], endpoint: "Endpoint") -> None:
        self.service = service
        self.request = request
        self.endpoint = endpoint

    @property
    def grant(self) -> Grant:
        """The rights of the caller; every endpoint with a scope has them."""
        grant: Grant = self.request.scope["state"]["grant"]
        return grant

    @property
    def path(self) -> str:
        """The path without the query."""
        return str(self.request.scope["path"])

    @property
    def media(self) -> str:
        """The media type of the body."""
        return check_media_type(self.request.headers.get("content-type"), self.endpoint.takes)

    async def body(self) -> bytes:
        """Return the unpacked body within the limits."""
        limits = self.service.settings.limits
        bytes_max = self.endpoint.bytes_max
        return await read_request_body(
            self.request.receive,
            self.request.headers,
            media=self.endpoint.takes,
            bytes_max=limits.body_bytes if bytes_max is None else min(bytes_max, limits.body_bytes),
            seconds=limits.body_seconds,
            packed=bytes_max is None,
        )

    async def ask(self, question: Callable[[Workspace], T]) -> T:
        """Answer a question about the caller's project, in a thread."""
        return await self.service.readers.ask(self.grant.project, question)

    async def ask_work(self, name: Hashable, question: Callable[[Workspace], T]) -> T | WorkProgress:
        """Answer a question that takes long, in the queue of the pages; after a short wait, return how far it is.

        Asking again continues the wait.
        """
        queue = self.service.memory.require_work()
        workspace = self.service.readers.workspace(self.grant.project)
        job = queue.ask(
            (self.grant.project, self.grant.token_id, name),
            lambda work: question(msgspec.structs.replace(workspace, progress=work.progress)),
        )
        if job is None:
            return queue.measure(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.service.settings.limits.page_seconds):
                answer: T = await asyncio.shield(asyncio.wrap_future(job.future))
            queue.forget_result(job)
            return answer
        return queue.measure(job)

    async def read_in(self, data: bytes, reading: Callable[[Intake], T]) -> T:
        """Parse a body: here if it is short, else in a thread."""
        intake = Intake(self.service.readers.workspace(self.grant.project))
        if len(data) <= INLINE_BYTES_MAX:
            return reading(intake)
        return await self.service.readers.run(lambda: reading(intake))

    def note_read(self, what: str) -> None:
        """Log that the caller reads a conversation; called in the reader thread, before the text is returned."""
        self.service.settings.keeper.record_text_read(self.grant, what)

    def may(self, scope: TokenScope) -> bool:
        """Return whether the caller has another scope."""
        return scope in self.grant.scopes

    def text(self, name: str) -> str | None:
        """Return a query parameter, None if it is missing; an ``InputError`` if it occurs twice."""
        values = self.request.query_params.getall(name, [])
        if len(values) > 1:
            raise InputError(f"'{name}' occurs {len(values)} times", hint="send it once")
        return values[0] if values else None

    def check_question(self) -> None:
        """Raise an ``InputError`` for an unknown parameter, since a misspelled one would change the answer."""
        known = {PROJECT, *(parameter.name for parameter in self.endpoint.parameters)}
        for name in self.request.query_params:
            if name not in known:
                raise InputError(
                    f"unknown parameter '{name[:80]}'", hint=f"known parameters: {', '.join(sorted(known))}"
                )

    def require_text(self, name: str) -> str:
        """Return a required parameter."""
        text = self.text(name)
        if not text:
            raise InputError(f"missing parameter '{name}'", hint="add it to the query")
        return text

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a parameter that is true or false."""
        text = self.text(name)
        if text not in (None, "true", "false"):
            raise InputError(f"'{name}' must be true or false")
        return default if text is None else text == "true"

    def page(self) -> tuple[str | None, int]:
        """Return the cursor and the page size."""
        text = self.text("limit")
        digits = str(LIMIT_DEFAULT) if text is None else text
        if not (digits.isdecimal() and digits.isascii() and len(digits) <= 9 and 1 <= int(digits) <= LIMIT_MAX):
            raise InputError(f"'limit' must be a number from 1 to {LIMIT_MAX:,}")
        return self.text("after"), int(digits)


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter with its JSON Schema."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


PAGED = (
    Parameter("after", "'next' of the previous page."),
    Parameter(
        "limit",
        "Maximum number of items.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    ),
)

Handle = Callable[[EndpointCall], Awaitable[HttpAnswer]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: Literal["GET", "POST"]
    path: str
    name: str
    summary: str
    scope: TokenScope | None
    """The required scope; None needs no token."""
    handle: Handle
    gives: Mapping[int, Any]
    """The answer by status: a type, a tuple of types, or a media type without a schema."""
    takes: Mapping[str, Any] = field(default_factory=dict)
    """The body by media type: a type or a JSON Schema."""
    bytes_max: int | None = None
    """A smaller maximum for the body, which then must not be packed."""
    parameters: tuple[Parameter, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the path parameters."""


def make_endpoint_route(endpoint: Endpoint) -> HTTPRouteHandler:
    """Return the route of an endpoint for litestar."""

    async def handle_request(request: Request[Any, Any, Any]) -> Response[bytes]:
        service: Service = request.app.state.service
        call = EndpointCall(service, request, endpoint)
        if endpoint.scope is not None and endpoint.scope not in call.grant.scopes:
            raise HttpProblem(
                403, f"this needs a token with the scope '{endpoint.scope.value}'", remedy="use a token with this scope"
            )
        call.check_question()
        try:
            async with asyncio.timeout(service.settings.limits.answer_seconds):
                answer = await endpoint.handle(call)
        except TimeoutError as error:
            raise make_busy_problem(TOO_LONG) from error
        return Response(answer.body, status_code=answer.status, media_type=answer.media, headers=dict(answer.headers))

    path = endpoint.path
    for place in endpoint.places:
        path = path.replace("{" + place + "}", "{" + place + ":str}")
    return HTTPRouteHandler(path, http_method=endpoint.method, name=endpoint.name)(handle_request)
