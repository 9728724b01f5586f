"""The pages as files: whatever a page leads to is written too, until there are as many as were asked for.

The links of a page are the list of what comes next, so a report holds what can be reached from its first page, and a
page that is not in it is a name without a link.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from custody import __version__
from custody.core.errors import CustodyError, WorldError
from custody.server.app.questions import Note
from custody.server.pages.book import BY_NAME, PAGES
from custody.server.pages.frame import Frame, PageEnvironment, assets, render
from custody.server.pages.page import Page, PageMemory, PageParams, PageView
from custody.workspace.workspace import Workspace

FIRST = "overview"
DIGITS = 12
SHARE_OF_ONE = 0.5
"""Pages of one kind are at most so many of all: a thousand files of a repository leave room for everything else."""

PageKey = tuple[str, tuple[tuple[str, str], ...]]


@dataclass
class FileLinks:
    """Names files as pages are linked to; those that were named wait to be written."""

    most: int
    served = False
    left_out: int = 0
    waiting: deque[PageKey] = field(default_factory=deque)
    _names: dict[PageKey, str] = field(default_factory=dict)
    _kinds: dict[str, int] = field(default_factory=dict)
    _refused: set[PageKey] = field(default_factory=set)

    def to(self, page: str, said: Mapping[str, str]) -> str | None:
        """The page's file; None for one that is not in the report."""
        known = BY_NAME.get(page)
        if known is None or known.part:
            return None
        key: PageKey = (page, tuple(sorted(said.items())))
        if key not in self._names and not self._takes(key):
            return None
        return self._names[key]

    def _takes(self, key: PageKey) -> bool:
        page, said = key
        full = len(self._names) >= self.most or self._kinds.get(page, 0) >= max(self.most * SHARE_OF_ONE, 1)
        if full and said:
            if key not in self._refused:
                self._refused.add(key)
                self.left_out += 1
            return False
        self._names[key] = _file_name(page, said)
        self._kinds[page] = self._kinds.get(page, 0) + 1
        self.waiting.append(key)
        return True

    def asset(self, name: str) -> str:
        """A built file, beside the pages."""
        return f"assets/{name}"


def _file_name(page: str, said: tuple[tuple[str, str], ...]) -> str:
    if not said:
        return "index.html" if page == FIRST else f"{page}.html"
    digest = sha256("\0".join(part for pair in said for part in pair).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{page}-{digest[:DIGITS]}.html"


@dataclass(slots=True)
class ExportSummary:
    """What was written: how many pages, how many are left out, and which could not be made, with why."""

    pages: int = 0
    left_out: int = 0
    failed: list[str] = field(default_factory=list)


def report_files(
    workspace: Workspace, *, most: int, made: str, note: Note | None, written: ExportSummary
) -> Iterator[tuple[str, bytes]]:
    """Every file of a report with its content, page by page; ``written`` says at the end what came of it."""
    links, memory = FileLinks(most), PageMemory()
    around = PageEnvironment(project=workspace.project, version=__version__, made=made)
    frame = Frame(links=links, around=around, book=PAGES, inline=_inline(workspace, links, around, note, memory))
    for asset in assets().values():
        yield f"assets/{asset.name}", asset.data
    for page in (BY_NAME[FIRST], *PAGES):
        if page.label is not None:
            links.to(page.name, {})
    workspace.progress.start("writing pages", None)
    while links.waiting:
        name, said = links.waiting.popleft()
        page, asked = BY_NAME[name], dict(said)
        try:
            view = page.view(workspace, PageParams(asked, note, memory))
        except WorldError:
            raise
        except CustodyError as error:
            # It stands behind a link that an earlier page has: there it says why there is nothing.
            written.failed.append(f"{name}: {error.message}")
            view = _failed(error)
        yield _file_name(name, said), render(view, page, asked, frame).encode("utf-8", "replace")
        written.pages += 1
        workspace.progress.step(1)
    written.left_out = links.left_out


def _inline(
    workspace: Workspace, links: FileLinks, around: PageEnvironment, note: Note | None, memory: PageMemory
) -> Callable[[str, Mapping[str, str]], str]:
    """What makes a part of a page at once; one that cannot be made says why in its place."""

    def inline(name: str, said: Mapping[str, str]) -> str:
        page: Page = BY_NAME[name]
        frame = Frame(links=links, around=around, book=PAGES, inline=inline)
        try:
            view = page.view(workspace, PageParams(said, note, memory))
        except WorldError:
            raise
        except CustodyError as error:
            view = _failed(error)
        return render(view, page, said, frame)

    return inline


def _failed(error: CustodyError) -> PageView:
    return PageView(
        title="Not to be had", template="failed.html", fields={"detail": error.message, "remedy": error.hint}
    )
