"""Pages as files: a report contains every page that links lead to from its first page, up to a maximum.

A page that is not in the report is shown as text without a link.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

from msgspec import Struct, field

from custody import __version__
from custody.core.errors import CustodyError, WorldError
from custody.server.app.questions import Note
from custody.server.page_data.site import read_page_site
from custody.server.pages.book import BY_NAME, PAGES
from custody.server.pages.frame import Frame, PageEnvironment, load_page_assets, render_page_view
from custody.server.pages.page import Page, PageMemory, PageParams, PageView
from custody.workspace.workspace import Workspace

FIRST = "overview"
DIGITS = 12
KIND_SHARE_MAX = 0.5
"""Maximum share of the pages of one kind, so that many files leave room for everything else."""

PageKey = tuple[str, tuple[tuple[str, str], ...]]


class FileLinks(Struct):
    """The file names of linked pages, and the queue of pages to write."""

    most: int
    served = False
    left_out: int = 0
    waiting: deque[PageKey] = field(default_factory=deque)
    _names: dict[PageKey, str] = field(default_factory=dict)
    _kinds: dict[str, int] = field(default_factory=dict)
    _refused: set[PageKey] = field(default_factory=set)

    def find_page_url(self, page: str, params: Mapping[str, str]) -> str | None:
        """Return the file of a page; None if it is not in the report."""
        known = BY_NAME.get(page)
        if known is None or known.part:
            return None
        key: PageKey = (page, tuple(sorted(params.items())))
        if key not in self._names and not self._takes(key):
            return None
        return self._names[key]

    def _takes(self, key: PageKey) -> bool:
        page, params = key
        full = len(self._names) >= self.most or self._kinds.get(page, 0) >= max(self.most * KIND_SHARE_MAX, 1)
        if full and params:
            if key not in self._refused:
                self._refused.add(key)
                self.left_out += 1
            return False
        self._names[key] = _make_page_file_name(page, params)
        self._kinds[page] = self._kinds.get(page, 0) + 1
        self.waiting.append(key)
        return True

    def asset(self, name: str) -> str:
        """Return the path of a built file."""
        return f"assets/{name}"


def _make_page_file_name(page: str, params: tuple[tuple[str, str], ...]) -> str:
    if not params:
        return "index.html" if page == FIRST else f"{page}.html"
    digest = sha256("\0".join(part for pair in params for part in pair).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{page}-{digest[:DIGITS]}.html"


class ExportSummary(Struct):
    """The number of written pages, of pages left out, and the failed pages with their reasons."""

    pages: int = 0
    left_out: int = 0
    failed: list[str] = field(default_factory=list)


def export_page_files(
    workspace: Workspace, *, most: int, made: str, note: Note | None, summary: ExportSummary
) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a report with its content, and fill ``summary``."""
    links, memory = FileLinks(most), PageMemory()
    site = read_page_site(workspace, memory.site)
    around = PageEnvironment(project=workspace.project, version=__version__, made=made, repository=site.repository)
    frame = Frame(
        links=links, around=around, book=PAGES, inline=_make_part_renderer(workspace, links, around, note, memory)
    )
    for asset in load_page_assets().values():
        yield f"assets/{asset.name}", asset.data
    for page in (BY_NAME[FIRST], *PAGES):
        if page.label is not None:
            links.find_page_url(page.name, {})
    workspace.progress.start("writing pages", None)
    while links.waiting:
        name, key = links.waiting.popleft()
        page, params = BY_NAME[name], dict(key)
        try:
            view = page.view(workspace, PageParams(params, note, memory))
        except WorldError:
            raise
        except CustodyError as error:
            # Earlier pages link to it, so it is written with the reason why it failed.
            summary.failed.append(f"{name}: {error.message}")
            view = _view_page_failure(error)
        yield _make_page_file_name(name, key), render_page_view(view, page, params, frame).encode("utf-8", "replace")
        summary.pages += 1
        workspace.progress.step(1)
    summary.left_out = links.left_out


def _make_part_renderer(
    workspace: Workspace, links: FileLinks, around: PageEnvironment, note: Note | None, memory: PageMemory
) -> Callable[[str, Mapping[str, str]], str]:
    """Return the function that renders a part of a page; a failed part shows the reason."""

    def inline(name: str, params: Mapping[str, str]) -> str:
        page: Page = BY_NAME[name]
        frame = Frame(links=links, around=around, book=PAGES, inline=inline)
        try:
            view = page.view(workspace, PageParams(params, note, memory))
        except WorldError:
            raise
        except CustodyError as error:
            view = _view_page_failure(error)
        return render_page_view(view, page, params, frame)

    return inline


def _view_page_failure(error: CustodyError) -> PageView:
    return PageView(
        title="Not available", template="failed.html", fields={"detail": error.message, "remedy": error.hint}
    )
