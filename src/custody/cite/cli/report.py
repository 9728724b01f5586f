"""``custody cite report`` and ``custody cite contract``."""

import sys
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

import click

from custody.cite.app.report import cite_contract, cite_report
from custody.cite.wire.writing import CiteReportReport, ReportSource
from custody.core.errors import EXIT, InputError, Outcome
from custody.terminal.frame import answer, json_option, open_workspace, printable, say

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

STDIN = "-"
SHOWN_CHARACTERS_MAX = 4 * 1024 * 1024
"""A longer text is not laid out for a terminal."""
TITLE_SIGNS_MAX = 80


@click.command("report")
@click.argument("file")
@json_option
@click.pass_context
def report(ctx: click.Context, file: str, *, as_json: bool) -> int:
    """Show a report with a table of its sources beneath.

    The text is laid out for the terminal; nothing in it can move the cursor or change a colour. The table has the
    marker, the id, the title and the address of every source. If the report was saved by a report writer, its metrics
    are told too. - is what is piped in. Exit status: 1 if it is known that the report did not pass its audit, else 0.

    \b
    Examples:
      custody cite report saved.md
      custody cite report saved.md --json | jq .quality_metrics
    """
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    found, body = cite_report(open_workspace(ctx), file, stdin)
    if found.beside == "of another text":
        say(f"what is kept beside '{file}' is of another text: the report was changed since, its metrics are not shown")
    if as_json:
        return answer(found, "", as_json=True)
    if len(body) > SHOWN_CHARACTERS_MAX:
        raise InputError(
            f"'{file}' is too long to be laid out: more than {SHOWN_CHARACTERS_MAX:,} characters",
            hint="'--json' has all of it",
        )
    click.echo(_laid_out(body, found), nl=False)
    return EXIT[Outcome(found.outcome)]


@click.command("contract")
@click.argument("ids", nargs=-1, metavar="[ID…]")
@click.option("--context", is_flag=True, help="Print what those who gather are told instead: tag findings with ids.")
@json_option
@click.pass_context
def contract(ctx: click.Context, ids: tuple[str, ...], *, context: bool, as_json: bool) -> int:
    """Print the citation contract, for the instructions of any agent.

    It has a row for every source of this store's registry, or for the given ids, the rules of citing, and a checklist.
    The same sources give the same text.

    \b
    Examples:
      custody cite contract S1 S4 > contract.txt
      custody cite contract --context
    """
    made = cite_contract(open_workspace(ctx), ids, context=context)
    return answer(made, made.text.rstrip("\n"), as_json=as_json)


def _laid_out(body: str, found: CiteReportReport) -> str:
    """The report, its sources and its metrics, as wide as the terminal; plain where there is none."""
    from rich.console import Console
    from rich.markdown import Markdown

    out, terminal = StringIO(), sys.stdout.isatty()
    console = Console(file=out, force_terminal=terminal, width=Console().width)
    # Both before and after: what is written as an entity is a control sign only once it is laid out.
    console.print(_EscapedText(Markdown(printable(body.expandtabs(4)), hyperlinks=False)))
    console.print()
    console.print(_EscapedText(_table(found.sources)) if found.sources else "no source is listed")
    for line in _metrics(found):
        console.print(printable(line), markup=False, highlight=False)
    return out.getvalue() if terminal else "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _table(sources: list[ReportSource]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("marker", "id", "title", "URL"):
        table.add_column(name, overflow="fold", no_wrap=name in ("marker", "id"))
    for source in sources:
        title = source.title if len(source.title) <= TITLE_SIGNS_MAX else f"{source.title[: TITLE_SIGNS_MAX - 1]}…"
        cells = (source.marker or "-", source.id or "-", title or "-", source.url or "-")
        table.add_row(*(Text(printable(" ".join(cell.split()))) for cell in cells))
    return table


def _metrics(found: CiteReportReport) -> Iterator[str]:
    if found.quality_metrics is None:
        return
    told = ", ".join(f"{name} {value:g}" for name, value in sorted(found.quality_metrics.items()))
    yield f"audit: {'passed' if found.passed else 'NOT passed'}; {told}"
    for finding in found.findings:
        yield f"{finding.line}:{finding.column}: {finding.code} {finding.message}"


class _EscapedText:
    """What is laid out, with every sign that a terminal would obey shown as an escape."""

    def __init__(self, inner: "RenderableType") -> None:
        self._inner = inner

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.segment import Segment

        for segment in console.render(self._inner, options):
            if not segment.control:
                yield Segment(printable(segment.text), segment.style)
