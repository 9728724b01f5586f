"""``custody import``."""

from enum import Enum
from itertools import islice
from pathlib import Path

import click

from custody.capture import TRANSCRIPT_READERS, TranscriptReader, is_database, lines_for, lines_of
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse
from custody.core.wire.report import (
    ImportAgentsReport,
    ImportEventsReport,
    ImportProblem,
    ImportReport,
    ImportTracesReport,
    ImportTranscriptsReport,
)
from custody.graph.otlp.import_ import import_otlp
from custody.graph.otlp.span_file import is_otlp_file
from custody.graph.wire.report import ImportOtlpReport
from custody.intake.import_events import import_events
from custody.intake.import_traces import import_traces
from custody.intake.import_transcripts import import_agents, import_transcripts
from custody.intake.wire import ImportEntireReport, ImportGitAiReport
from custody.share.export import import_export
from custody.terminal.frame import answer, json_option, open_workspace
from custody.workspace.workspace import Workspace

# What it is that somebody asks to import: told by its name or by its first lines.


LINES_LOOKED_AT = 50
WHOLE_BYTES_MAX = 64 << 20
TRACE_FILES = ("traces.jsonl", "commit-links.jsonl")


class ImportKind(Enum):
    """The kinds of things that can be imported."""

    AGENT = "agent"
    TRANSCRIPTS = "transcripts"
    EVENTS = "events"
    TRACES = "traces"
    OTLP = "otlp"
    GIT_AI = "git-ai"
    ENTIRE = "entire"
    EXPORT = "export"


TOOLS = {ImportKind.GIT_AI.value: ImportKind.GIT_AI, ImportKind.ENTIRE.value: ImportKind.ENTIRE}
"""Other attribution tools, whose claims are in references of git."""


def what_is(path: Path) -> tuple[ImportKind, TranscriptReader | None]:
    """What ``path`` names, and the reader if there is one for it; an export unless it is clearly something else."""
    named = TRANSCRIPT_READERS.get(str(path))
    if named is not None:
        return ImportKind.AGENT, named
    if str(path) in TOOLS:
        return TOOLS[str(path)], None
    if path.is_dir():
        return (ImportKind.TRACES, None) if _has_traces(path) else (ImportKind.TRANSCRIPTS, _reader_below(path))
    if not path.is_file():
        return ImportKind.EXPORT, None  # a pipe, which can be read only once, or nothing at all
    if is_database(path):
        known = next((reader for reader in TRANSCRIPT_READERS.values() if _first_lines(path, reader)), None)
        return (ImportKind.EXPORT, None) if known is None else (ImportKind.TRANSCRIPTS, known)
    try:
        lines = [line.data for line in islice(lines_of(path), LINES_LOOKED_AT)]
    except OSError:
        return ImportKind.EXPORT, None  # said there, with the reason
    if any(_is_event(line) for line in lines):
        return ImportKind.EVENTS, None
    if any(_is_trace(line) for line in lines) or _is_whole_trace(path):
        return ImportKind.TRACES, None
    if is_otlp_file(path):
        return ImportKind.OTLP, None
    reader = next((r for r in TRANSCRIPT_READERS.values() if any(r.knows(line) for line in lines)), None)
    return (ImportKind.EXPORT, None) if reader is None else (ImportKind.TRANSCRIPTS, reader)


def _reader_below(folder: Path) -> TranscriptReader:
    """The reader of the first file that one of them knows; where there is none, any will say so."""
    for reader in TRANSCRIPT_READERS.values():
        if any(_first_lines(file, reader) for file in reader.files(folder)):
            return reader
    return next(iter(TRANSCRIPT_READERS.values()))


def _first_lines(file: Path, reader: TranscriptReader) -> bool:
    try:
        return any(reader.knows(line.data) for line in islice(lines_for(reader, file), LINES_LOOKED_AT))
    except OSError:
        return False  # named when it is read


def _has_traces(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TRACE_FILES)


def _is_event(data: bytes) -> bool:
    value = _object(data)
    return "custody" in value and "kind" in value and "line" not in value


def _is_trace(data: bytes) -> bool:
    value = _object(data)
    is_trace = isinstance(value.get("files"), list) and bool({"id", "trace_id", "vcs", "tool"} & value.keys())
    return is_trace or ("commit_sha" in value and "trace_ids" in value)


def _is_whole_trace(path: Path) -> bool:
    """Whether the file is one trace, or a list of them, that is written over several lines."""
    if path.suffix != ".json" or path.stat().st_size > WHOLE_BYTES_MAX:
        return False
    data = path.read_bytes()
    try:
        value = parse(data)
    except InputError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("files"), list)


def _object(data: bytes) -> dict[str, Json]:
    try:
        value = parse(data)
    except InputError:
        return {}  # whoever reads the file says so
    return value if isinstance(value, dict) else {}


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
