"""What an endpoint is: its path, who may, what it takes and gives; and how it becomes a route.

The description (``openapi``) and the routes are made from the same values: neither says what the other does not.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from custody.core.errors import InputError
from custody.server.app.intake import Intake
from custody.server.app.listing import LIMIT_DEFAULT, LIMIT_MAX
from custody.server.app.tenancy import Grant, TokenScope
from custody.server.problems import LATER, TOO_LONG, HttpProblem, busy
from custody.server.shared_state import Service
from custody.server.wire.service import encode_answer
from custody.workspace.workspace import Workspace

# Bodies as they arrive: of the right type, not over the limit, in time; unpacked no further than the limit.


GZIP_WINDOW = 31
"""zlib's word for: expect gzip's head, and check its sum."""
CLOSE: Mapping[str, str] = {"connection": "close"}
"""What is still on its way after a refusal is not read."""

BodyReceive = Callable[[], Awaitable[Any]]


async def body_of(
    receive: BodyReceive,
    headers: Mapping[str, str],
    *,
    media: Collection[str],
    bytes_max: int,
    seconds: float,
    packed: bool = True,
) -> bytes:
    """The body, unpacked; an ``HttpProblem`` for one that is not taken, before anything is done with it.

    ``packed``: whether gzip may have packed it.
    """
    check_type(headers.get("content-type"), media)
    unpack = _unpacker(headers.get("content-encoding"), bytes_max, packed=packed)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, unpack, bytes_max)
    except TimeoutError as error:
        raise HttpProblem(
            408, f"the body did not arrive within {seconds:g} seconds", remedy="send less at once", headers=CLOSE
        ) from error


def check_type(given: str | None, media: Collection[str]) -> str:
    """The media type of a body, if it is one of those that are taken."""
    kind, _, parameters = (given or "").partition(";")
    kind = kind.strip().lower()
    charset = [p.partition("=")[2].strip().strip('"').lower() for p in parameters.split(";") if "charset" in p.lower()]
    if kind not in media or any(name not in ("utf-8", "utf8") for name in charset):
        raise HttpProblem(
            415, f"'{(given or 'nothing')[:80]}' is not taken here", remedy=f"send {' or '.join(sorted(media))}"
        )
    return kind


async def _read(receive: BodyReceive, unpack: "_PlainBytes | _Gzip", bytes_max: int) -> bytes:
    arrived = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpProblem(400, "the connection ended before the body did", headers=CLOSE)
        chunk: bytes = message.get("body", b"")
        arrived += len(chunk)
        if arrived > bytes_max:
            raise _too_large(bytes_max)
        unpack.feed(chunk)
        if not message.get("more_body", False):
            return unpack.whole()


def _too_large(bytes_max: int) -> HttpProblem:
    return HttpProblem(
        413, f"a body has at most {bytes_max:,} bytes, unpacked too", remedy="send it in parts", headers=CLOSE
    )


def _unpacker(encoding: str | None, bytes_max: int, *, packed: bool) -> "_PlainBytes | _Gzip":
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return _PlainBytes()
    if name == "gzip" and packed:
        return _Gzip(bytes_max)
    remedy = "send gzip, or nothing packed" if packed else "send nothing packed"
    raise HttpProblem(415, f"the encoding '{name[:40]}' is not taken here", remedy=remedy)


class _PlainBytes:
    """Bytes as they are."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Some more."""
        self._parts.append(chunk)

    def whole(self) -> bytes:
        """All of them."""
        return b"".join(self._parts)


class _Gzip:
    """Bytes that gzip packed: never more of them at once than the limit allows."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._member = zlib.decompressobj(GZIP_WINDOW)
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Unpack some more."""
        while chunk:
            if self._member.eof:
                self._member = zlib.decompressobj(GZIP_WINDOW)  # any number of members in a row are one
            try:
                made = self._member.decompress(chunk, self._max - self._size + 1)
            except zlib.error as error:
                raise HttpProblem(422, "the body is not what gzip makes", headers=CLOSE) from error
            self._size += len(made)
            if self._size > self._max:
                raise _too_large(self._max)
            self._parts.append(made)
            chunk = self._member.unused_data or self._member.unconsumed_tail

    def whole(self) -> bytes:
        """All of it; what was cut short is refused."""
        if not self._member.eof:
            raise HttpProblem(422, "the packed body ends too early")
        return b"".join(self._parts)


JSON = "application/json"
PROTOBUF = "application/x-protobuf"
PROJECT = "project"
"""Any question may name its project; the door has seen to it that it is the token's."""
INLINE_BYTES_MAX = 16 * 1024
"""A body of so little is read at once; a longer one is read beside the event loop."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What is sent back."""

    body: bytes
    status: int = 200
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: msgspec.Struct, status: int = 200, **headers: str) -> "HttpAnswer":
        """A value as JSON."""
        return cls(body=encode_answer(value), status=status, headers=headers)


