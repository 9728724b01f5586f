"""GitHub's webhook: no token, but a signature over every byte; what is to be done becomes jobs of 'custody worker'."""

from custody.core.ids import DEFAULT_PROJECT
from custody.server.app.github_deliveries import QUEUED, DeliveryIntake, UntrustedDelivery, WebhookDelivery
from custody.server.app.tenancy import control_of
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.github.shapes import WebhookReport
from custody.server.problems import HttpProblem, busy

PATH = "/github/webhook"
SIGNATURE = "x-hub-signature-256"
UNPROVEN_MAX = 32


async def deliver(call: EndpointCall) -> HttpAnswer:
    """Take a delivery in; of who signs nothing, not even the body is read."""
    headers = call.request.headers
    if SIGNATURE not in headers:
        raise _stranger("the delivery is not signed")
    if call.service.settings.github.secret is None:
        raise _stranger("this service takes no webhooks: no secret is set")
    sent = WebhookDelivery(
        event=headers.get("x-github-event", ""),
        id=headers.get("x-github-delivery", ""),
        signature=headers[SIGNATURE],
        body=await _body(call),
    )
    try:
        report = await call.service.readers.run(lambda: _take_delivery(call, sent))
    except UntrustedDelivery as error:
        raise _stranger(error.message) from error
    return HttpAnswer.of(report, 202 if report.taken == QUEUED else 200)


async def _body(call: EndpointCall) -> bytes:
    """The body; of callers who have shown nothing yet, only so many are listened to at once."""
    service = call.service
    if service.unproven >= UNPROVEN_MAX:
        raise busy("too many deliveries are arriving")
    service.unproven += 1
    try:
        return await call.body()
    finally:
        service.unproven -= 1


def _stranger(why: str) -> HttpProblem:
    return HttpProblem(401, why, remedy="set the same secret at GitHub and in CUSTODY_GITHUB_SECRET_FILE")


def _take_delivery(call: EndpointCall, sent: WebhookDelivery) -> WebhookReport:
    settings = call.service.settings
    workspace = settings.keeper.workspace(DEFAULT_PROJECT)
    with control_of(workspace, as_service=True) as control:
        return DeliveryIntake(settings.github, workspace.now_ns, workspace.token).take_in(control, sent)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST",
        path=PATH,
        name="github-webhook",
        words="Take a delivery of GitHub's in; it is signed with the webhook's secret instead of a token.",
        scope=None,
        handle=deliver,
        takes={JSON: {"type": "object"}},
        gives={200: WebhookReport, 202: WebhookReport},
    ),
)
