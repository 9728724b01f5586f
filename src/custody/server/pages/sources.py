"""Sources, and documents with the findings on their citations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from custody.cite.app.audit import REMEDIES
from custody.cite.wire import CiteFinding
from custody.server.app.listing import list_sources_page
from custody.server.app.questions import answer_source_request
from custody.server.page_data.files import Documents, audit_document_for_page, read_document_list_page
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_workspace_repository

SHOWN = 100
LINES = 400
LAST_LINE = 999_999_999
SAFE_SCHEMES = ("http", "https")


def view_sources(workspace: Workspace, params: PageParams) -> PageView:
    """Show the sources, page by page, and the documents."""
    page = list_sources_page(workspace, params.text("after"), SHOWN)
    documents = (
        read_document_list_page(workspace, params.text("document"))
        if has_workspace_repository(workspace)
        else Documents([], 0)
    )
    return PageView(
        title="Sources",
        template="sources.html",
        fields={
            "sources": page.items,
            "after": page.next,
            "paged": params.text("after") is not None,
            "documents": documents,
            "filter": params.text("document") or "",
            "has_repository": has_workspace_repository(workspace),
            "web": to_safe_link_url,
        },
    )


def view_source(workspace: Workspace, params: PageParams) -> PageView:
    """Show one source."""
    report = answer_source_request(workspace, params.require_text("id"), note=params.note)
    return PageView(
        title=f"{report.source.id} {report.source.title}",
        template="source.html",
        fields={"report": report, "web": to_safe_link_url, "may_read": params.note is not None},
    )


def view_document(workspace: Workspace, params: PageParams) -> PageView:
    """Show a part of a document, with the findings below their lines."""
    document = audit_document_for_page(workspace, params.require_text("file"))
    first = min(params.number("from", 1, least=1, most=LAST_LINE), max(len(document.lines), 1))
    last = min(first + LINES - 1, len(document.lines))
    return PageView(
        title=document.path,
        template="report.html",
        fields={
            "document": document,
            "first": first,
            "last": last,
            "step": LINES,
            "remedies": REMEDIES,
            "codes": _count_codes_for_page(document.audit.findings),
            "coverage": document.audit.coverage,
            "uncited": {place.line for place in document.audit.files[0].uncited},
        },
    )


def _count_codes_for_page(findings: Sequence[CiteFinding]) -> Mapping[str, int]:
    """Count the findings by code."""
    return dict(sorted(Counter(finding.code for finding in findings).items()))


def to_safe_link_url(url: str | None) -> str | None:
    """Return the URL if it may become a link; anything but a web URL is shown as text only."""
    try:
        return url if url is not None and urlsplit(url).scheme.lower() in SAFE_SCHEMES else None
    except ValueError:
        return None


PAGES = (
    Page(
        name="sources",
        label="Sources",
        view=view_sources,
        takes={"after": "The end of the previous page.", "document": "Only documents whose path contains this."},
        long=True,
    ),
    Page(
        name="source", section="sources", view=view_source, takes={"id": "An id of the source, such as S3."}, long=True
    ),
    Page(
        name="report",
        section="sources",
        view=view_document,
        takes={"file": "The document, relative to the repository root.", "from": "The first line to show."},
        long=True,
    ),
)
