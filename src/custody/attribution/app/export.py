"""Export attributions for other tools: Agent Trace records and notes of git-ai."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path

from msgspec import Struct, field

from custody.attribution.app.commit_authors import AgentLines, iterate_agent_lines_by_commit
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.proposals import list_edit_added_ranges
from custody.attribution.queries.traces import find_traced_files, list_sessions_touching_files
from custody.attribution.text import hash_segment_lines
from custody.capture.claims.agent_trace import (
    AGENT_TRACE_VERSION,
    METADATA,
    MODEL_CHARS_MAX,
    Contributor,
    Conversation,
    File,
    LineClaim,
    Range,
    Tool,
    TraceRecord,
    Vcs,
    encode_trace_record,
    make_agent_trace_id,
    make_commit_trace,
)
from custody.capture.claims.git_ai import is_printable_note_path, parse_git_ai_note, render_git_ai_note
from custody.core.errors import InputError
from custody.core.ids import CallId, CommitSha, SessionId, content_hash_from_lines
from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import FileEdit, TracedFile, TracedRange
from custody.core.wire.report import ExportTracesReport
from custody.core.wire.time import format_timestamp
from custody.git import NoteWriteCount
from custody.intake.queries import list_captured_calls
from custody.intake.wire import ExportGitAiReport
from custody.ledger.queries import list_session_edits, list_session_views
from custody.store import Store
from custody.workspace.machine import open_atomic_file
from custody.workspace.workspace import Workspace

_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
"""A conversation's URL as the specification requires; other tools store names of their own there."""


def export_agent_trace(workspace: Workspace, path: Path) -> ExportTracesReport:
    """Write the calls with lines in commits, the calls without, and every imported trace.

    The file is written whole or not at all.
    """
    written, left_out = 0, 0
    with _open_authorship_traces(workspace) as records, open_atomic_file(path) as out:
        for record in records:
            if record is None:
                left_out += 1
                continue
            out.write(encode_trace_record(record))
            written += 1
    return ExportTracesReport(path=str(path), records=written, left_out=left_out)


@contextmanager
def _open_authorship_traces(workspace: Workspace) -> Iterator[Iterator[TraceRecord | None]]:
    """Yield records by commit, then by session; None stands for a call or trace without lines."""
    if workspace.home is None:
        # A team's database has no repository and no commits.
        with workspace.reading() as store:
            yield _export_session_authorship(workspace, store, set())
        return
    with open_attribution(workspace) as evidence:
        exported_calls: set[tuple[str, str, str]] = set()
        yield chain(
            _export_commit_authorship(evidence, exported_calls),
            _export_session_authorship(workspace, evidence.store, exported_calls),
        )


def _export_commit_authorship(
    evidence: AttributionContext, exported_calls: set[tuple[str, str, str]]
) -> Iterator[TraceRecord]:
    """Yield the captured lines of every commit, and add their calls to ``exported_calls``."""
    for commit_lines in iterate_agent_lines_by_commit(evidence, captured=True):
        captured = [lines for lines in commit_lines if lines.captured]
        exported_calls.update((lines.agent, lines.session, lines.call) for lines in captured if lines.call is not None)
        yield from _traces_from_agent_lines(captured)


def _export_session_authorship(
    workspace: Workspace, store: Store, exported_calls: set[tuple[str, str, str]]
) -> Iterator[TraceRecord | None]:
    workspace.progress.start("exporting", None)
    for session in list_sessions_touching_files(store):
        yield from _export_uncommitted_authorship(store, session, exported_calls)
        yield from _export_imported_authorship(store, session)
        workspace.progress.step(1)


# --- captured calls ---------------------------------------------------------------------------------------------------


def _traces_from_agent_lines(commit_lines: Sequence[AgentLines]) -> Iterator[TraceRecord]:
    """Yield one record for each call that added lines to a commit, with the lines as the commit has them."""
    by_call: dict[LineClaim, list[AgentLines]] = {}
    for lines in commit_lines:
        author = LineClaim(lines.agent, lines.session, lines.model, lines.call, lines.share)
        by_call.setdefault(author, []).append(lines)
    for author, call_lines in by_call.items():
        files: dict[str, list[Range]] = {}
        for lines in call_lines:
            hashed = hash_segment_lines(lines.texts)
            files.setdefault(str(lines.path), []).append(Range(lines.lines.first, lines.lines.last, hashed))
        at_ns = min((lines.at_ns for lines in call_lines if lines.at_ns is not None), default=0)
        yield make_commit_trace(call_lines[0].commit, format_timestamp(at_ns), author, files)