class EndpointCall:
    """One request, with whoever makes it."""

    def __init__(self, service: Service, request: Request[Any, Any, Any], endpoint: "Endpoint") -> None:
        self.service = service
        self.request = request
        self.endpoint = endpoint

    @property
    def grant(self) -> Grant:
        """What the caller's token is good for; every endpoint with a scope has one."""
        found: Grant = self.request.scope["state"]["grant"]
        return found

    @property
    def path(self) -> str:
        """The path that was asked for, without its questions."""
        return str(self.request.scope["path"])

    @property
    def media(self) -> str:
        """The media type of the body."""
        return check_type(self.request.headers.get("content-type"), self.endpoint.takes)

    async def body(self) -> bytes:
        """The body, unpacked, within the limits."""
        limits = self.service.settings.limits
        small = self.endpoint.bytes_max
        return await body_of(
            self.request.receive,
            self.request.headers,
            media=self.endpoint.takes,
            bytes_max=limits.body_bytes if small is None else min(small, limits.body_bytes),
            seconds=limits.body_seconds,
            packed=small is None,
        )

    async def ask(self, question: Callable[[Workspace], T]) -> T:
        """What a question to the caller's project comes to; it runs beside the event loop."""
        return await self.service.readers.ask(self.grant.project, question)

    async def ask_long(self, name: Hashable, question: Callable[[Workspace], T]) -> T:
        """The same of what may take long: it holds nobody else up, and while it goes on it is not begun again."""
        return await self.service.readers.ask_long(self.grant.project, (self.grant.token_id, name), question)

    async def read_in(self, data: bytes, reading: Callable[[Intake], T]) -> T:
        """What is made of a body: here if it is short, else beside the event loop."""
        intake = Intake(self.service.readers.workspace(self.grant.project))
        if len(data) <= INLINE_BYTES_MAX:
            return reading(intake)
        return await self.service.readers.run(lambda: reading(intake))

    def note_read(self, what: str) -> None:
        """Keep that the caller reads a conversation's text; called in the thread that asks, before it is handed out."""
        self.service.settings.keeper.noted_read(self.grant, what)

    def may(self, scope: TokenScope) -> bool:
        """Whether the caller's token is good for something more than the endpoint asks for."""
        return scope in self.grant.scopes

    def text(self, name: str) -> str | None:
        """A parameter of the question, if it was given; given twice it is an ``InputError``."""
        found = self.request.query_params.getall(name, [])
        if len(found) > 1:
            raise InputError(f"'{name}' was given {len(found)} times", hint="give it once")
        return found[0] if found else None

    def check_question(self) -> None:
        """An ``InputError`` for a parameter that is none here: whoever spelt it wrongly would get another answer."""
        known = {PROJECT, *(parameter.name for parameter in self.endpoint.parameters)}
        for name in self.request.query_params:
            if name not in known:
                raise InputError(
                    f"'{name[:80]}' is no parameter of this", hint=f"known here: {', '.join(sorted(known))}"
                )

    def needed(self, name: str) -> str:
        """A parameter that has to be given."""
        found = self.text(name)
        if not found:
            raise InputError(f"'{name}' is missing", hint="give it in the question")
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        """A parameter that is true or false."""
        found = self.text(name)
        if found not in (None, "true", "false"):
            raise InputError(f"'{name}' is neither true nor false")
        return default if found is None else found == "true"

    def page(self) -> tuple[str | None, int]:
        """Behind what, and how many."""
        given = self.text("limit")
        digits = str(LIMIT_DEFAULT) if given is None else given
        if not (digits.isdecimal() and digits.isascii() and len(digits) <= 9 and 1 <= int(digits) <= LIMIT_MAX):
            raise InputError(f"'limit' is a number from 1 to {LIMIT_MAX:,}")
        return self.text("after"), int(digits)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the question, with its JSON Schema."""

    name: str
    words: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


PAGED = (
    Parameter("after", "What 'next' of the page before says."),
    Parameter(
        "limit",
        "How many at most.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    ),
)

Handle = Callable[[EndpointCall], Awaitable[HttpAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path."""

    method: Literal["GET", "POST"]
    path: str
    name: str
    words: str
    scope: TokenScope | None
    """What a token has to be good for; None needs no token."""
    handle: Handle
    gives: Mapping[int, Any]
    """What is answered by status: a type, a tuple of types, or a media type where it is not described."""
    takes: Mapping[str, Any] = field(default_factory=dict)
    """What a body may be by media type: a type, or a JSON Schema."""
    bytes_max: int | None = None
    """The most that a body has, where that is less than everywhere; such a body comes as it is, not packed."""
    parameters: tuple[Parameter, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    """What stands in the path's braces, in words."""
    long: bool = False
    """Whether what is asked may take long at first, and goes on being worked out when nobody waits any more."""


def route_of(endpoint: Endpoint) -> HTTPRouteHandler:
    """The endpoint as litestar serves it."""

    async def answer(request: Request[Any, Any, Any]) -> Response[bytes]:
        service: Service = request.app.state.service
        call = EndpointCall(service, request, endpoint)
        if endpoint.scope is not None and endpoint.scope not in call.grant.scopes:
            raise HttpProblem(
                403, f"this needs a token with the scope '{endpoint.scope.value}'", remedy="ask for such a token"
            )
        call.check_question()
        try:
            async with asyncio.timeout(service.settings.limits.answer_seconds):
                given = await endpoint.handle(call)
        except TimeoutError as error:
            raise (busy(TOO_LONG, remedy=LATER) if endpoint.long else busy(TOO_LONG)) from error
        return Response(given.body, status_code=given.status, media_type=given.media, headers=dict(given.headers))

    path = endpoint.path
    for place in endpoint.places:
        path = path.replace("{" + place + "}", "{" + place + ":str}")
    return HTTPRouteHandler(path, http_method=endpoint.method, name=endpoint.name)(answer)
