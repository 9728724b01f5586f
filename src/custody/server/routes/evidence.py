"""Evidence: generic events in, records out."""

from custody.server.app import listing as pages
from custody.server.app.tenancy_model import Scope
from custody.server.endpoints import Answer, Call, Endpoint
from custody.server.intake_routes import taking
from custody.server.listing import listing
from custody.server.problems import HttpProblem
from custody.server.shapes import EVENTS
from custody.server.wire.service import EvidencePage, EvidenceRead, Problem
from custody.workspace.workspace import Desk


async def show(call: Call) -> Answer:
    """One record."""
    name = str(call.request.path_params["record"])
    with_text = call.may(Scope.TEXT)

    def ask(desk: Desk) -> EvidenceRead | None:
        found = pages.one_record(desk, name, with_text=with_text)
        if found is not None and with_text and found.kind not in pages.TEXTLESS:
            call.note_read(f"record {found.record}")
        return found

    found = await call.ask(ask)
    if found is None:
        raise HttpProblem(404, "no such record is kept", remedy="/api/v1/evidence lists them")
    return Answer.of(found)


ENDPOINTS: tuple[Endpoint, ...] = (
    taking("evidence", "Keep a generic event, or a batch of them.", EVENTS),
    listing("evidence", "List records by their names.", pages.evidence, EvidencePage),
    Endpoint(
        method="GET",
        path="/api/v1/evidence/{record}",
        name="show-evidence",
        words="Show a record; what may hold texts only with the scope 'text', and each such read is noted.",
        scope=Scope.READ,
        handle=show,
        gives={200: EvidenceRead, 404: Problem},
        places={"record": "The record's name, as receipts have it."},
    ),
)
