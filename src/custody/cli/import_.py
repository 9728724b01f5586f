"""``custody import``."""

from pathlib import Path

import click

from custody.cli.import_kind import TOOLS, ImportKind, what_is
from custody.core.errors import InputError
from custody.core.wire.report import (
    ImportAgentsReport,
    ImportEventsReport,
    ImportProblem,
    ImportReport,
    ImportTracesReport,
    ImportTranscriptsReport,
)
from custody.graph.otlp.import_ import import_otlp
from custody.graph.otlp.report import ImportOtlpReport
from custody.intake.import_agents import import_agents
from custody.intake.import_events import import_events
from custody.intake.import_traces import import_traces
from custody.intake.import_transcripts import import_transcripts
from custody.intake.wire.claims import ImportEntireReport, ImportGitAiReport
from custody.share.import_ import import_export
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.workspace import Workspace

SHOWN_MAX = 20
OTLP = "otlp"
PLACES_SHOWN = 3


@click.command("import")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--transcripts",
    type=click.Path(path_type=Path),
    help="Where to look for the agent's transcripts instead of its own folder; at any depth.",
)
@click.option("--ref", metavar="REF", help="The reference to read instead of the usual ones (with git-ai, entire).")
@click.option("--texts", is_flag=True, help="Keep of spans also prompts and answers, up to 1,000 characters each.")
@json_option
@click.pass_context
def import_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    *,
    transcripts: Path | None,
    ref: str | None,
    texts: bool,
    as_json: bool,
) -> int:
    """Bring in what agents left on disk, an export, events, traces or spans.

    Without PATH: the sessions that every agent keeps of this repository's work trees. With the name of one
    ('claude-code', 'codex', 'copilot', 'cursor', 'gemini', 'opencode'): its sessions. Else PATH is a transcript or a
    folder of them, a file that 'custody export' wrote, a file of generic events, traces of another tool (Agent Trace,
    '.agent-trace'), or OpenTelemetry's spans (OTLP as JSON or protobuf; several files after the word 'otlp').

    'git-ai' reads the notes of that tool, 'entire' the checkpoints of that one: from this repository's references, or
    from those of the repository that is named after the word.

    An export is checked first; a chain that does not verify is named and nothing is imported. Of everything else what
    can be read is used, and the rest is named. Secrets are taken out before anything is written. Importing twice
    changes nothing. Exit status: 0 imported, 1 refused.

    \b
    Examples:
      custody import
      custody import claude-code --transcripts ~/old-machine/projects
      custody import evidence.jsonl
      custody import otlp traces-*.jsonl
      custody import git-ai
    """
    workspace = open_workspace(ctx)
    if ref is not None and not (paths and str(paths[0]) in TOOLS):
        raise InputError("--ref goes with git-ai and entire", hint="custody import git-ai --ref refs/notes/ai")
    if not paths and transcripts is None and not texts:
        found = import_agents(workspace)
        return answer(found, _render_agent_import(found), as_json=as_json)
    if paths and str(paths[0]) in TOOLS:
        return _claims(workspace, paths, transcripts or None, ref, texts=texts, as_json=as_json)
    return _dispatch_import(workspace, paths, transcripts, texts=texts, as_json=as_json)


