"""Refusals, as RFC 9457 has them: one table from a status to its name, one from an error's family to its status."""

from collections.abc import Mapping
from types import MappingProxyType

from custody.core.errors import HTTP_BUG, CustodyError, WorldError, http_status
from custody.server.pages.attempt import NOT_NOW, TRY_AGAIN
from custody.server.pages.frame import POLICY
from custody.server.wire.service import Problem, encode_answer

MEDIA = "application/problem+json"
FOR_PROGRAMS = ("/api/", "/v1/", "/static/", "/openapi.json", "/metrics")
HTML = "text/html; charset=utf-8"
PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-security-policy": POLICY,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "same-origin",
        "x-frame-options": "DENY",
    }
)
"""What every page is sent with: nothing from elsewhere, nothing inline, in no frame."""
SAFE: Mapping[str, str] = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    }
)
"""On every answer that says nothing else: what is here is not guessed at, not kept, not told to others, and not run."""
RETRY_SECONDS = 2
"""What somebody who is told 503 waits before the next try."""

TITLES: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        400: ("bad-request", "The request is not HTTP that can be understood"),
        401: ("no-token", "A token is needed"),
        403: ("not-allowed", "The token is not good for this"),
        404: ("not-found", "There is no such thing"),
        405: ("wrong-method", "This cannot be done here"),
        408: ("too-slow", "The request took too long to arrive"),
        409: ("conflict", "Something else is kept under this key"),
        413: ("too-large", "The body is too large"),
        415: ("wrong-type", "The body is of another type than is taken here"),
        422: ("not-usable", "What was sent cannot be used"),
        429: ("too-many", "Too many requests with this token"),
        431: ("head-too-large", "The request's head is too large"),
        500: ("bug", "This is a bug in custody"),
        503: ("not-now", "The service cannot answer now"),
    }
)
"""Every status that is no success: the last word of its type, and its title."""


class HttpProblem(Exception):
    """A refusal that is about HTTP, not about what was sent."""

    def __init__(
        self, status: int, detail: str, *, remedy: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.remedy = remedy
        self.headers = dict(headers or {})


TOO_LONG = "no answer could be had in time"
LATER = "it is still being worked out, and what was found is kept: try again in a minute"


def busy(detail: str, *, remedy: str = TRY_AGAIN) -> HttpProblem:
    """That it would work later."""
    return HttpProblem(503, detail, remedy=remedy, headers={"retry-after": str(RETRY_SECONDS)})


def problem_of(error: BaseException) -> HttpProblem:
    """The refusal that an error stands for; what nobody expected is a bug, and its words stay inside."""
    if isinstance(error, HttpProblem):
        return error
    status = http_status(error)
    if not isinstance(error, CustodyError) or status == HTTP_BUG:
        return HttpProblem(HTTP_BUG, "something went wrong that nobody expected", remedy="look into the service's log")
    if isinstance(error, WorldError):
        return HttpProblem(status, NOT_NOW, remedy=TRY_AGAIN, headers={"retry-after": str(RETRY_SECONDS)})
    return HttpProblem(status, error.message, remedy=error.hint)


def body_of(refusal: HttpProblem, instance: str) -> bytes:
    """The document that says so; ``instance`` is the path that was asked for."""
    name, title = TITLES[refusal.status]
    return encode_answer(
        Problem(
            type=f"urn:custody:problem:{name}",
            title=title,
            status=refusal.status,
            detail=_clean(refusal.detail),
            remedy=refusal.remedy,
            instance=_clean(instance),
        )
    )


def wants_page(accept: str | None, path: str) -> bool:
    """Whether whoever asks is a browser that shows what it gets; the addresses for programs answer programs only."""
    return "text/html" in (accept or "") and not path.startswith(FOR_PROGRAMS)


def page_of(refusal: HttpProblem, address: str) -> tuple[bytes, dict[str, str]]:
    """The page that says so, and its headers; ``address`` is what was asked for."""
    from custody.server.pages.frame import refusal_page

    _, title = TITLES[refusal.status]
    page = refusal_page(refusal.status, title, refusal.detail, refusal.remedy, _clean(address))
    return page.encode("utf-8", "replace"), {"content-type": HTML, **PAGE_HEADERS, **refusal.headers}


def _clean(text: str) -> str:
    """Text that JSON can carry: half of a pair may stand in what a caller sent."""
    return text.encode("utf-8", "replace").decode()
