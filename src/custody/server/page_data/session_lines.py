"""How many lines of a session are still there, from the blame of each file that it edited."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.blame import blame
from custody.core.errors import InputError
from custody.ledger.queries import list_session_paths
from custody.ledger.sessions import find_session_by_name
from custody.server.app.questions import map_errors_to_404, require_project_repository
from custody.server.page_data.cache import StateCache, make_page_cache_key, read_page_cache_state
from custody.server.page_data.late import LateAnswer, answer_late
from custody.server.page_data.work import WorkQueue
from custody.workspace.workspace import Progress, Workspace

FILES_MAX = 60
"""Files of a session that are checked."""


class FileLinesLeft(Struct, frozen=True):
    """A file, and how many of its lines in the last commit are from the session; None if the file is gone."""

    path: str
    lines: int | None


class SessionLinesLeft(Struct, frozen=True):
    """The files that a session edited, those with the most of its lines first; ``file_count`` counts all of them."""

    files: Sequence[FileLinesLeft]
    file_count: int

    @property
    def total(self) -> int:
        """All lines of the session that are still there."""
        return sum(file.lines or 0 for file in self.files)


SessionLinesMemory = StateCache[SessionLinesLeft]


class SessionLinesCaches(Protocol):
    """The caches and the queue that this needs."""

    work: WorkQueue | None
    session_lines: SessionLinesMemory


def count_session_lines(
    workspace: Workspace, memory: SessionLinesCaches, session: str, agent: str
) -> LateAnswer[SessionLinesLeft]:
    """Return the lines of a session that are still there, or the last count while the queue computes it."""
    here = require_project_repository(workspace)
    commit = here.repository.head().commit
    if commit is None:
        raise InputError("this repository has no commits yet", hint="custody counts committed lines")
    with workspace.reading() as store, store.reading():
        with map_errors_to_404(InputError, hint="see the list of sessions"):
            row = find_session_by_name(store, session, agent)
        paths = sorted({path.display for path in list_session_paths(store, row.session)})
        state = (commit, read_page_cache_state(store))
    return answer_late(
        memory.work,
        memory.session_lines,
        (*make_page_cache_key(workspace), row.agent, row.session),
        state,
        workspace.now_ns(),
        lambda progress: _count_lines(replace(here, progress=Progress()), progress, row.session, paths, commit),
    )


def _count_lines(
    workspace: Workspace, progress: Progress, session: str, paths: Sequence[str], commit: str
) -> SessionLinesLeft:
    checked = paths[:FILES_MAX]
    progress.start("checking files", len(checked))
    files: list[FileLinesLeft] = []
    for path in checked:
        files.append(FileLinesLeft(path, _count_file_lines(workspace, session, path, commit)))
        progress.step(1)
    ordered = sorted(files, key=lambda file: (-(file.lines if file.lines is not None else -1), file.path))
    return SessionLinesLeft(ordered, len(paths))


def _count_file_lines(workspace: Workspace, session: str, path: str, commit: str) -> int | None:
    try:
        report = blame(workspace, path, revision=commit, is_brief=True).report
    except InputError:
        return None
    return sum(block.end_line - block.start_line + 1 for block in report.attributions if block.session_id == session)
