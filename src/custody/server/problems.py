"""Error answers as RFC 9457 problems, and as pages for browsers."""

from collections.abc import Mapping
from types import MappingProxyType

from custody.core.errors import HTTP_BUG, CustodyError, WorldError, http_status_from_error
from custody.server.pages.frame import POLICY
from custody.server.pages.page import NOT_NOW, TRY_AGAIN
from custody.server.wire.service import Problem, encode_http_answer

MEDIA = "application/problem+json"
PROGRAM_PATHS = ("/api/", "/v1/", "/static/", "/openapi.json", "/metrics")
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
"""Headers of every page: no content from other hosts, no inline code, no framing."""
SAFE: Mapping[str, str] = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    }
)
"""Default headers of every answer: no type guessing, no caching, no referrer, no code."""
RETRY_SECONDS = 2
"""The Retry-After of a 503."""

TITLES: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        400: ("bad-request", "Invalid HTTP request"),
        401: ("no-token", "Token required"),
        403: ("not-allowed", "Not allowed with this token"),
        404: ("not-found", "Not found"),
        405: ("wrong-method", "Method not allowed"),
        408: ("too-slow", "Request timeout"),
        409: ("conflict", "Conflict with stored data"),
        413: ("too-large", "Body too large"),
        415: ("wrong-type", "Unsupported media type"),
        422: ("not-usable", "Invalid request"),
        429: ("too-many", "Too many requests"),
        431: ("head-too-large", "Request headers too large"),
        500: ("bug", "Internal error"),
        503: ("not-now", "Service unavailable"),
    }
)
"""Every error status: the last part of its type, and its title."""


class HttpProblem(Exception):
    """An error answer with its HTTP status."""

    def __init__(
        self, status: int, detail: str, *, remedy: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.remedy = remedy
        self.headers = dict(headers or {})


TOO_LONG = "the answer takes longer than the time limit"


def make_busy_problem(detail: str, *, remedy: str = TRY_AGAIN) -> HttpProblem:
    """Return a 503 with a Retry-After."""
    return HttpProblem(503, detail, remedy=remedy, headers={"retry-after": str(RETRY_SECONDS)})


def http_problem_from_error(error: BaseException) -> HttpProblem:
    """Return the answer for an error; an unexpected error becomes a 500 without its message."""
    if isinstance(error, HttpProblem):
        return error
    status = http_status_from_error(error)
    if not isinstance(error, CustodyError) or status == HTTP_BUG:
        return HttpProblem(HTTP_BUG, "unexpected error", remedy="see the log of the service")
    if isinstance(error, WorldError):
        return HttpProblem(status, NOT_NOW, remedy=TRY_AGAIN, headers={"retry-after": str(RETRY_SECONDS)})
    return HttpProblem(status, error.message, remedy=error.hint)


def encode_http_problem(refusal: HttpProblem, instance: str) -> bytes:
    """Encode a problem document; ``instance`` is the requested path."""
    name, title = TITLES[refusal.status]
    return encode_http_answer(
        Problem(
            type=f"urn:custody:problem:{name}",
            title=title,
            status=refusal.status,
            detail=_clean_problem_text(refusal.detail),
            remedy=refusal.remedy,
            instance=_clean_problem_text(instance),
        )
    )


def accepts_html_page(accept: str | None, path: str) -> bool:
    """Return whether the caller is a browser that wants a page; API paths never answer with pages."""
    return "text/html" in (accept or "") and not path.startswith(PROGRAM_PATHS)


def encode_problem_page(refusal: HttpProblem, url: str) -> tuple[bytes, dict[str, str]]:
    """Encode an error page and its headers; ``url`` is the requested one."""
    from custody.server.pages.frame import render_problem_page

    _, title = TITLES[refusal.status]
    page = render_problem_page(refusal.status, title, refusal.detail, refusal.remedy, _clean_problem_text(url))
    return page.encode("utf-8", "replace"), {"content-type": HTML, **PAGE_HEADERS, **refusal.headers}


def _clean_problem_text(text: str) -> str:
    """Replace lone surrogates, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode()
