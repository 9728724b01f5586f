"""``custody export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun, noun_for_count
from custody.terminal.frame import json_option, open_command_workspace, print_command_report

if TYPE_CHECKING:
    from custody.core.wire.report import ExportReport
    from custody.graph.otlp.export import SpanExportRequest
    from custody.intake.wire import ExportGitAiReport
    from custody.workspace.workspace import Workspace


OTLP, GIT_AI = "otlp", "git-ai"
NAMED_MAX, SHORT = 5, 12
"""Commits shown that have another tool's note, and digits of each; the report has all."""
NOTES_REF = "refs/notes/custody"
"""The default for ``--notes``. git-ai's own reference must be named."""


@click.command("export")
@click.argument("what", required=False, type=click.Choice([OTLP, GIT_AI]))
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, atomically, instead of stdout.")
@click.option(
    "--verdict", type=click.File("rb"), metavar="FILE", help="Export only what this verdict of the gate rests on."
)
@click.option("--agent-trace", metavar="FILE", help="Write Agent Trace 0.1.0 records to FILE instead.")
@click.option(
    "--notes",
    metavar="REF",
    is_flag=False,
    flag_value=NOTES_REF,
    help="Write git notes to REF (default: refs/notes/custody) instead of a folder (with git-ai).",
)
@click.option("--session", metavar="ID", help="Export only the spans of this session (with otlp).")
@click.option("--execution", metavar="ID", help="Export only the spans of this execution (with otlp).")
@click.option("--all", "everything", is_flag=True, help="Export all spans (with otlp; the default).")
@click.option("--protobuf", is_flag=True, help="Write spans as protobuf instead of JSON (with otlp).")
@json_option
@click.pass_context
def export_command(
    ctx: click.Context,
    /,
    *,
    output: str | None,
    verdict: BinaryIO | None,
    agent_trace: str | None,
    notes: str | None,
    as_json: bool,
    **spans: Any,
) -> int:
    """Export records for another store or another tool.

    Writes every chain as JSON Lines. Importing the file elsewhere and exporting again gives the same bytes. Erased
    texts stay erased, and events that are not in a chain yet are marked pending. --json prints a report, so it needs
    --output for the export. --agent-trace writes which lines each call wrote, without texts. --verdict writes a bundle:
    only the records behind a verdict, for 'custody verify --bundle' in a clone without records.

    'otlp' writes OpenTelemetry spans: recorded and imported spans, and sessions as spans. 'custody import otlp' reads
    them back as the same spans.

    'git-ai' writes which lines of each commit agents wrote, as git-ai notes (authorship 3.0.0). They go to the folder
    --output, one file per commit, or with --notes to a git reference. Notes of other tools there are not changed.

    \b
    Examples:
      custody export -o evidence.jsonl
      custody export --verdict verdict.json -o verdict.bundle
      custody export --agent-trace traces.jsonl
      custody export otlp --session 5d2f0c3e -o session.json
      custody export git-ai -o notes
      custody export | zstd > evidence.jsonl.zst
    """
    from custody.attribution.app.export import export_agent_trace

    workspace = open_command_workspace(ctx)
    what = spans.pop("what")
    if verdict is not None:
        if what or notes or agent_trace or any(spans.values()):
            raise InputError("--verdict takes only --output and --json", hint="custody export --verdict FILE -o BUNDLE")
        return _run_bundle_export(workspace, verdict, output, as_json=as_json)
    if what == GIT_AI:
        return _run_git_ai_export(workspace, output, agent_trace, notes, has_spans=any(spans.values()), as_json=as_json)
    if notes is not None:
        raise InputError("--notes works only with git-ai", hint="custody export git-ai --notes")
    if what == OTLP:
        return _run_otlp_export(workspace, output, agent_trace, _make_span_export_request(**spans), as_json=as_json)
    if any(spans.values()):
        raise InputError(
            "--session, --execution, --all and --protobuf work only with otlp", hint="custody export otlp ..."
        )
    if agent_trace is not None:
        if output is not None:
            raise InputError("--agent-trace and --output are mutually exclusive", hint="pass one of them")
        traces = export_agent_trace(workspace, Path(agent_trace))
        skipped = f"; skipped {count_noun(traces.left_out, 'edit')} without known lines" if traces.left_out else ""
        return print_command_report(
            traces, f"wrote {count_noun(traces.records, 'trace')} to '{traces.path}'{skipped}", as_json=as_json
        )
    return _run_chain_export(workspace, output, as_json=as_json)


