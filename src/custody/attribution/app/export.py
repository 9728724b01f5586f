"""Attribution exported for other tools: Agent Trace records and notes of git-ai."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path

from custody.attribution.app.commit_authors import AgentLines, commits_written
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.proposals import added_ranges
from custody.attribution.queries.traces import sessions_with_files, traced_files
from custody.attribution.text import hash_of
from custody.capture.claims.agent_trace import (
    AGENT_TRACE_VERSION,
    METADATA,
    MODEL_SIGNS_MAX,
    Contributor,
    Conversation,
    File,
    LineClaim,
    Range,
    Tool,
    TraceRecord,
    Vcs,
    commit_trace,
    encode_trace,
    trace_id,
)
from custody.capture.claims.git_ai import is_printable, parse_note, print_note
from custody.core.errors import InputError
from custody.core.ids import CallId, CommitSha, SessionId, content_hash
from custody.core.paths import Lines
from custody.core.view_merge import merge_calls, merge_session
from custody.core.views import FileEdit, TracedFile, TracedRange
from custody.core.wire.report import ExportTracesReport
from custody.core.wire.time import text_from
from custody.git import NoteWriteCount
from custody.intake.queries import calls_of_session
from custody.intake.wire import ExportGitAiReport
from custody.ledger.queries import edits_of_session, session_views
from custody.store import Store
from custody.workspace.machine import open_atomic
from custody.workspace.workspace import Workspace

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
"""What the specification takes for the address of a conversation; other tools put names of their own there."""


def export_agent_trace(workspace: Workspace, path: Path) -> ExportTracesReport:
    """Write what calls brought into commits, what they wrote that no commit holds, and every trace that was imported.

    The file appears whole or not at all.
    """
    written, left_out = 0, 0
    with _records(workspace) as records, open_atomic(path) as out:
        for record in records:
            if record is None:
                left_out += 1
                continue
            out.write(encode_trace(record))
            written += 1
    return ExportTracesReport(path=str(path), records=written, left_out=left_out)


@contextmanager
def _records(workspace: Workspace) -> Iterator[Iterator[TraceRecord | None]]:
    """Commit by commit, then session by session; None stands for what has no lines to speak of."""
    if workspace.home is None:
        # A team's database without a repository: there are no commits to tell of.
        with workspace.reading() as store:
            yield _of_sessions(workspace, store, set())
        return
    with open_attribution(workspace) as evidence:
        exported_calls: set[tuple[str, str, str]] = set()
        yield chain(_of_commits(evidence, exported_calls), _of_sessions(workspace, evidence.store, exported_calls))


def _of_commits(evidence: AttributionContext, exported_calls: set[tuple[str, str, str]]) -> Iterator[TraceRecord]:
    """What was captured of every commit; ``exported_calls`` are the calls that are told of by it."""
    for written in commits_written(evidence, captured=True):
        captured = [wrote for wrote in written if wrote.captured]
        exported_calls.update((wrote.agent, wrote.session, wrote.call) for wrote in captured if wrote.call is not None)
        yield from _of_commit(captured)


def _of_sessions(
    workspace: Workspace, store: Store, exported_calls: set[tuple[str, str, str]]
) -> Iterator[TraceRecord | None]:
    workspace.progress.start("exporting", None)
    for session in sessions_with_files(store):
        yield from _of_edits(store, session, exported_calls)
        yield from _of_traces(store, session)
        workspace.progress.step(1)


# --- what was captured here -------------------------------------------------------------------------------------------


def _of_commit(written: Sequence[AgentLines]) -> Iterator[TraceRecord]:
    """One record for each call that brought lines into a commit, with the lines as the commit has them."""
    by_call: dict[LineClaim, list[AgentLines]] = {}
    for wrote in written:
        who = LineClaim(wrote.agent, wrote.session, wrote.model, wrote.call, wrote.share)
        by_call.setdefault(who, []).append(wrote)
    for who, call_written in by_call.items():
        files: dict[str, list[Range]] = {}
        for wrote in call_written:
            hashed = hash_of(wrote.texts)
            files.setdefault(str(wrote.path), []).append(Range(wrote.lines.first, wrote.lines.last, hashed))
        at_ns = min((wrote.at_ns for wrote in call_written if wrote.at_ns is not None), default=0)
        yield commit_trace(call_written[0].commit, text_from(at_ns), who, files)


def _of_edits(
    store: Store, session: SessionId, exported_calls: set[tuple[str, str, str]]
) -> Iterator[TraceRecord | None]:
    """The calls of which no commit has a line: what they wrote is not committed, or gone."""
    edits = sorted((seen.view for seen in edits_of_session(store, session)), key=_call_of)
    if not edits:
        return
    models = _models(store, session)
    for (agent, call, *_), group in groupby(edits, key=_call_of):
        if (agent, session, call) in exported_calls:
            continue
        yield _record_of_call(list({(edit.path, edit.id): edit for edit in group}.values()), models)


def _call_of(edit: FileEdit) -> tuple[str, str, int, str]:
    """Edits of one call belong together; one without a call stands alone."""
    return (edit.agent, edit.call or "", 0, "") if edit.call else (edit.agent, "", edit.at_ns, edit.id)


def _record_of_call(edits: Sequence[FileEdit], models: dict[CallId | None, str]) -> TraceRecord | None:
    first = min(edits, key=lambda edit: (edit.at_ns, edit.id))
    model = models.get(first.call) or models.get(None)
    files = [file for edit in edits if (file := _file_of(edit, model)) is not None]
    if not files:
        return None
    return TraceRecord(
        version=AGENT_TRACE_VERSION,
        id=trace_id(first.agent, first.session, first.call or first.id),
        timestamp=text_from(first.at_ns),
        vcs=None if first.revision is None else Vcs("git", first.revision),
        tool=Tool(first.agent),
        files=sorted(files, key=lambda file: file.path),
        metadata={METADATA: {"session": first.session, "call": first.call}},
    )


def _file_of(edit: FileEdit, model: str | None) -> File | None:
    ranges = [
        Range(lines.first, lines.last, None if texts is None else content_hash(texts))
        for lines, texts in added_ranges(edit)
    ]
    if not ranges:
        return None
    # A person changed what the agent proposed before it was applied.
    contributor = Contributor("ai" if edit.proposed is None else "mixed", _short(model))
    return File(str(edit.path), [Conversation(contributor, ranges)])


def _models(store: Store, session: SessionId) -> dict[CallId | None, str]:
    """The model of each call, and of the session under None."""
    calls = merge_calls(seen.view for seen in calls_of_session(store, session))
    found: dict[CallId | None, str] = {call.id: call.model for call in calls if call.model}
    whole = merge_session(seen.view for seen in session_views(store, session))
    return found if whole is None or not whole.model else {**found, None: whole.model}


# --- what was imported ------------------------------------------------------------------------------------------------


def _of_traces(store: Store, trace: SessionId) -> Iterator[TraceRecord | None]:
    """One record for each record that was imported, under the same id if that is one the specification knows."""
    seen = traced_files(store, trace)
    for _, group in groupby(seen, key=lambda view: view.record.ref):
        views = [observed_view.view for observed_view in group]
        files = [file for view in views if (file := _file_of_trace(view)) is not None]
        if not files:
            yield None
            continue
        revision = views[0].revision
        if views[0].of_revision:
            yield _again(views[0], trace, {file.path: file for file in files})
            continue
        yield TraceRecord(
            version=AGENT_TRACE_VERSION,
            id=trace_id(trace),
            timestamp=text_from(views[0].at_ns),
            vcs=None if revision is None else Vcs("git", revision),
            tool=Tool(views[0].agent),
            files=files,
            metadata={METADATA: {"session": trace}},
        )


def _again(view: TracedFile, session: SessionId, files: dict[str, File]) -> TraceRecord:
    """What was said of a commit, as it is said again."""
    ranges = {
        path: [line_range for said in file.conversations for line_range in said.ranges] for path, file in files.items()
    }
    share = min(said.share for said in view.ranges)
    who = LineClaim(view.agent, session, view.model, view.call, share, producer=view.producer)
    return commit_trace(str(view.revision), text_from(view.at_ns), who, ranges)


def _file_of_trace(view: TracedFile) -> File | None:
    """What a trace says of a file; a hash without lines cannot be said in this format."""
    placed = [said for said in view.ranges if said.lines is not None]
    conversations = [
        Conversation(
            Contributor("ai" if share == 1.0 else "mixed", _short(model)),
            [line_range for said in group if (line_range := _range(said))],
            url if url is not None and _URL.fullmatch(url) else None,
        )
        for (url, model, share), group in groupby(placed, key=lambda said: (said.conversation, said.model, said.share))
    ]
    return File(str(view.path), conversations) if conversations else None


def _range(said: TracedRange) -> Range | None:
    return None if said.lines is None else Range(said.lines.first, said.lines.last, said.hash)


def _short(model: str | None) -> str | None:
    return None if model is None else model[:MODEL_SIGNS_MAX]


# What is known here as notes of git-ai, ``authorship/3.0.0``: a folder with a file for each commit, or notes of git.
# A note says which lines of a commit which session wrote, and no word of what was said in it. A note that is there
# already and was not all written by custody stays as it is, and its commit is named.


NS = 1_000_000_000
NAMED_MAX = 1_000
"""So many commits with somebody else's note are named; all are counted."""


