"""``custody cite audit``, ``convert``, ``export``, ``report`` and ``contract``: commands for one or more reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

import click

from custody import __version__
from custody.core.errors import EXIT, InputError, Outcome
from custody.core.plural import count_noun, noun_for_count
from custody.terminal.frame import (
    escape_terminal_text,
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from custody.cite.wire import (
        CiteAuditReport,
        CiteConvertReport,
        CiteFile,
        CiteReportReport,
        ReportSource,
        TargetName,
    )


STDIN = "-"


@click.command("audit")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--coverage-min",
    type=click.FloatRange(0, 1),
    help="Minimum share of sentences with evidence that must be cited; default: the rule cite.coverage_min.",
)
@click.option(
    "--session",
    metavar="ID",
    help="Check every line against what this session read, not only the lines recorded as written by an agent.",
)
@click.option("--sarif", is_flag=True, help="Print the findings as SARIF 2.1.0, for code hosts and editors.")
@json_option
@click.pass_context
def audit_documents_command(
    ctx: click.Context,
    files: tuple[str, ...],
    *,
    coverage_min: float | None,
    session: str | None,
    sarif: bool,
    as_json: bool,
) -> int:
    """Check the citations of Markdown files, in a repository or not.

    Every finding has a code, a line and a column: a marker without a source, a source that is never cited, numbers with
    gaps or out of order, a duplicate source, a bare domain, a list that does not render, too few cited statements, and
    more (table in docs/cite.md). Citations are checked against the report's own list. - reads stdin. No file changes.
    Exit status: 0 nothing found, 1 findings.

    Lines that the records of this repository assign to a session are also checked against what it did: whether it
    opened the cited page, before it wrote the line, and more than a summary if the line quotes it; and whether the
    files, names, issues and dependencies in the line exist.

    \b
    Examples:
      custody cite audit report.md
      custody cite audit docs/*.md --coverage-min 0.3
      gh pr view --json body -q .body | custody cite audit -
      custody cite audit report.md --session 5d2f0c3e
      custody cite audit report.md --sarif > citations.sarif
    """
    from custody.cite.app.audit import cite_audit, encode_citation_sarif

    if sarif and as_json:
        raise InputError("--sarif and --json are mutually exclusive", hint="pass one of them")
    stdin = sys.stdin.buffer.read() if STDIN in files else b""
    report = cite_audit(open_command_workspace(ctx), files, stdin, coverage_min=coverage_min, session=session)
    if sarif:
        click.echo(encode_citation_sarif(report, __version__))
        return EXIT[Outcome(report.outcome)]
    return print_command_report(report, "\n".join(_render_audit(report)), as_json=as_json)


def _render_audit(report: CiteAuditReport) -> Iterator[str]:
    from custody.cite.app.audit import REMEDIES

    for finding in report.findings:
        yield f"{finding.file}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
    for code in dict.fromkeys(finding.code for finding in report.findings):
        yield f"{code}: {REMEDIES[code]}"
    for file in report.files:
        findings = count_noun(file.findings, "finding") if file.findings else "OK"
        sources, markers = count_noun(file.sources, "source"), count_noun(file.markers, "marker")
        covered = f"{file.coverage.cited} of {file.coverage.total} sentences with evidence cited"
        yield f"{file.file}: {findings}; {sources}, {markers}, {covered}"
        yield from _render_record_checks(file)


def _render_record_checks(file: CiteFile) -> Iterator[str]:
    """Yield what was checked against records and what was skipped; nothing if no records were used."""
    records = file.records
    if not records.looked:
        return
    lines, session = count_noun(records.lines, "line"), noun_for_count(len(records.sessions), "session")
    yield f"{file.file}: checked {lines} against the records of {session} {', '.join(records.sessions)}"
    for why in dict.fromkeys(code.why for code in records.not_looked):
        codes = ", ".join(code.code for code in records.not_looked if code.why == why)
        yield f"{file.file}: skipped {codes}: {why}"


SHOWN_MAX = 10


@click.command("convert")
@click.argument("file")
@click.option(
    "--to",
    type=click.Choice(("footnotes", "sources", "markers")),
    required=True,
    help="[^1] with footnotes, [1] with a numbered list, or [S1] with a list by id.",
)
@click.option("-o", "--output", metavar="OUTPUT", help="Write to OUTPUT instead of stdout, atomically.")
@click.option("-i", "--in-place", is_flag=True, help="Overwrite the file.")
@json_option
@click.pass_context
def convert_citations_command(
    ctx: click.Context, file: str, *, to: TargetName, output: str | None, in_place: bool, as_json: bool
) -> int:
    """Convert the markers and the source list of a report.

    Understands every common form of marker. Sources are numbered by first use; if no marker is used, the heading of the
    list is References. Only markers and the list change, never code, links, HTML or math. A second conversion changes
    nothing. A footnote that refers to itself is an error. A marker without a source stays and is reported on stderr.
    - reads stdin.

    \b
    Examples:
      custody cite convert report.md --to footnotes -o saved.md
      custody cite convert report.md --to sources --in-place
      custody cite convert - --to markers < report.md
    """
    from custody.cite.app.report import cite_convert

    if as_json and output is None and not in_place:
        raise InputError("--json needs a file for the converted text", hint="add --output FILE or --in-place")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report, text = cite_convert(open_command_workspace(ctx), file, to, stdin, output=output, in_place=in_place)
    if output is None and not in_place:
        sys.stdout.buffer.write(text)
        _print_unchanged_markers(report)
        return 0
    if not as_json:
        _print_unchanged_markers(report)
    return print_command_report(report, _render_conversion(report), as_json=as_json)


@click.command("export")
@click.argument("file")
@click.option("--csl", is_flag=True, required=True, help="Write CSL-JSON, the format of reference managers.")
@click.option("-o", "--output", metavar="OUTPUT", help="Write to OUTPUT instead of stdout, atomically.")
@click.pass_context
def export_sources_command(ctx: click.Context, file: str, *, csl: bool, output: str | None) -> int:
    """Export the sources of a report for other programs.

    \b
    Examples:
      custody cite export report.md --csl
      custody cite export report.md --csl -o sources.json
    """
    from custody.cite.app.report import cite_export

    if not csl:
        raise InputError("missing export format", hint="add --csl")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    exported = cite_export(open_command_workspace(ctx), file, stdin, output=output)
    if output is None or output == "-":
        sys.stdout.buffer.write(exported)
    return 0


def _render_conversion(report: CiteConvertReport) -> str:
    if not report.written:
        return f"'{report.file}' is unchanged"
    sources, changes = count_noun(report.sources, "source"), count_noun(report.changes, "change")
    return f"wrote '{report.path}': {sources}, {changes}"


def _print_unchanged_markers(report: CiteConvertReport) -> None:
    for marker in report.left[:SHOWN_MAX]:
        print_terminal_notice(
            f"{report.file}:{marker.line}:{marker.column}: {marker.marker} is not in the source list; left unchanged"
        )
    if len(report.left) > SHOWN_MAX:
        print_terminal_notice(f"… and {len(report.left) - SHOWN_MAX} more")


SHOWN_CHARACTERS_MAX = 4 * 1024 * 1024
"""Maximum length of a report that is rendered on a terminal."""
TITLE_CHARACTERS_MAX = 80


@click.command("report")
@click.argument("file")
@json_option
@click.pass_context
def render_cited_report_command(ctx: click.Context, file: str, *, as_json: bool) -> int:
    """Show a report and a table of its sources.

    The text is rendered for the terminal; control sequences in it are escaped. The table has the marker, the id, the
    title and the URL of every source. Metrics are shown if a report writer saved them. - reads stdin. Exit status: 1 if
    the report is known to have failed its audit, else 0.

    \b
    Examples:
      custody cite report saved.md
      custody cite report saved.md --json | jq .quality_metrics
    """
    from custody.cite.app.report import cite_report

    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    cited, body = cite_report(open_command_workspace(ctx), file, stdin)
    if cited.beside == "of another text":
        print_terminal_notice(f"'{file}' was changed after its metrics were saved; the metrics are not shown")
    if as_json:
        return print_command_report(cited, "", as_json=True)
    if len(body) > SHOWN_CHARACTERS_MAX:
        raise InputError(
            f"'{file}' is too long to render: more than {SHOWN_CHARACTERS_MAX:,} characters", hint="use --json"
        )
    click.echo(_render_cited_report(body, cited), nl=False)
    return EXIT[Outcome(cited.outcome)]


@click.command("contract")
@click.argument("ids", nargs=-1, metavar="[ID…]")
@click.option("--context", is_flag=True, help="Print the instructions for agents that gather findings instead.")
@json_option
@click.pass_context
def render_citation_contract_command(ctx: click.Context, ids: tuple[str, ...], *, context: bool, as_json: bool) -> int:
    """Print the citation contract for an agent's instructions.

    It has a row for every source of this store's registry (or for each ID), the citation rules and a checklist. The
    same sources give the same text.

    \b
    Examples:
      custody cite contract S1 S4 > contract.txt
      custody cite contract --context
    """
    from custody.cite.app.report import cite_contract

    answer = cite_contract(open_command_workspace(ctx), ids, context=context)
    return print_command_report(answer, answer.text.rstrip("\n"), as_json=as_json)


def _render_cited_report(body: str, cited: CiteReportReport) -> str:
    """Return the report, its sources and its metrics at the terminal's width; plain text without a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    out, terminal = StringIO(), sys.stdout.isatty()
    console = Console(file=out, force_terminal=terminal, width=Console().width)
    # Escape before and after rendering: an HTML entity becomes a control character only when rendered.
    console.print(_EscapedText(Markdown(escape_terminal_text(body.expandtabs(4)), hyperlinks=False)))
    console.print()
    console.print(_EscapedText(_render_source_table(cited.sources)) if cited.sources else "no sources listed")
    for line in _render_citation_metrics(cited):
        console.print(escape_terminal_text(line), markup=False, highlight=False)
    return out.getvalue() if terminal else "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _render_source_table(sources: list[ReportSource]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("marker", "id", "title", "URL"):
        table.add_column(name, overflow="fold", no_wrap=name in ("marker", "id"))
    for source in sources:
        title = (
            source.title
            if len(source.title) <= TITLE_CHARACTERS_MAX
            else f"{source.title[: TITLE_CHARACTERS_MAX - 1]}…"
        )
        cells = (source.marker or "-", source.id or "-", title or "-", source.url or "-")
        table.add_row(*(Text(escape_terminal_text(" ".join(cell.split()))) for cell in cells))
    return table


def _render_citation_metrics(cited: CiteReportReport) -> Iterator[str]:
    if cited.quality_metrics is None:
        return
    metrics = ", ".join(f"{name} {round(value, 2):g}" for name, value in sorted(cited.quality_metrics.items()))
    yield f"audit: {'passed' if cited.passed else 'FAILED'}; {metrics}"
    for finding in cited.findings:
        yield f"{finding.line}:{finding.column}: {finding.code} {finding.message}"


class _EscapedText:
    """A renderable with its control characters shown as escapes."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        for segment in console.render(self._inner, options):
            if not segment.control:
                yield Segment(escape_terminal_text(segment.text), segment.style)