def _dispatch_import(
    workspace: Workspace, paths: tuple[Path, ...], transcripts: Path | None, *, texts: bool, as_json: bool
) -> int:
    """What is named by a path, or the sessions of the agent that is named."""
    files = paths[1:] if paths and str(paths[0]) == OTLP else ()
    path = _one_path(paths) if not files else files[0]
    what, reader = (ImportKind.OTLP, None) if files else what_is(path)
    if texts and what is not ImportKind.OTLP:
        raise InputError("--texts goes with OpenTelemetry's spans", hint="custody import otlp FILE --texts")
    if transcripts is not None and what is not ImportKind.AGENT:
        raise InputError(
            "--transcripts goes with the name of an agent", hint="custody import claude-code --transcripts DIR"
        )
    if what is ImportKind.EXPORT:
        report = import_export(workspace, path)
        return answer(report, _render_export_import(report), as_json=as_json)
    if what is ImportKind.EVENTS:
        events = import_events(workspace, path)
        return answer(events, _render_event_import(events), as_json=as_json)
    if what is ImportKind.TRACES:
        traces = import_traces(workspace, path)
        return answer(traces, _render_trace_import(traces), as_json=as_json)
    if what is ImportKind.OTLP:
        spans = import_otlp(workspace, files or (path,), texts=texts)
        return answer(spans, _render_span_import(spans), as_json=as_json)
    assert reader is not None, "transcripts come with their reader"
    read = import_transcripts(workspace, reader, transcripts if what is ImportKind.AGENT else path)
    if what is ImportKind.TRANSCRIPTS and not read.files:
        # An agent that left nothing is an answer; a folder that holds nothing to import was probably the wrong one.
        raise InputError(f"'{path}' holds no transcripts", hint="name a transcript, or a folder that holds some")
    return answer(read, _render_transcript_import(read), as_json=as_json)


def _claims(
    workspace: Workspace,
    paths: tuple[Path, ...],
    transcripts: Path | None,
    ref: str | None,
    *,
    texts: bool,
    as_json: bool,
) -> int:
    """What another attribution tool claims."""
    if texts or transcripts is not None or len(paths) > 2:
        raise InputError(
            f"'{paths[0]}' takes a repository and --ref, nothing else", hint=f"custody import {paths[0]} ../other"
        )
    place = paths[1] if len(paths) > 1 else None
    if TOOLS[str(paths[0])] is ImportKind.GIT_AI:
        from custody.intake.import_git_ai import import_gitai

        notes = import_gitai(workspace, place, ref)
        return answer(notes, _render_note_import(notes), as_json=as_json)
    from custody.intake.import_entire import import_entire

    checkpoints = import_entire(workspace, place, ref)
    return answer(checkpoints, _render_checkpoint_import(checkpoints), as_json=as_json)


def _render_note_import(report: ImportGitAiReport) -> str:
    lines = _render_problems(report.problems, report.problem_count)
    if not report.notes:
        return "\n".join((*lines, f"no notes of git-ai in '{report.place}'"))
    apart = (
        (report.gone, "on commits that are not here"),
        (report.silent, "without a line of an agent"),
        (report.unreadable, "that cannot be read"),
    )
    rest = "".join(f", {count:,} {what}" for count, what in apart if count)
    lines.append(f"{report.notes:,} note(s){rest}")
    if report.undescribed:
        lines.append(f"{report.undescribed:,} stretch(es) of lines are given to sessions that no note describes")
    lines.append(
        f"{report.lines:,} line(s) of {report.sessions:,} session(s) are claimed:"
        f" {report.new:,} new record(s), {report.known:,} known"
    )
    return "\n".join(lines)


def _render_checkpoint_import(report: ImportEntireReport) -> str:
    lines = _render_problems(report.problems, report.problem_count)
    if not report.checkpoints:
        return "\n".join((*lines, f"no checkpoints of Entire in '{report.place}'"))
    lines.extend(
        words
        for transcript in report.transcripts
        for words in (f"{transcript.agent}:", _render_transcript_import(transcript))
    )
    without = f", {report.without:,} without a transcript that can be read" if report.without else ""
    lines.append(f"{report.checkpoints:,} checkpoint(s) of {report.sessions:,} session(s){without}")
    lines.append(
        f"{report.commits:,} commit(s) name a checkpoint: {report.links:,} new link(s), {report.known_links:,} known"
    )
    return "\n".join(lines)