@dataclass(slots=True)
class _NoteBatch:
    """The notes as they will be written."""

    notes: dict[CommitSha, bytes] = field(default_factory=dict)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    lines: int = 0
    left_out: int = 0

    def add(self, written: list[AgentLines]) -> None:
        """Make the note of one commit."""
        files: dict[str, dict[LineClaim, list[Lines]]] = {}
        for wrote in written:
            path = str(wrote.path)
            author = LineClaim(wrote.agent, wrote.session, wrote.model, wrote.call, wrote.share)
            if is_printable(path):
                files.setdefault(path, {}).setdefault(author, []).append(wrote.lines)
                self.sessions.add((wrote.agent, wrote.session))
                self.lines += len(wrote.lines)
        self.left_out += len(
            {wrote.path for wrote in written} - {wrote.path for wrote in written if str(wrote.path) in files}
        )
        if files:
            self.notes[written[0].commit] = print_note(written[0].commit, files)


def export_gitai(workspace: Workspace, folder: Path) -> ExportGitAiReport:
    """Write a file for each commit, under its id, into a folder that is empty or does not exist."""
    _check_empty(folder)
    made = _made(workspace)
    folder.mkdir(parents=True, exist_ok=True)
    for commit, note in made.notes.items():
        with open_atomic(folder / commit) as out:
            out.write(note)
    return _report(made, str(folder), None, NoteWriteCount(len(made.notes), 0, ()))


