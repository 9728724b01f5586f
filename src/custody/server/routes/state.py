"""How the service is: alive, ready, counted, described."""

from functools import cache

from custody import __version__
from custody.core.wire.canonical import dump
from custody.server.app.listing import evidence
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import wants_page
from custody.server.wire.service import Health, ReadyReport, ServiceInfo
from custody.server.writer_queue import MEDIA


async def health(call: EndpointCall) -> HttpAnswer:
    """That the process answers, whatever the store does; a browser is led to the page about it."""
    if wants_page(call.request.headers.get("accept"), call.path):
        return HttpAnswer(body=b"", status=303, headers={"location": "/state"})
    return HttpAnswer.of(Health(status="up", version=__version__))


async def ready(call: EndpointCall) -> HttpAnswer:
    """That the store answers; if not, the error it gives becomes a 503."""
    await call.ask(lambda workspace: evidence(workspace, None, 1))
    return HttpAnswer.of(ReadyReport(status="ready"))


async def metrics(call: EndpointCall) -> HttpAnswer:
    """Counts since the start."""
    return HttpAnswer(body=call.service.metrics.text(), media=MEDIA)


async def welcome(call: EndpointCall) -> HttpAnswer:
    """What this is; a browser is led to the first page."""
    if wants_page(call.request.headers.get("accept"), call.path):
        return HttpAnswer(body=b"", status=303, headers={"location": "/overview"})
    return HttpAnswer.of(
        ServiceInfo(service="custody", version=__version__, project=call.grant.project, openapi="/openapi.json")
    )


async def serve_openapi(_call: EndpointCall) -> HttpAnswer:
    """The description."""
    return HttpAnswer(body=_description())


@cache
def _description() -> bytes:
    from custody.server.openapi import description
    from custody.server.routes import ENDPOINTS as ALL

    return dump(description(ALL, __version__))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/",
        name="welcome",
        words="Say what this is.",
        scope=TokenScope.READ,
        handle=welcome,
        gives={200: ServiceInfo},
    ),
    Endpoint(
        method="GET",
        path="/health",
        name="health",
        words="Say that the process answers; needs no token.",
        scope=None,
        handle=health,
        gives={200: Health},
    ),
    Endpoint(
        method="GET",
        path="/ready",
        name="ready",
        words="Say that the store answers.",
        scope=TokenScope.READ,
        handle=ready,
        gives={200: ReadyReport},
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        name="metrics",
        words="Give counts in Prometheus' words.",
        scope=TokenScope.READ,
        handle=metrics,
        gives={200: MEDIA},
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        words="Describe this service.",
        scope=TokenScope.READ,
        handle=serve_openapi,
        gives={200: JSON},
    ),
)
