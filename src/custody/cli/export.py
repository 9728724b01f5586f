"""``custody export``."""

import sys
from pathlib import Path
from typing import Any

import click

from custody.attribution.app.export import export_agent_trace
from custody.core.errors import InputError
from custody.core.wire.report import ExportReport
from custody.graph.otlp.export import SpanExportRequest, export_otlp, export_otlp_to
from custody.intake.wire import ExportGitAiReport
from custody.share.export import export, export_to
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.workspace import Workspace

OTLP, GIT_AI = "otlp", "git-ai"
NAMED_MAX, SHORT = 5, 12
"""So many commits with another's note are named in words, by so many digits; all are in the report."""
NOTES_REF = "refs/notes/custody"
"""Where notes go that are asked for without a name: git-ai's own reference only if somebody names it."""


@click.command("export")
@click.argument("what", required=False, type=click.Choice([OTLP, GIT_AI]))
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all, instead of stdout.")
@click.option(
    "--agent-trace", metavar="FILE", help="Write Agent Trace 0.1.0 records to FILE instead, for other tools to read."
)
@click.option(
    "--notes",
    metavar="REF",
    is_flag=False,
    flag_value=NOTES_REF,
    help="Write notes of git into REF, refs/notes/custody if none is named, instead of a folder (with git-ai).",
)
@click.option("--session", metavar="ID", help="Only the spans of this session (with otlp).")
@click.option("--execution", metavar="ID", help="Only the spans of this execution (with otlp).")
@click.option("--all", "everything", is_flag=True, help="The spans of everything, which is what otlp means anyway.")
@click.option("--protobuf", is_flag=True, help="Spans as protobuf instead of JSON (with otlp).")
@json_option
@click.pass_context
def export_command(
    ctx: click.Context,
    /,
    *,
    output: str | None,
    agent_trace: str | None,
    notes: str | None,
    as_json: bool,
    **spans: Any,
) -> int:
    """Write everything that is kept as JSON lines, or spans for other tools.

    Chains go out verbatim: importing the file elsewhere and exporting again gives the same bytes. Erased texts stay
    erased; acknowledged events that no chain holds yet are marked pending. With --json a report on the export is
    printed, so the export itself needs --output. Agent Trace records say which lines each call wrote, without any text.

    'otlp' writes OpenTelemetry's spans instead: those that were recorded or imported, and captured sessions told as
    spans. 'custody import otlp' reads them back as the same spans.

    'git-ai' writes which lines of which commit agents wrote as notes of git-ai (authorship 3.0.0): into the folder
    --output, a file for each commit, or with --notes into a reference of this repository, where notes of others stay.

    \b
    Examples:
      custody export -o evidence.jsonl
      custody export --agent-trace traces.jsonl
      custody export otlp --session 5d2f0c3e -o session.json
      custody export git-ai -o notes
      custody export | zstd > evidence.jsonl.zst
    """
    workspace = open_workspace(ctx)
    what = spans.pop("what")
    if what == GIT_AI:
        return _git_ai(workspace, output, agent_trace, notes, has_spans=any(spans.values()), as_json=as_json)
    if notes is not None:
        raise InputError("--notes goes with git-ai", hint="custody export git-ai --notes")
    if what == OTLP:
        return _otlp(workspace, output, agent_trace, _make_span_request(**spans), as_json=as_json)
    if any(spans.values()):
        raise InputError("--session, --execution, --all and --protobuf go with otlp", hint="custody export otlp ...")
    if agent_trace is not None:
        if output is not None:
            raise InputError("--agent-trace and --output are two exports", hint="give one of them")
        traces = export_agent_trace(workspace, Path(agent_trace))
        left = f"; {traces.left_out:,} edit(s) left out, of which no lines are known" if traces.left_out else ""
        return answer(traces, f"wrote {traces.records:,} trace(s) to '{traces.path}'{left}", as_json=as_json)
    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        export(workspace, sys.stdout.buffer, "-")
        return 0
    report = export_to(workspace, Path(output))
    return answer(report, _render_export(report), as_json=as_json)


def _git_ai(
    workspace: Workspace,
    folder: str | None,
    agent_trace: str | None,
    ref: str | None,
    *,
    has_spans: bool,
    as_json: bool,
) -> int:
    if agent_trace is not None or has_spans:
        raise InputError("git-ai takes --output or --notes, nothing else", hint="custody export git-ai -o FOLDER")
    if (folder is None) == (ref is None) or folder == "-":
        raise InputError("notes need a place", hint="custody export git-ai -o FOLDER, or --notes REF")
    from custody.attribution.app.export import export_gitai, export_gitai_notes

    report = export_gitai_notes(workspace, ref) if ref is not None else export_gitai(workspace, Path(str(folder)))
    return answer(report, _render_note_export(report), as_json=as_json)


def _render_note_export(report: ExportGitAiReport) -> str:
    apart = (
        (report.unchanged, "unchanged"),
        (report.kept, f"not written because another tool's note is there ({_named(report)})"),
        (report.left_out, "file(s) left out, whose names cannot stand in a note"),
    )
    rest = "".join(f"; {count:,} {what}" for count, what in apart if count)
    what = f"{report.commits:,} note(s) on {report.lines:,} line(s) of {report.sessions:,} session(s)"
    return f"wrote {what} to '{report.ref or report.path}'{rest}"


def _named(report: ExportGitAiReport) -> str:
    """The commits whose notes stay, the first of them."""
    named = ", ".join(commit[:SHORT] for commit in report.kept_on[:NAMED_MAX])
    return f"{named}, ..." if report.kept > NAMED_MAX else named


def _make_span_request(
    *, session: str | None, execution: str | None, everything: bool, protobuf: bool
) -> SpanExportRequest:
    if (session is not None) + (execution is not None) + everything > 1:
        raise InputError("--session, --execution and --all name different spans", hint="give one of them")
    return SpanExportRequest(session, execution, protobuf)


def _otlp(
    workspace: Workspace, output: str | None, agent_trace: str | None, wanted: SpanExportRequest, *, as_json: bool
) -> int:
    if agent_trace is not None:
        raise InputError("--agent-trace and otlp are two exports", hint="give one of them")
    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        export_otlp(workspace, sys.stdout.buffer, "-", wanted)
        return 0
    report = export_otlp_to(workspace, Path(output), wanted)
    open_ended = f", {report.without_end:,} without an end" if report.without_end else ""
    what = f"{report.spans:,} span(s) of {report.executions:,} execution(s){open_ended}"
    return answer(report, f"wrote {what} to '{report.path}' ({report.bytes:,} bytes)", as_json=as_json)


def _render_export(report: ExportReport) -> str:
    extra = "".join(
        f", {count:,} {name}"
        for count, name in ((report.erased, "erased"), (report.forks, "forked"), (report.pending, "pending"))
        if count
    )
    what = f"{report.records:,} records of {report.chains} chain(s){extra}"
    return f"wrote {what} to '{report.path}' ({report.bytes:,} bytes)"