def export_gitai_notes(workspace: Workspace, ref: str) -> ExportGitAiReport:
    """Put a note on each commit, in the reference that was asked for."""
    made = _made(workspace)
    done = workspace.repository.write_notes(ref, made.notes, is_ours, workspace.now_ns() // NS)
    return _report(made, str(workspace.repository.git_dir), ref, done)


def is_ours(note: bytes) -> bool:
    """Whether custody wrote all of a note: only such a one is ever replaced."""
    try:
        return parse_note(note).ours
    except InputError:
        return False


def _made(workspace: Workspace) -> _NoteBatch:
    made = _NoteBatch()
    with open_attribution(workspace) as evidence:
        for written in commits_written(evidence):
            made.add(written)
    return made


def _check_empty(folder: Path) -> None:
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise InputError(f"cannot look into '{folder}': {error.strerror}") from error
    if taken:
        raise InputError(f"'{folder}' is there already", hint="name a folder that is empty or does not exist")


def _report(made: _NoteBatch, path: str, ref: str | None, done: NoteWriteCount) -> ExportGitAiReport:
    return ExportGitAiReport(
        path=path,
        ref=ref,
        commits=done.written,
        sessions=len(made.sessions),
        lines=made.lines,
        unchanged=done.unchanged,
        kept=len(done.kept_on),
        kept_on=list(done.kept_on[:NAMED_MAX]),
        left_out=made.left_out,
    )
