"""The weight of the pages in a real browser: script of the first page, elements at rest, the longest task after load.

    python -m bench pages [--tries N]
    python -m bench pages --repository FOLDER [--page URL]…

While a task runs, a page cannot respond. The bar: no task after load takes over 200 ms. A busy machine makes tasks
longer, so the best of a few tries counts, and all are printed. Nothing here is a test.

With a repository: the processor time of the service for each page, until its first answer and until it is
complete, in a new service and again. The bar: 2 s for the first answer, and for the whole page again.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from playwright.sync_api import Browser, Page

from bench.columns import columns
from bench.service_load import processor_seconds
from custody.server.pages.frame import load_page_assets
from tests.builders.browser import PATIENCE_MS, a_browser, looking_at
from tests.builders.long_pages import a_long_file, long_calls, long_spans, many_clusters
from tests.builders.service import Started, started
from tests.house.not_run import CannotBeHad

NODES_MAX, TASK_MS_MAX, SCRIPT_BYTES_MAX = 1_500, 200, 100_000
TRIES = 3
CPU_SECONDS_MAX = 2.0
COMPLETE_MS_MAX = 600_000
PAGES = (
    "/overview",
    "/changes",
    "/changes/HEAD~1..HEAD",
    "/blame",
    "/sessions",
    "/trust",
    "/sources",
    "/graph",
    "/state",
    "/search?text=test",
)
"""The pages of a repository that are measured by default."""
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => [one.startTime, one.duration])))
  .observe({type: "longtask", buffered: true});
"""


@dataclass(frozen=True, slots=True)
class Look:
    """One page: its data, its URL, when it is complete, and the actions on it."""

    name: str
    make: Callable[[Path], Path]
    path: str
    complete: str
    act: Callable[[Page], None] = lambda _page: None


def _through_lines(page: Page) -> None:
    for part in (0.25, 0.5, 0.75, 1):
        page.evaluate(
            "part => { const b = document.getElementById('lines'); b.scrollTop = b.scrollHeight * part }", part
        )
        page.wait_for_timeout(100)
    page.click("#legend [data-only=agent]")


def _through_calls(page: Page) -> None:
    page.click("[data-tree=open]")
    for _ in range(20):
        page.locator("#tree").evaluate("(box) => { box.scrollTop += 9_000 }")
        page.wait_for_timeout(20)
    page.click("[data-tree=close]")
    page.click("[data-tree=failed]")


def _through_picture(page: Page) -> None:
    for word in ("contains", "sequence", "contains"):
        page.click(f".graph-legend button[data-word={word}]")
        page.wait_for_timeout(100)
    page.click("#theme")
    page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)


def _through_clusters(page: Page) -> None:
    page.mouse.wheel(0, 9_000)
    page.locator("details.cluster summary").nth(250).click()
    page.wait_for_selector("details.cluster[open] table.members")


DRAWN = "#graph-canvas[data-drawn]"
LOOKS = (
    Look("a file of 10,000 lines", a_long_file, "/blame?file=long.py", "#lines [data-row]", _through_lines),
    Look("a session of 10,000 calls", long_calls, "/session?id=s1", "#tree [role=treeitem]", _through_calls),
    Look("10,000 spans as a tree", long_spans, "/graph?view=tree&session=long", DRAWN, _through_picture),
    Look("10,000 spans as lanes", long_spans, "/graph?view=lanes&session=long", DRAWN, _through_picture),
    Look("500 clusters", many_clusters, "/changes", "details.cluster", _through_clusters),
)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure every page; return 1 when a bar was missed in every try."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench pages", description="Measure the weight of the pages.")
    parser.add_argument("--tries", type=int, default=TRIES, metavar="N", help="tries per page (%(default)s)")
    parser.add_argument("--repository", type=Path, metavar="FOLDER", help="a repository with a large store")
    parser.add_argument("--page", action="append", default=[], metavar="URL", help="a page of it; can be repeated")
    args = parser.parse_args(argv)
    if args.repository is not None:
        return _measure_service(args.repository, args.page or PAGES, out, err)
    tries: int = args.tries
    script = len(load_page_assets()["app.js"].packed)
    out.write(f"script of the first page: {script:,} bytes compressed (bar {SCRIPT_BYTES_MAX:,})\n\n")
    rows, missed = [], script > SCRIPT_BYTES_MAX
    try:
        with a_browser() as browser:
            for look in LOOKS:
                found = _looked(browser, look, tries)
                missed |= max(nodes for nodes, _ in found) > NODES_MAX or min(task for _, task in found) > TASK_MS_MAX
                tasks = ", ".join(f"{task:.0f}" for _, task in found)
                rows.append((look.name, f"{max(nodes for nodes, _ in found):,}", tasks))
    except CannotBeHad as error:
        err.write(f"no page was measured: {error}\n")
        return 1
    out.write(columns(("page", "elements", "longest task after load, ms"), rows))
    return int(missed)


def _measure_service(folder: Path, pages: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Print the processor time of a service for each page; return 1 when a bar was missed."""
    missed = False
    out.write("first answer, complete, and again: seconds of the service's processor time\n")
    try:
        with a_browser() as browser, started(folder) as service:
            for page in pages:
                first, complete = _page_seconds(browser, service, page)
                _, again = _page_seconds(browser, service, page)
                missed |= first > CPU_SECONDS_MAX or again > CPU_SECONDS_MAX
                out.write(f"{first:6.2f} {complete:7.2f} {again:6.2f}  {page}\n")
                out.flush()
    except CannotBeHad as error:
        err.write(f"no page was measured: {error}\n")
        return 1
    return int(missed)


def _page_seconds(browser: Browser, service: Started, path: str) -> tuple[float, float]:
    """Return the service's processor time until its first answer to a page, and until the page is complete."""
    pid = service.process.pid
    with looking_at(browser, service) as window:
        before = processor_seconds(pid)
        response = window.page.request.get(
            f"{window.address}{path}", headers={"cookie": f"custody_token={service.token}", "accept": "text/html"}
        )
        first = processor_seconds(pid) - before
        if not response.ok:
            raise LookupError(f"{path}: {response.status}")
        window.go(path)
        window.settled().locator(".working").first.wait_for(state="detached", timeout=COMPLETE_MS_MAX)
        window.settled()
        return first, processor_seconds(pid) - before


def _looked(browser: Browser, look: Look, tries: int) -> list[tuple[int, float]]:
    with tempfile.TemporaryDirectory(prefix="custody-pages-") as folder:
        place = look.make(Path(folder) / "repository")
        with started(place) as service:
            return [_once(browser, service, look) for _ in range(tries)]


def _once(browser: Browser, service: Started, look: Look) -> tuple[int, float]:
    with looking_at(browser, service) as window:
        window.page.add_init_script(WATCH)
        page = window.go(look.path)
        page.wait_for_selector(look.complete, timeout=PATIENCE_MS)
        window.settled()
        nodes = window.nodes()
        look.act(page)
        page.wait_for_timeout(300)  # the observer is notified late
        loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        late = [task[1] for task in page.evaluate("window.tasks") if task[0] >= loaded]
        return max(nodes, window.nodes()), max(late, default=0.0)