def _run_chain_export(workspace: Workspace, output: str | None, *, as_json: bool) -> int:
    from custody.share.export import export_chains, export_chains_to_file

    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        export_chains(workspace, sys.stdout.buffer, "-")
        return 0
    report = export_chains_to_file(workspace, Path(output))
    return print_command_report(report, _render_export_report(report), as_json=as_json)


def _run_bundle_export(workspace: Workspace, file: BinaryIO, output: str | None, *, as_json: bool) -> int:
    # Imported late: they load the whole gate.
    from custody.gate.wire.report import VERDICT_BYTES_MAX, decode_verdict
    from custody.share.bundle import write_verdict_bundle
    from custody.workspace.machine import open_atomic_file

    verdict = decode_verdict(file.read(VERDICT_BYTES_MAX + 1)).report
    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        write_verdict_bundle(workspace, verdict, sys.stdout.buffer, "-")
        return 0
    with open_atomic_file(Path(output)) as out:
        report = write_verdict_bundle(workspace, verdict, out, output)
    return print_command_report(report, _render_export_report(report), as_json=as_json)


def _run_git_ai_export(
    workspace: Workspace,
    folder: str | None,
    agent_trace: str | None,
    ref: str | None,
    *,
    has_spans: bool,
    as_json: bool,
) -> int:
    if agent_trace is not None or has_spans:
        raise InputError("git-ai takes only --output or --notes", hint="custody export git-ai -o FOLDER")
    if (folder is None) == (ref is None) or folder == "-":
        raise InputError("git-ai needs --output or --notes", hint="custody export git-ai -o FOLDER, or --notes REF")
    from custody.attribution.app.export import export_gitai, export_gitai_notes

    report = export_gitai_notes(workspace, ref) if ref is not None else export_gitai(workspace, Path(str(folder)))
    return print_command_report(report, _render_note_export(report), as_json=as_json)


def _render_note_export(report: ExportGitAiReport) -> str:
    exceptions = (
        (report.unchanged, "unchanged"),
        (report.kept, f"skipped, because another tool's note exists ({_format_skipped_note_commits(report)})"),
        (report.left_out, f"{noun_for_count(report.left_out, 'file')} skipped, because a note cannot hold the name"),
    )
    rest = "".join(f"; {count:,} {what}" for count, what in exceptions if count)
    what = (
        f"{count_noun(report.commits, 'note')} about {count_noun(report.lines, 'line')} of"
        f" {count_noun(report.sessions, 'session')}"
    )
    return f"wrote {what} to '{report.ref or report.path}'{rest}"


def _format_skipped_note_commits(report: ExportGitAiReport) -> str:
    """Return the first commits that have another tool's note."""
    commits = ", ".join(commit[:SHORT] for commit in report.kept_on[:NAMED_MAX])
    return f"{commits}, ..." if report.kept > NAMED_MAX else commits


def _make_span_export_request(
    *, session: str | None, execution: str | None, everything: bool, protobuf: bool
) -> SpanExportRequest:
    from custody.graph.otlp.export import SpanExportRequest

    if (session is not None) + (execution is not None) + everything > 1:
        raise InputError("--session, --execution and --all are mutually exclusive", hint="pass one of them")
    return SpanExportRequest(session, execution, protobuf)


def _run_otlp_export(
    workspace: Workspace, output: str | None, agent_trace: str | None, request: SpanExportRequest, *, as_json: bool
) -> int:
    from custody.graph.otlp.export import export_otlp, export_otlp_to_file

    if agent_trace is not None:
        raise InputError("--agent-trace and otlp are mutually exclusive", hint="pass one of them")
    if output is None or output == "-":
        if as_json:
            raise InputError("--json prints a report, so the export needs a file", hint="add --output FILE")
        export_otlp(workspace, sys.stdout.buffer, "-", request)
        return 0
    report = export_otlp_to_file(workspace, Path(output), request)
    open_ended = f", {report.without_end:,} without an end" if report.without_end else ""
    what = f"{count_noun(report.spans, 'span')} of {count_noun(report.executions, 'execution')}{open_ended}"
    return print_command_report(report, f"wrote {what} to '{report.path}' ({report.bytes:,} bytes)", as_json=as_json)


def _render_export_report(report: ExportReport) -> str:
    extra = "".join(
        f", {count:,} {name}"
        for count, name in ((report.erased, "erased"), (report.forks, "forked"), (report.pending, "pending"))
        if count
    )
    what = f"{count_noun(report.records, 'record')} of {count_noun(report.chains, 'chain')}{extra}"
    return f"wrote {what} to '{report.path}' ({report.bytes:,} bytes)"
