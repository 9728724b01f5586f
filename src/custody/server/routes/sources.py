"""Sources that statements rest on, and audits of the citations of reports. No address is ever looked up from here."""

import msgspec

from custody.cite.app.audit import cite_audit
from custody.cite.app.registry import cite_add
from custody.cite.app.report_file import STDIN
from custody.cite.wire import CiteAddReport, CiteAuditReport, CiteShowReport
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.server.app.listing import sources
from custody.server.app.questions import source_shown
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.route_kinds import (
    Question,
    asking_in_body,
    make_list_endpoint,
    make_question_endpoint,
    note_of,
    place,
    read_actor,
    read_question_body,
)
from custody.server.wire.service import AuditBody, SourceBody, SourcesPage
from custody.workspace.workspace import Workspace


async def register(call: EndpointCall) -> HttpAnswer:
    """Register a source, or say more of one that is known."""
    told = await read_question_body(call, SourceBody)
    who = read_actor(call)
    report = await call.ask(lambda workspace: cite_add(workspace, msgspec.structs.asdict(told), who))
    return HttpAnswer(body=encode_report(report), status=201 if report.new else 200)


def _shown(call: EndpointCall) -> Question:
    name, note = place(call, "source"), note_of(call)
    return lambda workspace: source_shown(workspace, name, note=note)


def _audited(_call: EndpointCall, said: AuditBody) -> Question:
    try:
        data = said.markdown.encode()
    except UnicodeEncodeError as error:
        raise InputError("'markdown' holds half of a pair of signs", hint="send whole signs") from error

    def ask(workspace: Workspace) -> CiteAuditReport:
        return cite_audit(workspace, [STDIN], data, coverage_min=said.coverage_min, session=said.session)

    return ask


ENDPOINTS: tuple[Endpoint, ...] = (
    make_list_endpoint("sources", "List registered sources.", sources, SourcesPage),
    Endpoint(
        method="POST",
        path="/api/v1/sources",
        name="register-source",
        words="Register a source, or say more of one that is known.",
        scope=TokenScope.WRITE,
        handle=register,
        takes={JSON: SourceBody},
        gives={200: CiteAddReport, 201: CiteAddReport},
    ),
    make_question_endpoint(
        "/api/v1/sources/{source}",
        "show-source",
        "Show everything about one source; passages of it only with the scope 'text', and each such read is noted.",
        CiteShowReport,
        _shown,
        places={"source": "Any of its ids, such as S3."},
    ),
    asking_in_body(
        "/api/v1/audits",
        "audit-citations",
        "Check the citations of a report, as 'custody cite audit -' does; no link is followed.",
        CiteAuditReport,
        AuditBody,
        _audited,
    ),
)
