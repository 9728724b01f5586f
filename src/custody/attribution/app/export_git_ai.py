"""What is known here as notes of git-ai, ``authorship/3.0.0``: a folder with a file for each commit, or notes of git.

A note says which lines of a commit which session wrote, and no word of what was said in it. A note that is there
already and was not all written by custody stays as it is, and its commit is named.
"""

from dataclasses import dataclass, field
from pathlib import Path

from custody.attribution.app.commit_authors import AgentLines, commits_written
from custody.attribution.app.context import open_attribution
from custody.capture.claims.git_ai import is_printable, parse_note, print_note
from custody.capture.claims.git_ai_note import NoteAuthor
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.lines import Lines
from custody.git import NoteWriteCount
from custody.intake.wire.claims import ExportGitAiReport
from custody.workspace.atomic_file import open_atomic
from custody.workspace.workspace import Workspace

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
        files: dict[str, dict[NoteAuthor, list[Lines]]] = {}
        for wrote in written:
            path = str(wrote.path)
            author = NoteAuthor(wrote.agent, wrote.session, wrote.model, wrote.call, wrote.share)
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
