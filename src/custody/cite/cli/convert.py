"""``custody cite convert`` and ``custody cite export``."""

import sys

import click

from custody.cite.app.convert import cite_convert, cite_export
from custody.cite.wire.audit import CiteConvertReport, TargetName
from custody.core.errors import InputError
from custody.terminal.frame import answer, json_option, open_workspace, say

STDIN = "-"
SHOWN_MAX = 10


@click.command("convert")
@click.argument("file")
@click.option(
    "--to",
    type=click.Choice(("footnotes", "sources", "markers")),
    required=True,
    help="[^1] with footnotes, [1] with a numbered list, or [S1] with a list by id.",
)
@click.option("-o", "--output", metavar="OUTPUT", help="Write to OUTPUT, whole or not at all, instead of stdout.")
@click.option("-i", "--in-place", is_flag=True, help="Write over the file itself.")
@json_option
@click.pass_context
def convert(ctx: click.Context, file: str, *, to: TargetName, output: str | None, in_place: bool, as_json: bool) -> int:
    """Rewrite the markers of a report and its list of sources.

    Every common form of marker is understood. Sources are numbered by first use; without any marker the list is headed
    References. Not one byte changes outside markers and the list: not in code, links, HTML or math. Converting twice is
    converting once. A footnote that leads back to itself is refused. A marker without source is left and named on
    stderr. - is what is piped in.

    \b
    Examples:
      custody cite convert report.md --to footnotes -o saved.md
      custody cite convert report.md --to sources --in-place
      custody cite convert - --to markers < report.md
    """
    if as_json and output is None and not in_place:
        raise InputError("--json prints a report, so the text needs a file", hint="add --output FILE or --in-place")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report, text = cite_convert(open_workspace(ctx), file, to, stdin, output=output, in_place=in_place)
    if output is None and not in_place:
        sys.stdout.buffer.write(text)
        _tell_left(report)
        return 0
    if not as_json:
        _tell_left(report)
    return answer(report, _render_conversion(report), as_json=as_json)


@click.command("export")
@click.argument("file")
@click.option("--csl", is_flag=True, required=True, help="As CSL-JSON, which reference managers read.")
@click.option("-o", "--output", metavar="OUTPUT", help="Write to OUTPUT, whole or not at all, instead of stdout.")
@click.pass_context
def export(ctx: click.Context, file: str, *, csl: bool, output: str | None) -> int:
    """Write the sources that a report lists for other programs.

    \b
    Examples:
      custody cite export report.md --csl
      custody cite export report.md --csl -o sources.json
    """
    if not csl:
        raise InputError("no shape was named for the export", hint="add --csl")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    made = cite_export(open_workspace(ctx), file, stdin, output=output)
    if output is None or output == "-":
        sys.stdout.buffer.write(made)
    return 0


def _render_conversion(report: CiteConvertReport) -> str:
    if not report.written:
        return f"'{report.file}' is as it was: there was nothing to change"
    return f"wrote '{report.path}' with {report.sources} source(s), {report.changes} place(s) changed"


def _tell_left(report: CiteConvertReport) -> None:
    for marker in report.left[:SHOWN_MAX]:
        say(
            f"{report.file}:{marker.line}:{marker.column}: {marker.marker} is not listed among the sources and was left"
        )
    if len(report.left) > SHOWN_MAX:
        say(f"… and {len(report.left) - SHOWN_MAX} more")
