"""``custody cite audit``."""

import sys
from collections.abc import Iterator

import click

from custody import __version__
from custody.cite.app.audit import audit_sarif, cite_audit, remedy_of
from custody.cite.wire.audit import CiteAuditReport, CiteFile
from custody.core.errors import EXIT, InputError, Outcome
from custody.terminal.frame import answer, json_option, open_workspace

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
