"""The webhook for GitHub: signed deliveries become jobs for 'custody worker'."""

from custody.core.ids import DEFAULT_PROJECT
from custody.server.app.github_deliveries import QUEUED, DeliveryIntake, UntrustedDelivery, WebhookDelivery
from custody.server.app.tenancy import connect_control_tables
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.github.shapes import WebhookReport
from custody.server.problems import HttpProblem, make_busy_problem

PATH = "/github/webhook"
SIGNATURE = "x-hub-signature-256"
UNPROVEN_MAX = 32


async def receive_webhook_delivery(call: EndpointCall) -> HttpAnswer:
    """Accept a delivery; without a signature the body is not read."""
    headers = call.request.headers
    if SIGNATURE not in headers:
        raise _make_webhook_problem("the delivery is not signed")
    if call.service.settings.github.secret is None:
        raise _make_webhook_problem("this service accepts no webhooks: no secret is set")
    sent = WebhookDelivery(
        event=headers.get("x-github-event", ""),
        id=headers.get("x-github-delivery", ""),
        signature=headers[SIGNATURE],
        body=await _read_webhook_body(call),
    )
    try:
        report = await call.service.readers.run(lambda: _accept_webhook_delivery(call, sent))
    except UntrustedDelivery as error:
        raise _make_webhook_problem(error.message) from error
    return HttpAnswer.of(report, 202 if report.taken == QUEUED else 200)


async def _read_webhook_body(call: EndpointCall) -> bytes:
    """Read the body; only a few unverified deliveries are read at the same time."""
    service = call.service
    if service.unproven >= UNPROVEN_MAX:
        raise make_busy_problem("too many deliveries at once")
    service.unproven += 1
    try:
        return await call.body()
    finally:
        service.unproven -= 1


def _make_webhook_problem(why: str) -> HttpProblem:
    return HttpProblem(401, why, remedy="set the same secret at GitHub and in CUSTODY_GITHUB_SECRET_FILE")


def _accept_webhook_delivery(call: EndpointCall, sent: WebhookDelivery) -> WebhookReport:
    settings = call.service.settings
    workspace = settings.keeper.workspace(DEFAULT_PROJECT)
    with connect_control_tables(workspace, as_service=True) as control:
        return DeliveryIntake(settings.github, workspace.now_ns, workspace.token).take_in(control, sent)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path=PATH,
        name="github-webhook",
        summary="Accept a webhook delivery of GitHub; its signature replaces the token.",
        scope=None,
        handle=receive_webhook_delivery,
        takes={JSON: {"type": "object"}},
        gives={200: WebhookReport, 202: WebhookReport},
    ),
)
