"""``custody report``."""

from pathlib import Path

import click

from custody.core.wire.time import text_from
from custody.server.wire.pages import PagesReport
from custody.terminal.frame import answer, json_option, open_workspace

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
