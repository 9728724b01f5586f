"""SQL about recorded commands, and about the edits of the files that they may have tested."""

import posixpath
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from custody.core.ids import AgentName, CallId, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.run_summary import parse_stored_summaries
from custody.core.views import CommandExit, CommandRecord, FileState, Session
from custody.store import Store, make_sql_placeholders
from custody.store.db import SqlValue
from custody.store.tables import bytes_from_sql, integer_from_sql

NAMES_MAX = 200
"""Values in one statement."""
READ_MAX = 5000
"""Files of a session that are compared to find its work tree."""
RELATED_MAX = 2000
"""Sessions that are read to find the ones that a session started."""


class StoredCommand(Struct, frozen=True):
    """A recorded command, its record, and when its call started, if known."""

    command: CommandRecord
    ref: RecordRef
    started_ns: int | None


class EditTime(Struct, frozen=True, order=True):
    """When a file was edited, by which session; None where snapshots show an edit outside of recorded calls."""

    at_ns: int
    session: str | None


def list_session_commands(store: Store, sessions: Collection[SessionId]) -> list[StoredCommand]:
    """Return the commands of sessions, oldest first, from their table alone."""
    found = []
    for named in _split_names(sorted(sessions)):
        rows = store.db.rows(
            "SELECT store_id, seq, agent, session, call, at_ns, command, folder, root, code, ended, summaries,"
            " (SELECT min(started_ns) FROM tool_call AS it"
            " WHERE it.session = command_record.session AND it.call = command_record.call) AS started_ns"
            f" FROM command_record WHERE session IN ({make_sql_placeholders(named)})",
            named,
        )
        found += [_stored_command_from_row(row) for row in rows]
    return sorted(found, key=lambda each: (each.command.at_ns, each.ref))


def find_work_tree_roots(store: Store, sessions: Collection[SessionId]) -> dict[SessionId, tuple[str, ...]]:
    """Return the roots of the work trees of sessions, the longest first, for records that do not name them.

    A session reads a file by its whole name and edits it: what is before the edited path is a root.
    """
    roots: dict[SessionId, tuple[str, ...]] = {}
    for session in sorted(sessions):
        edited = [
            f"/{RepoPath(bytes_from_sql(raw)).display}"
            for (raw,) in store.db.rows(
                f"SELECT DISTINCT path FROM file_edit WHERE session = ? LIMIT {READ_MAX}", (session,)
            )
        ]
        read = store.db.rows(
            f"SELECT DISTINCT locator FROM source_read WHERE session = ? AND locator LIKE '/%' LIMIT {READ_MAX}",
            (session,),
        )
        by_name: dict[str, list[str]] = {}
        for path in edited:
            by_name.setdefault(posixpath.basename(path), []).append(path)
        found = {
            locator[: -len(path)]
            for (locator,) in read
            if isinstance(locator, str)
            for path in by_name.get(posixpath.basename(locator), ())
            if locator.endswith(path) and path.count("/") > 1
        }
        roots[session] = tuple(sorted(found, key=lambda root: (-len(root), root)))
    return roots


def _stored_command_from_row(row: Sequence[SqlValue]) -> StoredCommand:
    store, seq, agent, session, call, at_ns, command, folder, root, code, ended, summaries, started = row
    record = CommandRecord(
        AgentName(str(agent)),
        SessionId(str(session)),
        CallId(str(call)),
        integer_from_sql(at_ns),
        str(command),
        folder=None if folder is None else str(folder),
        root=None if root is None else str(root),
        code=None if code is None else integer_from_sql(code),
        end=CommandExit(str(ended)),
        summaries=parse_stored_summaries(str(summaries)),
    )
    ref = RecordRef(StoreId(str(store)), Seq(integer_from_sql(seq)))
    return StoredCommand(record, ref, None if started is None else integer_from_sql(started))