def _export_uncommitted_authorship(
    store: Store, session: SessionId, exported_calls: set[tuple[str, str, str]]
) -> Iterator[TraceRecord | None]:
    """Yield the calls without lines in any commit: their text is not committed, or no longer there."""
    edits = sorted((edit.view for edit in list_session_edits(store, session)), key=_make_edit_call_key)
    if not edits:
        return
    models = _read_models_by_call(store, session)
    for (agent, call, *_), group in groupby(edits, key=_make_edit_call_key):
        if (agent, session, call) in exported_calls:
            continue
        yield _authorship_trace_from_edits(list({(edit.path, edit.id): edit for edit in group}.values()), models)


def _make_edit_call_key(edit: FileEdit) -> tuple[str, str, int, str]:
    """Return a key that groups the edits of one call; an edit without a call is a group of its own."""
    return (edit.agent, edit.call or "", 0, "") if edit.call else (edit.agent, "", edit.at_ns, edit.id)


def _authorship_trace_from_edits(edits: Sequence[FileEdit], models: dict[CallId | None, str]) -> TraceRecord | None:
    first = min(edits, key=lambda edit: (edit.at_ns, edit.id))
    model = models.get(first.call) or models.get(None)
    files = [file for edit in edits if (file := _authorship_file_from_edit(edit, model)) is not None]
    if not files:
        return None
    return TraceRecord(
        version=AGENT_TRACE_VERSION,
        id=make_agent_trace_id(first.agent, first.session, first.call or first.id),
        timestamp=format_timestamp(first.at_ns),
        vcs=None if first.revision is None else Vcs("git", first.revision),
        tool=Tool(first.agent),
        files=sorted(files, key=lambda file: file.path),
        metadata={METADATA: {"session": first.session, "call": first.call}},
    )


def _authorship_file_from_edit(edit: FileEdit, model: str | None) -> File | None:
    ranges = [
        Range(lines.first, lines.last, None if texts is None else content_hash_from_lines(texts))
        for lines, texts in list_edit_added_ranges(edit)
    ]
    if not ranges:
        return None
    # A person changed what the agent proposed before it was applied.
    contributor = Contributor("ai" if edit.proposed is None else "mixed", _truncate_author_model(model))
    return File(str(edit.path), [Conversation(contributor, ranges)])


def _read_models_by_call(store: Store, session: SessionId) -> dict[CallId | None, str]:
    """Return the model of each call, and of the session under None."""
    calls = merge_call_views(call.view for call in list_captured_calls(store, session))
    models: dict[CallId | None, str] = {call.id: call.model for call in calls if call.model}
    merged = merge_session_views(view.view for view in list_session_views(store, session))
    return models if merged is None or not merged.model else {**models, None: merged.model}


# --- imported traces --------------------------------------------------------------------------------------------------


def _export_imported_authorship(store: Store, trace: SessionId) -> Iterator[TraceRecord | None]:
    """Yield one record for each imported record, under the same id if the specification allows it."""
    for _, group in groupby(find_traced_files(store, trace), key=lambda traced: traced.record.ref):
        views = [traced.view for traced in group]
        files = [file for view in views if (file := _authorship_file_from_trace(view)) is not None]
        if not files:
            yield None
            continue
        revision = views[0].revision
        if views[0].of_revision:
            yield _authorship_trace_from_claim(views[0], trace, {file.path: file for file in files})
            continue
        yield TraceRecord(
            version=AGENT_TRACE_VERSION,
            id=make_agent_trace_id(trace),
            timestamp=format_timestamp(views[0].at_ns),
            vcs=None if revision is None else Vcs("git", revision),
            tool=Tool(views[0].agent),
            files=files,
            metadata={METADATA: {"session": trace}},
        )


def _authorship_trace_from_claim(view: TracedFile, session: SessionId, files: dict[str, File]) -> TraceRecord:
    """Return an imported claim about a commit as a record."""
    ranges = {
        path: [range_ for conversation in file.conversations for range_ in conversation.ranges]
        for path, file in files.items()
    }
    share = min(range_.share for range_ in view.ranges)
    author = LineClaim(view.agent, session, view.model, view.call, share, producer=view.producer)
    return make_commit_trace(str(view.revision), format_timestamp(view.at_ns), author, ranges)


