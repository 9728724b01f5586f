"""Sources, and audits of the citations of reports. No URL is ever fetched from here."""

import msgspec

from custody.cite.app.audit import cite_audit
from custody.cite.app.registry import cite_add
from custody.cite.app.report_file import STDIN
from custody.cite.wire import CiteAddReport, CiteAuditReport, CiteShowReport
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.server.app.listing import list_sources_page
from custody.server.app.questions import answer_source_request
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer
from custody.server.route_kinds import (
    Question,
    get_read_note,
    make_body_question_endpoint,
    make_list_endpoint,
    make_question_endpoint,
    read_actor,
    read_path_param,
    read_question_body,
)
from custody.server.wire.service import AuditBody, SourceBody, SourcesPage
from custody.workspace.workspace import Workspace


async def register_source(call: EndpointCall) -> HttpAnswer:
    """Add or update a source."""
    source = await read_question_body(call, SourceBody)
    who = read_actor(call)
    report = await call.ask(lambda workspace: cite_add(workspace, msgspec.structs.asdict(source), who))
    return HttpAnswer(body=encode_report(report), status=201 if report.new else 200)


def _make_source_question(call: EndpointCall) -> Question:
    name, note = read_path_param(call, "source"), get_read_note(call)
    return lambda workspace: answer_source_request(workspace, name, note=note)


def _make_audit_question(_call: EndpointCall, request: AuditBody) -> Question:
    try:
        data = request.markdown.encode()
    except UnicodeEncodeError as error:
        raise InputError("'markdown' contains a lone surrogate", hint="send valid Unicode text") from error

    def ask(workspace: Workspace) -> CiteAuditReport:
        return cite_audit(workspace, [STDIN], data, coverage_min=request.coverage_min, session=request.session)

    return ask


ENDPOINTS: tuple[Endpoint, ...] = (
    make_list_endpoint("sources", "List registered sources.", list_sources_page, SourcesPage),
    Endpoint(
        method="POST",
        path="/api/v1/sources",
        name="register-source",
        summary="Add or update a source.",
        scope=TokenScope.WRITE,
        handle=register_source,
        takes={JSON: SourceBody},
        gives={200: CiteAddReport, 201: CiteAddReport},
    ),
    make_question_endpoint(
        "/api/v1/sources/{source}",
        "show-source",
        "Show one source; its passages only with the scope 'text', and every such read is logged.",
        CiteShowReport,
        _make_source_question,
        places={"source": "An id of the source, such as S3."},
    ),
    make_body_question_endpoint(
        "/api/v1/audits",
        "audit-citations",
        "Check the citations of a report, like 'custody cite audit -'; no link is followed.",
        CiteAuditReport,
        AuditBody,
        _make_audit_question,
    ),
)
