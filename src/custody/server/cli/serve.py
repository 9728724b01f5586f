"""``custody serve``."""

from functools import partial
from typing import TYPE_CHECKING

import click

from custody.core.errors import MissingExtra
from custody.server.app.name_lookup import among_records, in_work_tree
from custody.server.wire.serve import ServeReport
from custody.terminal.frame import answer, database_option, json_option, open_workspace, say

if TYPE_CHECKING:
    from custody.server.listener import ListenAddress

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
        from custody.server.pages.page_lookup import page_for
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
