"""SQL over imported traces, links of commits, candidate edits and received origins."""

from collections.abc import Collection, Mapping, Sequence

from custody.core.ids import CommitSha, Digest, SessionId, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.views import CommitLink, FileEdit, ObservedCommit, PullRequestFact, TracedFile
from custody.core.wire.body import format_digest, parse_digest
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.store import DamagedStoreError, ObservedView, Store, make_sql_placeholders, split_row_batches
from custody.store.db import SqlValue
from custody.store.tables import BODY_BYTES_MAX, integer_from_sql

COMMITS_PER_STATEMENT_MAX = 500
"""Maximum commits that one SQL statement names."""
_IS_TRACE_EVENT = (
    "SELECT 1 FROM observation WHERE observation.store_id = traced_file.store_id"
    " AND observation.seq = traced_file.seq AND observation.event = 'trace'"
)
"""Excludes traces about a commit's lines, which do not show that their session was active."""


def find_traced_files(store: Store, trace: SessionId) -> list[ObservedView[TracedFile]]:
    """Return the files of one trace."""
    return store.views.look_up(TracedFile, "session = ?", (trace,))


def find_traced_files_at_revision(store: Store, revision: CommitSha, digits_min: int) -> list[ObservedView[TracedFile]]:
    """Return the files of traces recorded at ``revision``, which a trace may abbreviate."""
    prefixes = [revision[:digits] for digits in range(digits_min, len(revision) + 1)]
    return store.views.look_up(TracedFile, f"revision IN ({make_sql_placeholders(prefixes)})", prefixes)


def find_traced_files_of_commits(store: Store, commits: Sequence[CommitSha]) -> list[ObservedView[TracedFile]]:
    """Return the files of traces that name one of these commits."""
    return [
        traced
        for batch in split_row_batches(commits, COMMITS_PER_STATEMENT_MAX)
        for traced in store.views.look_up(TracedFile, f"revision IN ({make_sql_placeholders(batch)})", batch)
    ]


def find_traced_files_by_path(store: Store, path: RepoPath) -> list[ObservedView[TracedFile]]:
    """Return the traces of a file, without the traces about the lines of a commit."""
    return store.views.look_up(TracedFile, f"path = ? AND EXISTS ({_IS_TRACE_EVENT})", (path.raw,))


def find_traced_files_in_window(
    store: Store, paths: Collection[RepoPath], *, since_ns: int, until_ns: int
) -> list[ObservedView[TracedFile]]:
    """Return the traces of these paths between two times, both included."""
    values: list[SqlValue] = [*(path.raw for path in paths), since_ns, until_ns]
    return store.views.look_up(
        TracedFile, f"path IN ({make_sql_placeholders(paths)}) AND at_ns BETWEEN ? AND ?", values
    )


def find_longer_traced_files_in_window(
    store: Store, path: RepoPath, *, since_ns: int, until_ns: int
) -> list[ObservedView[TracedFile]]:
    """Return the traces between two times that name the file by a longer path, such as one of another machine."""
    end = b"/" + path.raw
    return store.views.look_up(
        TracedFile,
        "at_ns BETWEEN ? AND ? AND substr(path, length(path) - ? + 1) = ?",
        (since_ns, until_ns, len(end), end),
    )


def find_first_trace_ns(store: Store) -> int | None:
    """Return the time of the first trace that is not about the lines of a commit."""
    (row,) = store.db.rows(f"SELECT min(at_ns) FROM traced_file WHERE EXISTS ({_IS_TRACE_EVENT})")
    return None if row[0] is None else integer_from_sql(row[0])


def list_traced_revisions(store: Store) -> set[str]:
    """Return every revision that a trace names."""
    return {str(revision) for revision in store.views.distinct(TracedFile, "revision", "revision IS NOT NULL")}


def list_sessions_touching_files(store: Store) -> list[SessionId]:
    """Return the sessions and traces that touched any file."""
    rows = store.db.rows("SELECT session FROM file_edit UNION SELECT session FROM traced_file ORDER BY 1")
    return [SessionId(str(session)) for (session,) in rows]


# SQL about what connects sessions with commits and pull requests.


def find_commit_session_links(store: Store, commit: CommitSha) -> list[ObservedView[CommitLink]]:
    """Return the sessions that are reported to have made ``commit``."""
    return store.views.look_up(CommitLink, "commit_sha = ?", (commit,))


def find_commit_hook_reports(store: Store, commit: CommitSha) -> list[ObservedView[ObservedCommit]]:
    """Return the reports of git's own hooks on ``commit``."""
    return store.views.look_up(ObservedCommit, "commit_sha = ?", (commit,))