def _authorship_file_from_trace(view: TracedFile) -> File | None:
    """Return a trace's file; ranges with a hash but without lines have no place in this format."""
    with_lines = [range_ for range_ in view.ranges if range_.lines is not None]
    conversations = [
        Conversation(
            Contributor("ai" if share == 1.0 else "mixed", _truncate_author_model(model)),
            [line_range for range_ in group if (line_range := _authorship_range_from_trace(range_))],
            url if url is not None and _URL.fullmatch(url) else None,
        )
        for (url, model, share), group in groupby(
            with_lines, key=lambda range_: (range_.conversation, range_.model, range_.share)
        )
    ]
    return File(str(view.path), conversations) if conversations else None


def _authorship_range_from_trace(range_: TracedRange) -> Range | None:
    return None if range_.lines is None else Range(range_.lines.first, range_.lines.last, range_.hash)


def _truncate_author_model(model: str | None) -> str | None:
    return None if model is None else model[:MODEL_CHARS_MAX]


# Notes of git-ai, ``authorship/3.0.0``: a folder with a file for each commit, or git notes. A note holds the lines of
# each session in a commit, and no text. An existing note that custody did not write alone is not replaced, and its
# commit is listed.


NS = 1_000_000_000
NAMED_MAX = 1_000
"""Maximum listed commits with another tool's note; all are counted."""


class _NoteBatch(Struct):
    """The notes to write."""

    notes: dict[CommitSha, bytes] = field(default_factory=dict)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    lines: int = 0
    left_out: int = 0

    def add(self, commit_lines: list[AgentLines]) -> None:
        """Add the note of one commit."""
        files: dict[str, dict[LineClaim, list[Lines]]] = {}
        for lines in commit_lines:
            path = str(lines.path)
            author = LineClaim(lines.agent, lines.session, lines.model, lines.call, lines.share)
            if is_printable_note_path(path):
                files.setdefault(path, {}).setdefault(author, []).append(lines.lines)
                self.sessions.add((lines.agent, lines.session))
                self.lines += len(lines.lines)
        self.left_out += len({lines.path for lines in commit_lines if str(lines.path) not in files})
        if files:
            self.notes[commit_lines[0].commit] = render_git_ai_note(commit_lines[0].commit, files)


def export_gitai(workspace: Workspace, folder: Path) -> ExportGitAiReport:
    """Write a file for each commit, under its id, into a folder that is empty or does not exist."""
    _check_note_folder_empty(folder)
    batch = _build_authorship_notes(workspace)
    folder.mkdir(parents=True, exist_ok=True)
    for commit, note in batch.notes.items():
        with open_atomic_file(folder / commit) as out:
            out.write(note)
    return _report_authorship_notes(batch, str(folder), None, NoteWriteCount(len(batch.notes), 0, ()))


def export_gitai_notes(workspace: Workspace, ref: str) -> ExportGitAiReport:
    """Write a git note for each commit into the reference ``ref``."""
    batch = _build_authorship_notes(workspace)
    counts = workspace.repository.write_notes(ref, batch.notes, is_custody_authorship_note, workspace.now_ns() // NS)
    return _report_authorship_notes(batch, str(workspace.repository.git_dir), ref, counts)


def is_custody_authorship_note(note: bytes) -> bool:
    """Return whether custody wrote all of a note, so that it may be replaced."""
    try:
        return parse_git_ai_note(note).ours
    except InputError:
        return False


def _build_authorship_notes(workspace: Workspace) -> _NoteBatch:
    batch = _NoteBatch()
    with open_attribution(workspace) as evidence:
        for commit_lines in iterate_agent_lines_by_commit(evidence):
            batch.add(commit_lines)
    return batch


def _check_note_folder_empty(folder: Path) -> None:
    try:
        is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise InputError(f"cannot read '{folder}': {error.strerror}") from error
    if is_used:
        raise InputError(f"'{folder}' already exists", hint="pass a folder that is empty or does not exist")


def _report_authorship_notes(
    batch: _NoteBatch, path: str, ref: str | None, counts: NoteWriteCount
) -> ExportGitAiReport:
    return ExportGitAiReport(
        path=path,
        ref=ref,
        commits=counts.written,
        sessions=len(batch.sessions),
        lines=batch.lines,
        unchanged=counts.unchanged,
        kept=len(counts.kept_on),
        kept_on=list(counts.kept_on[:NAMED_MAX]),
        left_out=batch.left_out,
    )
