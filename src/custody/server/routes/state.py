"""The state of the service: health, readiness, metrics, description."""

from functools import cache

from custody import __version__
from custody.core.wire.canonical import dump_canonical_json
from custody.server.app.listing import list_evidence_page
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.problems import accepts_html_page
from custody.server.wire.service import Health, ReadyReport, ServiceInfo
from custody.server.writer_queue import MEDIA


async def serve_health(call: EndpointCall) -> HttpAnswer:
    """Return that the process answers, even without a store; a browser is redirected to the health page."""
    if accepts_html_page(call.request.headers.get("accept"), call.path):
        return HttpAnswer(body=b"", status=303, headers={"location": "/state"})
    return HttpAnswer.of(Health(status="up", version=__version__))


async def serve_readiness(call: EndpointCall) -> HttpAnswer:
    """Return that the store answers; else its error becomes a 503."""
    await call.ask(lambda workspace: list_evidence_page(workspace, None, 1))
    return HttpAnswer.of(ReadyReport(status="ready"))


async def serve_metrics(call: EndpointCall) -> HttpAnswer:
    """Return the metrics since the start."""
    return HttpAnswer(body=call.service.metrics.text(), media=MEDIA)


async def serve_service_info(call: EndpointCall) -> HttpAnswer:
    """Return the name and version; a browser is redirected to the overview."""
    if accepts_html_page(call.request.headers.get("accept"), call.path):
        return HttpAnswer(body=b"", status=303, headers={"location": "/overview"})
    return HttpAnswer.of(
        ServiceInfo(service="custody", version=__version__, project=call.grant.project, openapi="/openapi.json")
    )


async def serve_openapi(_call: EndpointCall) -> HttpAnswer:
    """Return the OpenAPI document."""
    return HttpAnswer(body=_encode_openapi_document())


@cache
def _encode_openapi_document() -> bytes:
    from custody.server.openapi import build_openapi_document
    from custody.server.routes import ENDPOINTS as ALL

    return dump_canonical_json(build_openapi_document(ALL, __version__))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/",
        name="welcome",
        summary="Return the name and version of the service.",
        scope=TokenScope.READ,
        handle=serve_service_info,
        gives={200: ServiceInfo},
    ),
    Endpoint(
        method="GET",
        path="/health",
        name="health",
        summary="Check that the process answers; needs no token.",
        scope=None,
        handle=serve_health,
        gives={200: Health},
    ),
    Endpoint(
        method="GET",
        path="/ready",
        name="ready",
        summary="Check that the store answers.",
        scope=TokenScope.READ,
        handle=serve_readiness,
        gives={200: ReadyReport},
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        name="metrics",
        summary="Return metrics in the Prometheus format.",
        scope=TokenScope.READ,
        handle=serve_metrics,
        gives={200: MEDIA},
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="Return the OpenAPI document.",
        scope=TokenScope.READ,
        handle=serve_openapi,
        gives={200: JSON},
    ),
)
