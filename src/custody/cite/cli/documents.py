"""``custody cite audit``."""

import sys
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

import click

from custody import __version__
from custody.cite.app.audit import audit_sarif, cite_audit, remedy_of
from custody.cite.app.report import cite_contract, cite_convert, cite_export, cite_report
from custody.cite.wire import CiteAuditReport, CiteConvertReport, CiteFile, CiteReportReport, ReportSource, TargetName
from custody.core.errors import EXIT, InputError, Outcome
from custody.terminal.frame import answer, json_option, open_workspace, printable, say

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


STDIN = "-"


@click.command("audit")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--coverage-min",
    type=click.FloatRange(0, 1),
    help="The least share of sentences with evidence that must be cited; without it, the rule cite.coverage_min.",
)
@click.option(
    "--session",
    metavar="ID",
    help="Judge every line by what this session read, not only lines that records show to be an agent's.",
)
@click.option("--sarif", is_flag=True, help="Print the findings as SARIF 2.1.0, for code hosts and editors.")
@json_option
@click.pass_context
def audit(
    ctx: click.Context,
    files: tuple[str, ...],
    *,
    coverage_min: float | None,
    session: str | None,
    sarif: bool,
    as_json: bool,
) -> int:
    """Check the citations of reports: any Markdown file, in a repository or not.

    Every finding has a code, a line and a column: a marker without source, a source that is never cited, numbers with
    gaps or out of order, one source under two numbers, a bare domain, a list that does not render, too few statements
    cited, and more; docs/cite.md has the table. What is cited is judged against the report's own list. - is what is
    piped in. Nothing is changed. Exit status: 0 nothing found, 1 something.

    Where this repository's records show which session wrote a line, that is looked at too: whether the cited page was
    opened, before the line was written, and more than a summary of it where it is quoted; whether the files, names,
    issues and dependencies exist that the line names.

    \b
    Examples:
      custody cite audit report.md
      custody cite audit docs/*.md --coverage-min 0.3
      gh pr view --json body -q .body | custody cite audit -
      custody cite audit report.md --session 5d2f0c3e
      custody cite audit report.md --sarif > citations.sarif
    """
    if sarif and as_json:
        raise InputError("--sarif and --json are two shapes of one answer", hint="give one of them")
    stdin = sys.stdin.buffer.read() if STDIN in files else b""
    report = cite_audit(open_workspace(ctx), files, stdin, coverage_min=coverage_min, session=session)
    if sarif:
        click.echo(audit_sarif(report, __version__))
        return EXIT[Outcome(report.outcome)]
    return answer(report, "\n".join(_render_audit(report)), as_json=as_json)


def _render_audit(report: CiteAuditReport) -> Iterator[str]:
    for finding in report.findings:
        yield f"{finding.file}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
    for code in dict.fromkeys(attribution_finding.code for attribution_finding in report.findings):
        yield f"{code}: {remedy_of(code)}"
    for file in report.files:
        covered = f"{file.coverage.cited} of {file.coverage.total} sentences with evidence cited"
        found = f"{file.findings} finding(s)" if file.findings else "nothing found"
        yield f"{file.file}: {found}; {file.sources} source(s), {file.markers} marker(s), {covered}"
        yield from _records(file)


def _records(file: CiteFile) -> Iterator[str]:
    """What records added, where any were looked at."""
    told = file.records
    if not told.looked:
        return
    yield f"{file.file}: {told.lines:,} line(s) judged by the records of session(s) {', '.join(told.sessions)}"
    for why in dict.fromkeys(code.why for code in told.not_looked):
        codes = ", ".join(code.code for code in told.not_looked if code.why == why)
        yield f"{file.file}: not looked at: {codes}: {why}"


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