def find_pull_request_session_facts(store: Store, number: int) -> list[ObservedView[PullRequestFact]]:
    """Return the facts that sessions reported about a pull request."""
    return store.views.look_up(PullRequestFact, "number = ?", (number,))


# SQL about the edits that may have written a line.


def find_candidate_edits_in_window(
    store: Store, path: RepoPath, *, since_ns: int, until_ns: int
) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file between two times, both included."""
    return store.views.look_up(FileEdit, "path = ? AND at_ns BETWEEN ? AND ?", (path.raw, since_ns, until_ns))


def find_candidate_edits_at_revision(store: Store, path: RepoPath, revision: CommitSha) -> list[ObservedView[FileEdit]]:
    """Return the edits of a file made while HEAD was ``revision``."""
    return store.views.look_up(FileEdit, "path = ? AND revision = ?", (path.raw, revision))


def find_candidate_edits_by_session(store: Store, session: SessionId, path: RepoPath) -> list[ObservedView[FileEdit]]:
    """Return the edits that a session made to a file."""
    return store.views.look_up(FileEdit, "path = ? AND session = ?", (path.raw, session))


# Line origins of chains that were received without their texts, as the sending stores computed them. They are stored
# as bodies, so that ``verify`` checks every byte; a setting holds the digest of their list.


SETTING = "origins:"
"""Prefix of the settings with the digest of a chain's list of origins."""


class OriginTables:
    """The line origins received from other stores, by chain and file."""

    def __init__(self, store: Store) -> None:
        self._tables = store.tables
        self._db = store.db

    def lists(self) -> dict[StoreId, Digest]:
        """Return the chains with received origins, each with the digest of its list."""
        rows = self._db.rows("SELECT name, value FROM setting WHERE name LIKE ? ORDER BY name", (f"{SETTING}%",))
        return {StoreId(str(name).removeprefix(SETTING)): parse_digest(str(value)) for name, value in rows}

    def files(self, store: StoreId) -> dict[RepoPath, Digest]:
        """Return the digest of each file's origins; none for a chain without any."""
        list_digest = self.lists().get(store)
        listed = None if list_digest is None else parse_json_bytes(self._body(list_digest), bytes_max=BODY_BYTES_MAX)
        pairs = listed.items() if isinstance(listed, dict) else ()
        return {RepoPath.of(path): parse_digest(str(digest)) for path, digest in pairs}

    def read(self, digest: Digest) -> bytes:
        """Return the received origins of one file, unchanged."""
        return self._body(digest)

    def differ(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Return whether ``files`` differ from the stored origins of a chain."""
        return self.lists().get(store) != digest_from_bytes(_encode_origin_file_list(files))

    def put(self, store: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
        """Replace the stored origins of a chain, inside a write; return False if they are the same."""
        file_list = _encode_origin_file_list(files)
        list_digest = digest_from_bytes(file_list)
        if self.lists().get(store) == list_digest:
            return False
        unused = self._forget_origin_list(store) - {digest_from_bytes(data) for data in files.values()}
        for data in (file_list, *files.values()):
            self._tables.put_body(digest_from_bytes(data), data)
        self._drop(unused)
        setting = (f"{SETTING}{store}", format_digest(list_digest))
        self._db.run("INSERT INTO setting (name, value) VALUES (?, ?)", setting)
        return True

    def drop(self, store: StoreId) -> None:
        """Drop the origins of a chain, inside a write, once its texts are here."""
        self._drop(self._forget_origin_list(store))

    def _forget_origin_list(self, store: StoreId) -> set[Digest]:
        """Delete the list of a chain and return the bodies that may be unused now."""
        list_digest = self.lists().get(store)
        if list_digest is None:
            return set()
        unused = {list_digest, *self.files(store).values()}
        self._db.run("DELETE FROM setting WHERE name = ?", (f"{SETTING}{store}",))
        return unused

    def _drop(self, digests: set[Digest]) -> None:
        # The database role of a team's service may not delete bodies: they stay there, unused.
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
            raise DamagedStoreError(
                "the line origins of a chain are missing", hint="run 'custody verify', then 'custody pull'"
            )
        return body.data


def _encode_origin_file_list(files: Mapping[RepoPath, bytes]) -> bytes:
    """Return the list of these files: each path with the digest of its origins."""
    return dump_canonical_json({str(path): format_digest(digest_from_bytes(data)) for path, data in files.items()})
