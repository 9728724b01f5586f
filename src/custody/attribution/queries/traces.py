"""SQL about the files of imported traces."""

from collections.abc import Collection, Sequence

from custody.core.ids import CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import TracedFile
from custody.store import ObservedView, Store, placeholders, split_batches
from custody.store.db import SqlValue
from custody.store.tables import integer

COMMITS_PER_STATEMENT_MAX = 500
"""Maximum commits that one SQL statement names."""
_APART = (
    "SELECT 1 FROM observation WHERE observation.store_id = traced_file.store_id"
    " AND observation.seq = traced_file.seq AND observation.event = 'trace'"
)
"""A trace about a commit's lines does not show that its session was at work."""


def traced_files(store: Store, trace: SessionId) -> list[ObservedView[TracedFile]]:
    """Return the files of one trace."""
    return store.views.look_up(TracedFile, "session = ?", (trace,))


def traced_files_at(store: Store, revision: CommitSha, digits_min: int) -> list[ObservedView[TracedFile]]:
    """Return the files of traces recorded at ``revision``, which a trace may abbreviate."""
    written = [revision[:digits] for digits in range(digits_min, len(revision) + 1)]
    return store.views.look_up(TracedFile, f"revision IN ({placeholders(written)})", written)


def traced_files_of_commits(store: Store, commits: Sequence[CommitSha]) -> list[ObservedView[TracedFile]]:
    """Return the files of traces that name one of these commits."""
    return [
        seen
        for some in split_batches(commits, COMMITS_PER_STATEMENT_MAX)
        for seen in store.views.look_up(TracedFile, f"revision IN ({placeholders(some)})", some)
    ]


def traced_files_apart(store: Store, path: RepoPath) -> list[ObservedView[TracedFile]]:
    """Return what traces say of a file, without the traces about the lines of a commit."""
    return store.views.look_up(TracedFile, f"path = ? AND EXISTS ({_APART})", (path.raw,))


def traced_files_between(
    store: Store, paths: Collection[RepoPath], *, since_ns: int, until_ns: int
) -> list[ObservedView[TracedFile]]:
    """Return what traces say of these paths between two times, both included."""
    values: list[SqlValue] = [*(path.raw for path in paths), since_ns, until_ns]
    return store.views.look_up(TracedFile, f"path IN ({placeholders(paths)}) AND at_ns BETWEEN ? AND ?", values)


def first_trace_ns(store: Store) -> int | None:
    """Return the time of the first trace that is not about the lines of a commit."""
    (row,) = store.db.rows(f"SELECT min(at_ns) FROM traced_file WHERE EXISTS ({_APART})")
    return None if row[0] is None else integer(row[0])


def revisions_of_traces(store: Store) -> set[str]:
    """Return every revision that a trace names."""
    return {str(revision) for revision in store.views.distinct(TracedFile, "revision", "revision IS NOT NULL")}


def sessions_with_files(store: Store) -> list[SessionId]:
    """Return the sessions and traces that touched any file."""
    rows = store.db.rows("SELECT session FROM file_edit UNION SELECT session FROM traced_file ORDER BY 1")
    return [SessionId(str(session)) for (session,) in rows]
