"""SQL about the files of imported traces."""

from collections.abc import Collection, Mapping, Sequence

from custody.core.ids import CommitSha, Digest, SessionId, StoreId, digest_of
from custody.core.paths import RepoPath
from custody.core.views import CommitLink, FileEdit, ObservedCommit, PullRequestFact, TracedFile
from custody.core.wire.body import digest_from, digest_text
from custody.core.wire.canonical import dump, parse
from custody.store import DamagedStoreError, ObservedView, Store, placeholders, split_batches
from custody.store.db import SqlValue
from custody.store.tables import BODY_BYTES_MAX, integer

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


# SQL about what connects sessions with commits and pull requests.


def links_of_commit(store: Store, commit: CommitSha) -> list[ObservedView[CommitLink]]:
    """Return the sessions that are reported to have made ``commit``."""
    return store.views.look_up(CommitLink, "commit_sha = ?", (commit,))


def hook_reports_of_commit(store: Store, commit: CommitSha) -> list[ObservedView[ObservedCommit]]:
    """Return what git's own hooks reported of ``commit``."""
    return store.views.look_up(ObservedCommit, "commit_sha = ?", (commit,))


def facts_of_pull_request(store: Store, number: int) -> list[ObservedView[PullRequestFact]]:
    """Return what sessions reported of a pull request."""
    return store.views.look_up(PullRequestFact, "number = ?", (number,))


# SQL about the edits that may have written a line.


def edits_of_file(store: Store, path: RepoPath, *, since_ns: int, until_ns: int) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file between two times, both included."""
    return store.views.look_up(FileEdit, "path = ? AND at_ns BETWEEN ? AND ?", (path.raw, since_ns, until_ns))


def edits_of_file_at(store: Store, path: RepoPath, revision: CommitSha) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file made while HEAD was ``revision``."""
    return store.views.look_up(FileEdit, "path = ? AND revision = ?", (path.raw, revision))


def edits_of_file_by(store: Store, session: SessionId, path: RepoPath) -> list[ObservedView[FileEdit]]:
    """Return the edits that a session made to a file."""
    return store.views.look_up(FileEdit, "path = ? AND session = ?", (path.raw, session))


# Where lines come from in chains that came here without their texts, as their own stores worked it out.
# What came is kept as bodies, so that ``verify`` checks every byte; a setting names the list of them.


SETTING = "origins:"
"""How the names of settings begin that name a chain's list of origins."""


class OriginTables:
    """The origins of lines that other stores sent, by chain and file."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    def lists(self) -> dict[StoreId, Digest]:
        """The chains of which origins came, each with the digest of its list."""
        rows = self._db.rows("SELECT name, value FROM setting WHERE name LIKE ? ORDER BY name", (f"{SETTING}%",))
        return {StoreId(str(name).removeprefix(SETTING)): digest_from(str(value)) for name, value in rows}

    def files(self, store: StoreId) -> dict[RepoPath, Digest]:
        """The files of which a chain's origins tell; none of a chain without any."""
        listed = self.lists().get(store)
        told = None if listed is None else parse(self._body(listed), bytes_max=BODY_BYTES_MAX)
        pairs = told.items() if isinstance(told, dict) else ()
        return {RepoPath.of(path): digest_from(str(digest)) for path, digest in pairs}

    def read(self, digest: Digest) -> bytes:
        """What came of one file."""
        return self._body(digest)

    def differ(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Whether these are other origins of a chain than are here."""
        return self.lists().get(store) != digest_of(_listed(files))

    def put(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Inside a write: keep these origins of a chain and let those go that were there; False when they are same."""
        listed = _listed(files)
        name = digest_of(listed)
        if self.lists().get(store) == name:
            return False
        gone = self._forgotten(store) - {digest_of(data) for data in files.values()}
        for data in (listed, *files.values()):
            self._tables.put_body(digest_of(data), data)
        self._drop(gone)
        self._db.run("INSERT INTO setting (name, value) VALUES (?, ?)", (f"{SETTING}{store}", digest_text(name)))
        return True

    def drop(self, store: StoreId) -> None:
        """Inside a write: forget the origins of a chain; its texts are here now."""
        self._drop(self._forgotten(store))

    def _forgotten(self, store: StoreId) -> set[Digest]:
        """Take away the list of a chain; the bodies that nothing may need any more."""
        listed = self.lists().get(store)
        if listed is None:
            return set()
        gone = {listed, *self.files(store).values()}
        self._db.run("DELETE FROM setting WHERE name = ?", (f"{SETTING}{store}",))
        return gone

    def _drop(self, digests: set[Digest]) -> None:
        # The role of a team's service may take no bytes away: there they stay, and nothing names them any more.
        if self._db.place and self._db.rows("SELECT 1 WHERE NOT has_table_privilege('body', 'DELETE')"):
            return
        lists = self.lists()
        needed = {*lists.values(), *(digest for store in lists for digest in self.files(store).values())}
        for digest in sorted(digests - needed):
            if not self._tables.records_holding(digest):  # a captured text may have the same bytes, such as '{}'
                self._db.run("DELETE FROM body WHERE digest = ?", (digest,))

    def _body(self, digest: Digest) -> bytes:
        body = self._tables.bodies([digest]).get(digest)
        if body is None or body.data is None:
            raise DamagedStoreError("the origins of a chain are gone", hint="run 'custody verify', then 'custody pull'")
        return body.data


def _listed(files: Mapping[RepoPath, bytes]) -> bytes:
    """The list of these files: each path with the digest of what is told of it."""
    return dump({str(path): digest_text(digest_of(data)) for path, data in files.items()})
