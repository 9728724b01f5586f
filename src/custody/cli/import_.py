"""``custody import``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import (
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
    stop_progress,
)
from custody.terminal.screen import StyledText, TextLine

if TYPE_CHECKING:
    from custody.capture import TranscriptReader
    from custody.core.wire.canonical import Json
    from custody.core.wire.report import (
        ImportEventsReport,
        ImportProblem,
        ImportReport,
        ImportTracesReport,
        ImportTranscriptsReport,
        Report,
    )
    from custody.graph.wire.report import ImportOtlpReport
    from custody.intake.wire import ImportAgentsReport, ImportEntireReport, ImportGitAiReport
    from custody.workspace.workspace import Workspace


STOPPED = "what was imported so far is stored; run the same command again to continue"
DETECTION_LINES_MAX = 50
WHOLE_BYTES_MAX = 64 << 20
TRACE_FILES = ("traces.jsonl", "commit-links.jsonl")


class ImportKind(Enum):
    """What can be imported."""

    AGENT = "agent"
    TRANSCRIPTS = "transcripts"
    EVENTS = "events"
    TRACES = "traces"
    OTLP = "otlp"
    GIT_AI = "git-ai"
    ENTIRE = "entire"
    EXPORT = "export"


TOOLS = {ImportKind.GIT_AI.value: ImportKind.GIT_AI, ImportKind.ENTIRE.value: ImportKind.ENTIRE}
"""Other attribution tools, which store their claims in git references."""


def detect_import_kind(path: Path) -> tuple[ImportKind, TranscriptReader | None]:
    """Return what ``path`` names, and its transcript reader if it has one; an export unless clearly something else."""
    from custody.capture import TRANSCRIPT_READERS, is_sqlite_transcript, read_jsonl_lines
    from custody.graph.otlp.span_file import is_otlp_file

    agent_reader = TRANSCRIPT_READERS.get(str(path))
    if agent_reader is not None:
        return ImportKind.AGENT, agent_reader
    if str(path) in TOOLS:
        return TOOLS[str(path)], None
    if path.is_dir():
        return (
            (ImportKind.TRACES, None) if _has_trace_files(path) else (ImportKind.TRANSCRIPTS, _find_import_reader(path))
        )
    if not path.is_file():
        return ImportKind.EXPORT, None  # a pipe, which can be read only once, or no file
    if is_sqlite_transcript(path):
        reader = next((reader for reader in TRANSCRIPT_READERS.values() if _can_read_import_file(path, reader)), None)
        return (ImportKind.EXPORT, None) if reader is None else (ImportKind.TRANSCRIPTS, reader)
    try:
        lines = [line.data for line in islice(read_jsonl_lines(path), DETECTION_LINES_MAX)]
    except OSError:
        return ImportKind.EXPORT, None  # importing it reports the reason
    if any(_is_event_import(line) for line in lines):
        return ImportKind.EVENTS, None
    if any(_is_trace_import(line) for line in lines) or _is_trace_document_import(path):
        return ImportKind.TRACES, None
    if is_otlp_file(path):
        return ImportKind.OTLP, None
    reader = next((r for r in TRANSCRIPT_READERS.values() if any(r.knows(line) for line in lines)), None)
    return (ImportKind.EXPORT, None) if reader is None else (ImportKind.TRANSCRIPTS, reader)


def _find_import_reader(folder: Path) -> TranscriptReader:
    """Return the reader of the first file that one of them knows; if there is none, any reader reports that."""
    from custody.capture import TRANSCRIPT_READERS

    for reader in TRANSCRIPT_READERS.values():
        if any(_can_read_import_file(file, reader) for file in reader.files(folder)):
            return reader
    return next(iter(TRANSCRIPT_READERS.values()))


def _can_read_import_file(file: Path, reader: TranscriptReader) -> bool:
    from custody.capture import read_transcript_lines

    try:
        return any(reader.knows(line.data) for line in islice(read_transcript_lines(reader, file), DETECTION_LINES_MAX))
    except OSError:
        return False  # reported when it is read


def _has_trace_files(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TRACE_FILES)


def _is_event_import(data: bytes) -> bool:
    value = _parse_import_object(data)
    return "custody" in value and "kind" in value and "line" not in value


def _is_trace_import(data: bytes) -> bool:
    value = _parse_import_object(data)
    is_trace = isinstance(value.get("files"), list) and bool({"id", "trace_id", "vcs", "tool"} & value.keys())
    return is_trace or ("commit_sha" in value and "trace_ids" in value)


def _is_trace_document_import(path: Path) -> bool:
    """Return whether the file is one trace or a list of traces, written over several lines."""
    from custody.core.wire.canonical import parse_json_bytes

    if path.suffix != ".json" or path.stat().st_size > WHOLE_BYTES_MAX:
        return False
    data = path.read_bytes()
    try:
        value = parse_json_bytes(data)
    except InputError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("files"), list)


def _parse_import_object(data: bytes) -> dict[str, Json]:
    from custody.core.wire.canonical import parse_json_bytes

    try:
        value = parse_json_bytes(data)
    except InputError:
        return {}  # reported when the file is read
    return value if isinstance(value, dict) else {}


SUMMARY_LINES_MAX = 3
REFS_SHOWN_MAX = 3
OTLP = "otlp"


class ImportSummary(Struct, frozen=True, kw_only=True):
    """An import for people: its ``outcome``, what it ``skipped``, and the ``details`` that only ``-v`` shows.

    Without ``-v`` that is at most three lines; only an export that does not verify lists every reason.
    """

    outcome: str
    skipped: Sequence[str] = ()
    rest: Sequence[str] = ()
    details: Sequence[str] = ()


@click.command("import")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--transcripts",
    type=click.Path(path_type=Path),
    help="Read the agent's transcripts from this folder, at any depth, instead of its own.",
)
@click.option("--ref", metavar="REF", help="Read this reference instead of the usual ones (with git-ai, entire).")
@click.option("--texts", is_flag=True, help="Also store prompts and responses of spans, up to 1,000 characters each.")
@click.option("-v", "--verbose", is_flag=True, help="List every problem and skipped edit.")
@json_option
@click.pass_context
def import_command(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    *,
    transcripts: Path | None,
    ref: str | None,
    as_json: bool,
    **flags: bool,
) -> int:
    """Import sessions, exports, events, traces or spans.

    Without PATH, import the sessions of every agent for this repository, and the notes of git-ai and checkpoints of
    Entire that it has. With the name of an agent ('aider', 'claude-code', 'cline', 'codex', 'copilot', 'cursor',
    'gemini', 'opencode', 'roo-code'), import its sessions. PATH can also be:

    \b
      a transcript, or a folder of transcripts
      a file written by 'custody export'
      a file of generic events
      traces of another tool (Agent Trace, '.agent-trace')
      OpenTelemetry spans (OTLP as JSON or protobuf): 'otlp FILE...' for several
      'git-ai' or 'entire': that tool's notes or checkpoints, here or in the
      repository named next

    An export is verified first; if a chain fails, nothing is imported. Other files are imported as far as they can be
    read; -v lists the problems. Secrets are removed before anything is written. Importing twice changes nothing.
    Exit status: 0 imported, 1 refused.

    \b
    Examples:
      custody import
      custody import claude-code --transcripts ~/old-machine/projects
      custody import evidence.jsonl
      custody import otlp traces-*.jsonl
      custody import git-ai
    """
    from custody.attribution.app.context import replay_captured_edits
    from custody.intake.cli.status import list_tool_commands
    from custody.intake.install.repository_status import find_tools_to_import

    workspace = open_command_workspace(ctx)
    if ref is not None and not (paths and str(paths[0]) in TOOLS):
        raise InputError("--ref works only with git-ai and entire", hint="custody import git-ai --ref refs/notes/ai")
    try:
        report, summary = _run_import(workspace, paths, transcripts, ref, texts=flags["texts"])
        replay_captured_edits(workspace)
    except KeyboardInterrupt:
        stop_progress(ctx)
        print_terminal_notice(STOPPED)
        raise
    lines = [*_render_import(summary, verbose=flags["verbose"])]
    if not paths and transcripts is None and not as_json:
        commands = list_tool_commands(find_tools_to_import(workspace))
        lines += [StyledText(f"hint: {command}", "muted") for command in commands]
    return print_command_report(report, lines, as_json=as_json)


def _run_import(
    workspace: Workspace, paths: tuple[Path, ...], transcripts: Path | None, ref: str | None, *, texts: bool
) -> tuple[Report, ImportSummary]:
    if not paths and transcripts is None and not texts:
        from custody.intake.import_found import import_found_evidence

        report = import_found_evidence(workspace)
        return report, _summarize_found_import(report)
    if paths and str(paths[0]) in TOOLS:
        if texts or transcripts is not None or len(paths) > 2:
            raise InputError(
                f"'{paths[0]}' takes only a repository and --ref", hint=f"custody import {paths[0]} ../other"
            )
        return _import_claims(workspace, paths, ref)
    return _import_path(workspace, paths, transcripts, texts=texts)


def _import_path(
    workspace: Workspace, paths: tuple[Path, ...], transcripts: Path | None, *, texts: bool
) -> tuple[Report, ImportSummary]:
    """Import what a path names, or the sessions of an agent."""
    from custody.graph.otlp.import_ import import_otlp
    from custody.intake.import_events import import_event_file
    from custody.intake.import_traces import import_traces
    from custody.intake.import_transcripts import import_transcripts
    from custody.share.export import import_chain_export

    files = paths[1:] if paths and str(paths[0]) == OTLP else ()
    path = _require_single_import_path(paths) if not files else files[0]
    kind, reader = (ImportKind.OTLP, None) if files else detect_import_kind(path)
    if texts and kind is not ImportKind.OTLP:
        raise InputError("--texts works only with OpenTelemetry spans", hint="custody import otlp FILE --texts")
    if transcripts is not None and kind is not ImportKind.AGENT:
        raise InputError(
            "--transcripts works only with the name of an agent", hint="custody import claude-code --transcripts DIR"
        )
    if kind is ImportKind.EXPORT:
        report = import_chain_export(workspace, path)
        return report, _summarize_export_import(report)
    if kind is ImportKind.EVENTS:
        events = import_event_file(workspace, path)
        return events, _summarize_event_import(events)
    if kind is ImportKind.TRACES:
        traces = import_traces(workspace, path)
        return traces, _summarize_trace_import(traces)
    if kind is ImportKind.OTLP:
        spans = import_otlp(workspace, files or (path,), texts=texts)
        return spans, _summarize_span_import(spans)
    assert reader is not None, "transcripts come with their reader"
    sessions = import_transcripts(workspace, reader, transcripts if kind is ImportKind.AGENT else path)
    if kind is ImportKind.TRANSCRIPTS and not sessions.files:
        # An agent without sessions is a result; a folder without transcripts was probably the wrong one.
        raise InputError(f"no transcripts in '{path}'", hint="pass a transcript, or a folder that contains transcripts")
    return sessions, _summarize_transcript_imports([sessions])


def _import_claims(workspace: Workspace, paths: tuple[Path, ...], ref: str | None) -> tuple[Report, ImportSummary]:
    """Import the claims of another attribution tool."""
    place = paths[1] if len(paths) > 1 else None
    if TOOLS[str(paths[0])] is ImportKind.GIT_AI:
        from custody.intake.import_git_ai import import_git_ai_notes

        notes = import_git_ai_notes(workspace, place, ref)
        return notes, _summarize_note_import(notes)
    from custody.intake.import_entire import import_entire_checkpoints

    checkpoints = import_entire_checkpoints(workspace, place, ref)
    return checkpoints, _summarize_checkpoint_import(checkpoints)


def _render_import(summary: ImportSummary, *, verbose: bool) -> Iterator[TextLine]:
    yield from summary.outcome.split("\n")
    if summary.skipped:
        yield "; ".join(summary.skipped) + ("" if verbose else " (-v lists them)")
    yield from summary.rest
    if verbose:
        yield from summary.details


def _summarize_note_import(report: ImportGitAiReport) -> ImportSummary:
    problems = _count_problems(report.problem_count)
    details = _list_problems(report.problems, report.problem_count)
    if not report.notes:
        return ImportSummary(outcome=f"No git-ai notes found in '{report.place}'", skipped=problems, details=details)
    exceptions = (
        (report.gone, "on commits that are not in this repository"),
        (report.silent, "without lines of an agent"),
        (report.unreadable, "unreadable"),
    )
    rest = "".join(f", {count:,} {what}" for count, what in exceptions if count)
    undescribed = count_noun(report.undescribed, "line range")
    sessions = _summarize_transcript_imports(report.transcripts)
    return ImportSummary(
        outcome=(
            f"Imported {count_noun(report.notes, 'note')} about {count_noun(report.lines, 'line')} of"
            f" {count_noun(report.sessions, 'session')} ({_format_record_counts(report.new, report.known)}){rest}"
        ),
        skipped=problems,
        rest=[
            *([f"{undescribed} without a description of the session"] if report.undescribed else []),
            *([f"From their conversations: {sessions.outcome}"] if report.transcripts else []),
        ],
        details=[*details, *sessions.details],
    )


def _format_record_counts(new: int, known: int) -> str:
    return f"{count_noun(new, 'record')}{f', {known:,} already imported' * bool(known)}"


def _summarize_checkpoint_import(report: ImportEntireReport) -> ImportSummary:
    sessions = _summarize_transcript_imports(report.transcripts)
    skipped = _count_skipped(report.transcripts, report.problem_count)
    details = [*sessions.details, *_list_problems(report.problems, report.problem_count)]
    if not report.checkpoints:
        return ImportSummary(
            outcome=f"No Entire checkpoints found in '{report.place}'", skipped=skipped, details=details
        )
    records = _format_record_counts(
        sum(transcript.new for transcript in report.transcripts),
        sum(transcript.known for transcript in report.transcripts),
    )
    without = f", {report.without:,} without a readable transcript" if report.without else ""
    known = f", {report.known_links:,} already imported" if report.known_links else ""
    links = f"{count_noun(report.links, 'new link')}{known}"
    return ImportSummary(
        outcome=(
            f"Imported {count_noun(report.checkpoints, 'checkpoint')} of"
            f" {count_noun(report.sessions, 'session')} ({records}){without}"
        ),
        skipped=skipped,
        rest=[f"Linked {count_noun(report.commits, 'commit')} to checkpoints ({links})"],
        details=details,
    )


def _require_single_import_path(paths: tuple[Path, ...]) -> Path:
    if paths == (Path(OTLP),) and not paths[0].exists():
        raise InputError("no file to import", hint="custody import otlp FILE...")
    if len(paths) > 1:
        raise InputError("more than one path", hint="only spans can be in several files: custody import otlp FILE...")
    if not paths:
        raise InputError("--transcripts and --texts need a PATH", hint="custody import claude-code --transcripts DIR")
    return paths[0]


def _summarize_agent_import(report: ImportAgentsReport) -> ImportSummary:
    sessions = _summarize_transcript_imports(report.agents)
    unreadable = ", ".join(map(_agent_title, report.trouble))
    without = ", ".join(map(_agent_title, report.without))
    missing = f"No sessions found for {without}"
    trouble = [f"cannot read the sessions of {_agent_title(name)}: {why}" for name, why in report.trouble.items()]
    return ImportSummary(
        outcome=sessions.outcome if report.agents or not without else missing,
        skipped=[*sessions.skipped, *([f"cannot read the sessions of {unreadable}"] if unreadable else [])],
        rest=[missing] if without and report.agents else [],
        details=[*sessions.details, *trouble],
    )


def _summarize_found_import(report: ImportAgentsReport) -> ImportSummary:
    """Summarize the imports of agents' sessions and of other tools' references, one outcome each."""
    parts = [
        *([_summarize_agent_import(report)] if report.agents or not (report.notes or report.checkpoints) else []),
        *([_summarize_note_import(report.notes)] if report.notes else []),
        *([_summarize_checkpoint_import(report.checkpoints)] if report.checkpoints else []),
    ]
    refs = [*(report.notes.refs if report.notes else ()), *(report.checkpoints.refs if report.checkpoints else ())]
    found = [f"Found {', '.join(refs[:REFS_SHOWN_MAX])}{' and more' * (len(refs) > REFS_SHOWN_MAX)}"] if refs else []
    return ImportSummary(
        outcome="\n".join([*found, *(part.outcome for part in parts)]),
        skipped=[what for part in parts for what in part.skipped],
        rest=[what for part in parts for what in part.rest],
        details=[what for part in parts for what in part.details],
    )


def _agent_title(agent: str) -> str:
    from custody.core.agent_titles import get_agent_title

    return get_agent_title(agent)


def _summarize_export_import(report: ImportReport) -> ImportSummary:
    if report.findings:
        lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
        return ImportSummary(
            outcome="\n".join((*lines, f"FAILED: '{report.path}' does not verify, nothing was imported"))
        )
    chains = [
        f"chain {chain.store}: {count_noun(chain.new, 'new record')}, {chain.known:,} known"
        + (f", {chain.forked:,} FORKED" * bool(chain.forked))
        for chain in report.chains
    ]
    count = count_noun(report.pending, "pending event")
    pending = [f"Imported {count} into this store's own chain"] if report.pending else []
    if len(chains) + len(pending) <= SUMMARY_LINES_MAX:
        return ImportSummary(outcome="\n".join((*chains, *pending)) or "The export has no records")
    new, known, forked = (sum(getattr(chain, field) for chain in report.chains) for field in ("new", "known", "forked"))
    forks = f", {forked:,} FORKED" if forked else ""
    return ImportSummary(
        outcome=f"{count_noun(len(chains), 'chain')}: {count_noun(new, 'new record')}, {known:,} known{forks}",
        rest=pending,
        details=chains,
    )


def _summarize_event_import(report: ImportEventsReport) -> ImportSummary:
    return ImportSummary(
        outcome=f"Imported {_format_event_counts(report)} from {count_noun(report.lines, 'line')}",
        skipped=_count_problems(report.problem_count),
        details=_list_problems(report.problems, report.problem_count),
    )


def _format_event_counts(report: ImportEventsReport) -> str:
    known = f" ({report.known:,} already imported)" if report.known else ""
    return f"{count_noun(report.new, 'event')}{known}"


def _summarize_trace_import(report: ImportTracesReport) -> ImportSummary:
    known = f" ({report.known:,} already imported)" if report.known else ""
    return ImportSummary(
        outcome=f"Imported {count_noun(report.traces, 'trace')} and {count_noun(report.links, 'commit link')}{known}",
        skipped=_count_problems(report.problem_count),
        details=_list_problems(report.problems, report.problem_count),
    )


def _summarize_span_import(report: ImportOtlpReport) -> ImportSummary:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds.items())
    skipped = []
    if report.attributes_left_out:
        count = count_noun(report.attributes_left_out, "attribute")
        skipped.append(f"skipped {count}: texts (--texts stores them), or over the limit")
    if report.unfollowed:
        skipped.append(f"parents not checked for {count_noun(report.unfollowed, 'span')}: too many")
    repairs = _count_problems(sum(repair.count for repair in report.repairs))
    return ImportSummary(
        outcome=(
            f"Imported {count_noun(report.spans, 'span')}: {report.new:,} new, {report.known:,} already imported"
            f"{f' ({kinds})' * bool(kinds)}"
        ),
        skipped=repairs,
        rest=["; ".join(skipped)] if skipped else [],
        details=list(_list_span_repairs(report)),
    )


def _list_span_repairs(report: ImportOtlpReport) -> Iterator[str]:
    for repair in report.repairs:
        yield f"{repair.code} ({repair.count:,}): {repair.what}"
        for place in repair.places:
            yield f"  {place.file}{f':{place.line}' if place.line else ''}: {place.what}"


def _summarize_transcript_imports(reports: Sequence[ImportTranscriptsReport]) -> ImportSummary:
    """Summarize the imports of one or more agents in one outcome."""
    if len(reports) == 1 and not reports[0].files:
        where = f"for this repository in '{reports[0].place}'"
        return ImportSummary(outcome=f"No sessions of {_agent_title(reports[0].agent)} found {where}")
    repeated = sum(report.repeated for report in reports)
    records = _format_record_counts(sum(report.new for report in reports), sum(report.known for report in reports))
    return ImportSummary(
        outcome=(
            f"Imported {count_noun(sum(report.sessions for report in reports), 'session')} from"
            f" {count_noun(sum(report.files for report in reports), 'file')}"
            f" ({records}{f', {repeated:,} repeated' * bool(repeated)})"
        ),
        skipped=_count_skipped(reports),
        details=[line for report in reports for line in _list_transcript_details(report)],
    )


def _count_skipped(reports: Sequence[ImportTranscriptsReport], other_problems: int = 0) -> list[str]:
    from custody.intake.import_transcripts import is_outside_repository_problem

    edits = sum(report.edits_without_file for report in reports)
    lines = sum(count for report in reports for count in report.unknown_types.values())
    outside = sum(map(is_outside_repository_problem, (problem for report in reports for problem in report.problems)))
    skipped = [f"{count_noun(edits, 'edit')} outside this repository"] if edits else []
    if lines:
        skipped.append(f"{count_noun(lines, 'line')} of unknown types")
    problems = _count_problems(sum(report.problem_count for report in reports) - outside + other_problems)
    return [*([f"skipped {', '.join(skipped)}"] if skipped else []), *problems]


def _list_transcript_details(report: ImportTranscriptsReport) -> Iterator[str]:
    unattached = f" ({report.subagents_unattached:,} without a known parent)" if report.subagents_unattached else ""
    yield (
        f"{_agent_title(report.agent)}: {count_noun(report.sessions, 'session')},"
        f" {_format_record_counts(report.new, report.known)}, {count_noun(report.calls, 'tool call')},"
        f" {count_noun(report.edits, 'edit')}, {count_noun(report.subagents, 'subagent')}{unattached}"
    )
    for kind, count in report.unknown_types.items():
        yield f"unknown type '{kind}': {count_noun(count, 'line')}"
    yield from _list_problems(report.problems, report.problem_count)


def _count_problems(count: int) -> list[str]:
    return [count_noun(count, "problem")] if count else []


def _list_problems(problems: Sequence[ImportProblem], count: int) -> list[str]:
    lines = [
        f"{problem.file}:{problem.line}: {problem.what}" if problem.line else f"{problem.file}: {problem.what}"
        for problem in problems
    ]
    more = count - len(problems)
    return [*lines, f"and {count_noun(more, 'more problem')}"] if more > 0 else lines