def list_edit_times(store: Store, paths: Collection[RepoPath]) -> dict[RepoPath, list[EditTime]]:
    """Return when each file was edited: by recorded edits, and by changes between snapshots of it."""
    times: dict[RepoPath, set[EditTime]] = {path: set() for path in paths}
    for named in _split_names(sorted(path.raw for path in paths)):
        rows = store.db.rows(
            f"SELECT path, at_ns, session FROM file_edit WHERE path IN ({make_sql_placeholders(named)})", named
        )
        for raw, at_ns, session in rows:
            times[RepoPath(bytes_from_sql(raw))].add(EditTime(integer_from_sql(at_ns), str(session)))
        for path, edit in _list_snapshot_edits(store, named):
            times[path].add(edit)
    return {path: sorted(edits, key=lambda edit: (edit.at_ns, edit.session or "")) for path, edits in times.items()}


def _list_snapshot_edits(store: Store, paths: Sequence[SqlValue]) -> Iterator[tuple[RepoPath, EditTime]]:
    """Yield the times at which a snapshot of a file differs from the one before."""
    last: dict[RepoPath, object] = {}
    for observed in store.views.look_up(FileState, f"path IN ({make_sql_placeholders(paths)})", paths):
        state = observed.view
        shown = None if state.gone else state.text and state.text.digest
        if state.path in last and last[state.path] != shown:
            # Seen before a call: it happened earlier, by a recorded edit, a person or another program.
            is_after = state.phase == "after"
            yield state.path, EditTime(state.at_ns - (not is_after), state.session if is_after else None)
        last[state.path] = shown


def find_session_family(store: Store, sessions: Collection[SessionId]) -> frozenset[SessionId]:
    """Return sessions with those that started them, and those that they started."""
    family = set(sessions)
    for named in _split_names(sorted(sessions)):
        placeholders = make_sql_placeholders(named)
        observed = store.views.look_up(Session, f"session IN ({placeholders})", named)
        family.update(each.view.parent for each in observed if each.view.parent is not None)
        starts = [each.view.started_ns for each in observed]
        if not starts:
            continue
        later = store.views.look_up(
            Session,
            f"started_ns >= ? AND session NOT IN ({placeholders}) ORDER BY started_ns LIMIT {RELATED_MAX}",
            (min(starts), *named),
        )
        family.update(each.view.id for each in later if each.view.parent in family)
    return frozenset(family)


def find_neighbor_sessions(
    store: Store, sessions: Collection[SessionId], since_ns: int, until_ns: int
) -> frozenset[SessionId]:
    """Return the sessions that ran commands in the work trees of these sessions, in a period."""
    found: set[SessionId] = set()
    for named in _split_names(sorted(sessions)):
        rows = store.db.rows(
            "SELECT DISTINCT session FROM command_record WHERE at_ns >= ? AND at_ns <= ? AND root IN"
            f" (SELECT root FROM command_record WHERE session IN ({make_sql_placeholders(named)}))",
            (since_ns, until_ns, *named),
        )
        found.update(SessionId(str(session)) for (session,) in rows)
    return frozenset(found)


def find_editing_sessions(store: Store, paths: Collection[RepoPath]) -> dict[RepoPath, frozenset[SessionId]]:
    """Return the sessions that edited each file."""
    found: dict[RepoPath, set[SessionId]] = {path: set() for path in paths}
    for named in _split_names(sorted(path.raw for path in paths)):
        sql = f"SELECT DISTINCT path, session FROM file_edit WHERE path IN ({make_sql_placeholders(named)})"
        for path, session in store.db.rows(sql, named):
            found[RepoPath(bytes_from_sql(path))].add(SessionId(str(session)))
    return {path: frozenset(sessions) for path, sessions in found.items()}


def _split_names(names: Sequence[SqlValue]) -> Iterator[Sequence[SqlValue]]:
    return (names[start : start + NAMES_MAX] for start in range(0, len(names), NAMES_MAX))
