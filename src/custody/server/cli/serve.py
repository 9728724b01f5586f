"""``custody serve`` and ``custody report``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from custody.terminal.frame import (
    database_option,
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
)

if TYPE_CHECKING:
    from custody.server.listener import ListenAddress
    from custody.server.wire.tenancy import PagesReport
from pathlib import Path

from custody.core.plural import count_noun

PORT = 8787


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Host name or IP address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0 for a free port.",
)
@database_option
@click.option("--public-url", metavar="URL", help="URL that browsers use, such as https://custody.example.")
@click.option(
    "--trusted-proxy",
    "proxies",
    metavar="ADDRESS",
    multiple=True,
    help="IP address or network of a proxy whose X-Forwarded-Proto is used; repeatable.",
)
@click.option(
    "--open",
    "page",
    metavar="WHAT",
    help="Open a page, FILE, FILE:LINE, change, agent, source or session in the browser.",
)
@json_option
@click.pass_context
def serve_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    host: str,
    port: int,
    public_url: str | None,
    proxies: tuple[str, ...],
    page: str | None,
    *,
    as_json: bool,
) -> int:
    """Serve the pages and the HTTP API.

    Without --database it serves the store of this repository. On a loopback address it prints a URL with a token on
    stderr, which is valid until the server stops: open it in a browser. On other addresses, and with --database,
    callers need a token from 'custody token create'. /openapi.json describes the API; /health needs no token.
    SIGTERM or Ctrl-C stops the server after it has finished open requests.

    Behind a proxy with TLS, pass --public-url or --trusted-proxy: cookies are then marked Secure. While the database
    of --database is down, requests are answered with 503.

    --open takes the name of a page (overview, blame, why, changes, trust, sources, graph, sessions, state), a file, a
    line as FILE:LINE, a change (branch, number or head), an agent, a source such as S3, or a session.

    \b
    Examples:
      custody serve
      custody serve --port 0 --json
      custody serve --open overview
      custody serve --open src/app.py:12
      custody serve --database postgresql://db.example/custody --host 0.0.0.0
      custody serve --public-url https://custody.example
    """
    from custody.server.app.questions import find_page_file, find_record_page
    from custody.server.auth import TlsSettings
    from custody.server.listener import serve
    from custody.server.pages.book import resolve_page_url
    from custody.server.wire.tenancy import ServeReport

    def announce(address: ListenAddress) -> None:
        report = ServeReport(url=address.url, host=address.host, port=address.port)
        print_terminal_notice(f"serving at {address.make_page_url('')}")
        print_command_report(report, "", as_json=as_json)

    workspace = open_command_workspace(ctx, is_service=True)
    page_url = (
        None
        if page is None
        else resolve_page_url(page, partial(find_page_file, workspace), partial(find_record_page, workspace))
    )
    tls = TlsSettings.of(public_url, proxies)
    serve(workspace, host=host, port=port, announce=announce, page=page_url, tls=tls)
    return 0


PAGES, PAGES_MAX = 500, 100_000


@click.command("report")
@click.option(
    "--html",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write: new, empty, or an earlier report.",
)
@click.option(
    "--pages",
    "most",
    type=click.IntRange(10, PAGES_MAX),
    default=PAGES,
    show_default=True,
    help="Maximum number of pages; others are shown without a link.",
)
@click.option("--texts", is_flag=True, help="Include prompts. Check who will read the report.")
@json_option
@click.pass_context
def report_command(ctx: click.Context, folder: Path, most: int, *, texts: bool, as_json: bool) -> int:
    """Write the pages of 'custody serve' as static files.

    It writes every page that links lead to from the overview, the nearest first: blame, why, changes, trust, sources,
    the graph, sessions, health. The files need no network; open index.html, or store the folder as a build artifact.

    \b
    Examples:
      custody report --html report
      custody report --html report --pages 2000 --json
    """
    from custody.core.wire.time import format_timestamp
    from custody.server.app.report_folder import write_html_report
    from custody.server.pages.files import ExportSummary, export_page_files
    from custody.server.wire.tenancy import PagesReport

    workspace, summary = open_command_workspace(ctx), ExportSummary()
    made = format_timestamp(workspace.now_ns())
    note = _ignore_page_text_read if texts else None
    count = write_html_report(folder, export_page_files(workspace, most=most, made=made, note=note, summary=summary))
    report = PagesReport(
        folder=str(folder),
        first=str(folder / "index.html"),
        files=count,
        pages=summary.pages,
        left_out=summary.left_out,
        failed=summary.failed,
        texts=texts,
    )
    return print_command_report(report, _render_html_pages(report), as_json=as_json)


def _ignore_page_text_read(_what: str) -> None:
    """Log nothing: users of their own store read their own conversations."""


def _render_html_pages(report: PagesReport) -> str:
    lines = [f"Wrote {count_noun(report.pages, 'page')} to {report.folder}: open {report.first}"]
    if report.left_out:
        lines.append(f"Left out {count_noun(report.left_out, 'page')}; --pages raises the maximum")
    lines += [f"Failed: {text}" for text in report.failed[:10]]
    if len(report.failed) > 10:
        lines.append(f"and {len(report.failed) - 10:,} more failed")
    return "\n".join(lines)
