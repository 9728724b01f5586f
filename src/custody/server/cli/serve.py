"""``custody serve`` and ``custody report``."""

from functools import partial
from typing import TYPE_CHECKING

import click

from custody.core.errors import MissingExtra
from custody.server.app.questions import among_records, in_work_tree
from custody.server.wire.tenancy import ServeReport
from custody.terminal.frame import answer, database_option, json_option, open_workspace, say

if TYPE_CHECKING:
    from custody.server.listener import ListenAddress
from pathlib import Path

from custody.core.wire.time import text_from
from custody.server.wire.tenancy import PagesReport

PORT = 8787
PARTS = ("litestar", "uvicorn", "uvloop", "httptools", "prometheus_client")


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to answer at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port; 0 takes one that is free.",
)
@database_option
@click.option(
    "--open",
    "page",
    metavar="WHAT",
    help="Open a page, FILE, FILE:LINE, change, agent, source or session in the browser.",
)
@json_option
@click.pass_context
def serve_command(ctx: click.Context, host: str, port: int, page: str | None, *, as_json: bool) -> int:
    """Answer over HTTP, for programs and for a team.

    Without --database this repository's own store is served, to this machine only: a token is made for this start and
    printed once, with the address, on stderr: open it in a browser for the pages. Everybody else needs a token of
    'custody token create', and so does everybody with --database. /openapi.json describes what programs can ask;
    /health needs no token. SIGTERM or Ctrl-C ends it after what was begun is answered and written.

    --open takes the name of a page (overview, blame, why, changes, trust, sources, graph, sessions, state), a file, a
    line of one as FILE:LINE, a change (its branch, number or head), an agent, a source such as S3, or a session.

    \b
    Examples:
      custody serve
      custody serve --port 0 --json
      custody serve --open overview
      custody serve --open src/app.py:12
      custody serve --database postgresql://custody@db.example/custody --host 0.0.0.0
    """
    try:
        from custody.server.listener import serve
        from custody.server.pages.book import page_for
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in PARTS:
            raise
        raise MissingExtra(error.name, "server") from error

    def announce(address: "ListenAddress") -> None:
        report = ServeReport(url=address.url, host=address.host, port=address.port)
        say(f"serving at {address.at('')}")
        answer(report, "", as_json=as_json)

    workspace = open_workspace(ctx, is_service=True)
    opened = (
        None if page is None else page_for(page, partial(in_work_tree, workspace), partial(among_records, workspace))
    )
    serve(workspace, host=host, port=port, announce=announce, page=opened)
    return 0


PAGES, PAGES_MAX = 500, 100_000


@click.command("report")
@click.option(
    "--html",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder to write: new, empty, or an earlier report.",
)
@click.option(
    "--pages",
    "most",
    type=click.IntRange(10, PAGES_MAX),
    default=PAGES,
    show_default=True,
    help="How many pages at most; others are named without a link.",
)
@click.option("--texts", is_flag=True, help="What was asked in conversations, too: think of who will read it.")
@json_option
@click.pass_context
def report_command(ctx: click.Context, folder: Path, most: int, *, texts: bool, as_json: bool) -> int:
    """Write the pages of 'custody serve' as files that work without a server.

    Everything that can be reached from the first page is written, the nearest first: whose lines are, why, changes and
    their likes, agents' records, sources, the graph, sessions, health. The files need no network and send nothing
    anywhere; open index.html, or keep the folder as an artifact of a build.

    \b
    Examples:
      custody report --html report
      custody report --html report --pages 2000 --json
    """
    from custody.server.app.report_folder import write_folder
    from custody.server.pages.files import ExportSummary, report_files

    workspace, written = open_workspace(ctx), ExportSummary()
    made = text_from(workspace.now_ns())
    note = _read if texts else None
    count = write_folder(folder, report_files(workspace, most=most, made=made, note=note, written=written))
    report = PagesReport(
        folder=str(folder),
        first=str(folder / "index.html"),
        files=count,
        pages=written.pages,
        left_out=written.left_out,
        failed=written.failed,
        texts=texts,
    )
    return answer(report, _render_pages(report), as_json=as_json)


def _read(_what: str) -> None:
    """Whoever runs this on their own store reads their own conversations."""


def _render_pages(report: PagesReport) -> str:
    lines = [f"{report.pages:,} page(s) in {report.folder}: open {report.first}"]
    if report.left_out:
        lines.append(f"{report.left_out:,} page(s) left out; --pages takes more")
    lines += [f"could not be made: {text}" for text in report.failed[:10]]
    if len(report.failed) > 10:
        lines.append(f"and {len(report.failed) - 10:,} more that could not be made")
    return "\n".join(lines)
