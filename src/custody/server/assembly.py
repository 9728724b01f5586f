"""The service put together: routes behind the door, refusals in one shape, an end that loses nothing."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException

from custody.server.auth import TokenCheck
from custody.server.endpoints import route_of
from custody.server.gatekeeper import Gatekeeper
from custody.server.problems import MEDIA, TITLES, HttpProblem, body_of, page_of, problem_of, wants_page
from custody.server.routes import ENDPOINTS
from custody.server.routes.pages import page_endpoints
from custody.server.settings import Settings
from custody.server.shared_state import Service

log = logging.getLogger("custody.service")


def create_app(settings: Settings) -> Litestar:
    """The service as an ASGI application; its threads begin with its first request and end with its lifespan."""
    service = Service.of(settings)
    endpoints = (*ENDPOINTS, *page_endpoints())

    @asynccontextmanager
    async def running(_app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    app = Litestar(
        route_handlers=[route_of(endpoint) for endpoint in endpoints],
        lifespan=[running],
        openapi_config=None,
        exception_handlers={Exception: _refused},
        request_max_body_size=None,
        logging_config=None,
    )
    app.state.service = service
    # Outside everything else, since litestar answers unknown paths before any middleware of its own.
    open_ = frozenset(endpoint.path for endpoint in endpoints if endpoint.scope is None)
    gatekeeper = TokenCheck(settings.keeper, settings.now_ns)
    app.asgi_handler = Gatekeeper(app.asgi_handler, service, gatekeeper, open_)  # type: ignore[assignment]
    return app


def _refused(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    refusal = _litestars(request, error) if isinstance(error, HTTPException) else problem_of(error)
    if refusal.status == 500:
        log.error("a bug at %s %s", request.method, request.scope.get("path_template"), exc_info=error)
    path, questions = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    if wants_page(request.headers.get("accept"), path):
        body, headers = page_of(refusal, f"{path}?{questions}" if questions else path)
        return Response(body, status_code=refusal.status, headers=headers)
    return Response(body_of(refusal, path), status_code=refusal.status, media_type=MEDIA, headers=dict(refusal.headers))


def _litestars(request: Request[Any, Any, Any], error: HTTPException) -> HttpProblem:
    """What litestar refuses by itself: unknown paths and methods."""
    status = error.status_code if error.status_code in TITLES else 400 if error.status_code < 500 else 500
    headers = dict(error.headers or {})
    if isinstance(error, MethodNotAllowedException):
        return HttpProblem(status, f"'{request.method[:20]}' is not taken here", headers=headers)
    if status == 404:
        return HttpProblem(404, "nothing is here", remedy="/openapi.json lists what is")
    return HttpProblem(status, TITLES[status][1], headers=headers)