def _one_path(paths: tuple[Path, ...]) -> Path:
    if paths == (Path(OTLP),) and not paths[0].exists():
        raise InputError("no file to import", hint="custody import otlp FILE...")
    if len(paths) > 1:
        raise InputError("one path at a time", hint="only spans come in several files: custody import otlp FILE...")
    if not paths:
        raise InputError("--transcripts and --texts need a PATH", hint="custody import claude-code --transcripts DIR")
    return paths[0]


def _render_agent_import(report: ImportAgentsReport) -> str:
    lines = [line for agent in report.agents for line in (f"{agent.agent}:", _render_transcript_import(agent))]
    lines += [f"{agent} could not be looked at: {why}" for agent, why in report.trouble.items()]
    if report.without:
        lines.append(f"nothing of this repository from {', '.join(report.without)}")
    return "\n".join(lines)


def _render_export_import(report: ImportReport) -> str:
    if report.findings:
        lines = [f"{finding.code}  {finding.what}" for finding in report.findings]
        return "\n".join((*lines, f"refused '{report.path}': it does not verify, and nothing was imported"))
    lines = [
        f"chain {chain.store}: {chain.new:,} new, {chain.known:,} known"
        + (f", {chain.forked:,} FORKED" * bool(chain.forked))
        for chain in report.chains
    ]
    if report.pending:
        lines.append(f"{report.pending:,} pending event(s) taken into this store's own chain")
    return "\n".join(lines or ["the export holds no records"])


def _render_event_import(report: ImportEventsReport) -> str:
    summary = f"{report.lines:,} line(s): {report.new:,} new, {report.known:,} known"
    return "\n".join((*_render_problems(report.problems, report.problem_count), summary))


def _render_trace_import(report: ImportTracesReport) -> str:
    summary = f"{report.traces:,} trace(s), {report.links:,} commit link(s): {report.known:,} known already"
    return "\n".join((*_render_problems(report.problems, report.problem_count), summary))


def _render_span_import(report: ImportOtlpReport) -> str:
    lines = []
    for mended in report.repairs:
        lines.append(f"{mended.code} ({mended.count:,}): {mended.what}")
        lines.extend(
            f"  {place.file}{f':{place.line}' if place.line else ''}: {place.what}"
            for place in mended.places[:PLACES_SHOWN]
        )
    if report.unfollowed:
        lines.append(f"{report.unfollowed:,} span(s) name parents of which nobody looked whether they came: too many")
    if report.attributes_left_out:
        lines.append(f"{report.attributes_left_out:,} attribute(s) left out: texts (--texts keeps them), or too much")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds.items())
    lines.append(f"{report.spans:,} span(s): {report.new:,} new, {report.known:,} known{f' ({kinds})' * bool(kinds)}")
    return "\n".join(lines)


def _render_transcript_import(report: ImportTranscriptsReport) -> str:
    if not report.files:
        return f"no transcripts of {report.agent} for this repository in '{report.place}'"
    lines = _render_problems(report.problems, report.problem_count)
    if report.unknown_types:
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in report.unknown_types.items())
        lines.append(f"passed over lines of unknown types: {kinds}")
    lines.append(
        f"{report.files:,} file(s), {report.lines:,} line(s): {report.new:,} new record(s), {report.known:,} known,"
        f" {report.repeated:,} repeated"
    )
    lines.append(
        f"{report.sessions:,} session(s), {report.calls:,} call(s), {report.edits:,} edit(s)"
        f" ({report.edits_without_file:,} outside this repository), {report.subagents:,} subagent(s)"
        f" ({report.subagents_unattached:,} of unknown parents)"
    )
    return "\n".join(lines)


def _render_problems(problems: list[ImportProblem], count: int) -> list[str]:
    places = (
        f"{problem.file}:{problem.line}: {problem.what}" if problem.line else f"{problem.file}: {problem.what}"
        for problem in problems[:SHOWN_MAX]
    )
    lines = list(places)
    if count > SHOWN_MAX:
        lines.append(f"and {count - SHOWN_MAX:,} more problem(s): --json names up to {len(problems):,}")
    return lines
