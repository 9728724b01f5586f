"""What an endpoint is: its path, who may, what it takes and gives; and how it becomes a route.

The description (``openapi``) and the routes are made from the same values: neither says what the other does not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from custody.core.errors import InputError
from custody.server.app.intake import Intake
from custody.server.app.listing import LIMIT_DEFAULT, LIMIT_MAX
from custody.server.app.tenancy_model import Grant, TokenScope
from custody.server.bodies import body_of, check_type
from custody.server.problems import LATER, TOO_LONG, HttpProblem, busy
from custody.server.shared_state import Service
from custody.server.wire.service import encode_answer
from custody.workspace.workspace import Workspace

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
