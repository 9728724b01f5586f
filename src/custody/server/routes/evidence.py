"""Evidence: generic events in, records out."""

from custody.server.app import listing as pages
from custody.server.app.tenancy_model import TokenScope
from custody.server.endpoints import Endpoint, EndpointCall, HttpAnswer
from custody.server.intake_routes import make_intake_endpoint
from custody.server.listing import make_list_endpoint
from custody.server.problems import HttpProblem
from custody.server.shapes import EVENTS
from custody.server.wire.service import EvidencePage, EvidenceText, Problem
from custody.workspace.workspace import Workspace


async def show(call: EndpointCall) -> HttpAnswer:
    """One record."""
    name = str(call.request.path_params["record"])
    with_text = call.may(TokenScope.TEXT)

    def ask(workspace: Workspace) -> EvidenceText | None:
        found = pages.one_record(workspace, name, with_text=with_text)
        if found is not None and with_text and found.kind not in pages.TEXTLESS:
            call.note_read(f"record {found.record}")
        return found

    found = await call.ask(ask)
    if found is None:
        raise HttpProblem(404, "no such record is kept", remedy="/api/v1/evidence lists them")
    return HttpAnswer.of(found)


ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("evidence", "Keep a generic event, or a batch of them.", EVENTS),
    make_list_endpoint("evidence", "List records by their names.", pages.evidence, EvidencePage),
    Endpoint(
        method="GET",
        path="/api/v1/evidence/{record}",
        name="show-evidence",
        words="Show a record; what may hold texts only with the scope 'text', and each such read is noted.",
        scope=TokenScope.READ,
        handle=show,
        gives={200: EvidenceText, 404: Problem},
        places={"record": "The record's name, as receipts have it."},
    ),
)
