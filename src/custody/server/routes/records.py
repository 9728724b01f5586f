"""Traces, commit links and spans: sent as they are, listed as they were sent."""

from collections.abc import Mapping
from typing import Any

from custody.server.app import listing as pages
from custody.server.endpoints import Endpoint
from custody.server.intake_routes import make_intake_endpoint
from custody.server.listing import make_list_endpoint
from custody.server.shapes import SPANS, one_or_many
from custody.server.wire.service import LinksPage, SpansPage, TracesPage

_MOMENT = {"type": "string", "description": "RFC 3339", "format": "date-time"}
TRACE: Mapping[str, Any] = {
    "type": "object",
    "description": "A trace in the shape of Agent Trace 0.1.0, or of document 000; other fields are kept as sent.",
    "required": ["id", "timestamp", "files"],
    "properties": {
        "version": {"type": ["string", "null"], "pattern": r"^[0-2](\.[0-9]{1,4}){0,3}$"},
        "id": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        "timestamp": _MOMENT,
        "files": {"type": "array", "items": {"type": "object"}},
    },
}
LINK: Mapping[str, Any] = {
    "type": "object",
    "description": "A commit and the traces that it was made from; other fields are kept as sent.",
    "required": ["commit_sha", "trace_ids"],
    "properties": {
        "commit_sha": {"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$"},
        "trace_ids": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$"},
        },
        "committed_at": _MOMENT,
    },
}

ENDPOINTS: tuple[Endpoint, ...] = (
    make_intake_endpoint("traces", "Keep a trace, or a batch of them.", one_or_many(TRACE)),
    make_list_endpoint("traces", "List traces.", pages.traces, TracesPage),
    make_intake_endpoint("commit-links", "Keep which traces a commit was made from.", one_or_many(LINK)),
    make_list_endpoint("commit-links", "List commit links.", pages.links, LinksPage),
    make_intake_endpoint("spans", "Keep a span of a running program, or a batch of them.", SPANS),
    make_list_endpoint("spans", "List spans.", pages.spans, SpansPage),
)
