"""Sources that statements rest on, and documents with the findings on their citations in place."""

from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from custody.cite.app.audit import remedy_of
from custody.cite.wire import CiteFinding
from custody.server.app.listing import sources
from custody.server.app.questions import source_shown
from custody.server.page_data.files import Documents, audited, documents
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_repository

SHOWN = 100
LINES = 400
LAST_LINE = 999_999_999
SAFE_SCHEMES = ("http", "https")


def sources_view(workspace: Workspace, asked: PageParams) -> PageView:
    """The registry, a page of it at a time, and the documents that cite."""
    page = sources(workspace, asked.text("after"), SHOWN)
    listed = documents(workspace, asked.text("document")) if has_repository(workspace) else Documents([], 0)
    return PageView(
        title="Sources",
        template="sources.html",
        fields={
            "sources": page.items,
            "after": page.next,
            "paged": asked.text("after") is not None,
            "documents": listed,
            "wanted": asked.text("document") or "",
            "has_repository": has_repository(workspace),
            "web": web_address,
        },
    )


def source_view(workspace: Workspace, asked: PageParams) -> PageView:
    """Everything about one source."""
    found = source_shown(workspace, asked.needed("id"), note=asked.note)
    return PageView(
        title=f"{found.source.id} {found.source.title}",
        template="source.html",
        fields={"found": found, "web": web_address, "may_read": asked.note is not None},
    )


def report_view(workspace: Workspace, asked: PageParams) -> PageView:
    """A document, some hundred lines at a time, with its findings below the lines that they are about."""
    found = audited(workspace, asked.needed("file"))
    first = min(asked.number("from", 1, least=1, most=LAST_LINE), max(len(found.lines), 1))
    last = min(first + LINES - 1, len(found.lines))
    return PageView(
        title=found.path,
        template="report.html",
        fields={
            "found": found,
            "first": first,
            "last": last,
            "step": LINES,
            "remedy_of": remedy_of,
            "codes": _codes(found.audit.findings),
            "coverage": found.audit.coverage,
            "uncited": {place.line for place in found.audit.files[0].uncited},
        },
    )


def _codes(findings: Sequence[CiteFinding]) -> Mapping[str, int]:
    """How many findings have each code."""
    return dict(sorted(Counter(finding.code for finding in findings).items()))


def web_address(url: str | None) -> str | None:
    """An address that may be a link: anything else than the web's is shown as text only."""
    try:
        return url if url is not None and urlsplit(url).scheme.lower() in SAFE_SCHEMES else None
    except ValueError:
        return None


PAGES = (
    Page(
        name="sources",
        label="Sources",
        view=sources_view,
        takes={"after": "Where the last page ended.", "document": "Only documents with this in their path."},
        long=True,
    ),
    Page(name="source", section="sources", view=source_view, takes={"id": "Any of its ids, such as S3."}, long=True),
    Page(
        name="report",
        section="sources",
        view=report_view,
        takes={"file": "A document, from the repository's root.", "from": "The first line that is shown."},
        long=True,
    ),
)
