"""SQL about the edits that may have written a line."""

from custody.core.ids import CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileEdit
from custody.store import ObservedView, Store


def edits_of_file(store: Store, path: RepoPath, *, since_ns: int, until_ns: int) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file between two times, both included."""
    return store.views.look_up(FileEdit, "path = ? AND at_ns BETWEEN ? AND ?", (path.raw, since_ns, until_ns))


def edits_of_file_at(store: Store, path: RepoPath, revision: CommitSha) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file made while HEAD was ``revision``."""
    return store.views.look_up(FileEdit, "path = ? AND revision = ?", (path.raw, revision))


def edits_of_file_by(store: Store, session: SessionId, path: RepoPath) -> list[ObservedView[FileEdit]]:
    """Return the edits that a session made to a file."""
    return store.views.look_up(FileEdit, "path = ? AND session = ?", (path.raw, session))
