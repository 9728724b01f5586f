"""Where opencode stores its sessions, and each session as lines: the session, then each message with its parts.

Sources: ``packages/opencode/src/storage`` and ``packages/core/src/session/sql.ts``. Since 6d95f0d1 of February 2026 the
store is a database, ``opencode.db`` (d545d8fb, 1.18.18 of August 2026). Before, it was one JSON file per session,
message and part below ``storage`` (0.9.0, 1.0.125), in summer 2025 below ``project/<name>/storage``. Since 2.0
(databases of 2.0.12 and 2.0.26, autumn 2026, and its betas) the same database has ``session_v2`` and, for each message
with its calls, ``session_message``; the older tables remain. Migrated rows keep their ids. ``opencode export`` prints
one session as a document. A session in a database is addressed as if the database were a folder: ``opencode.db/ses_…``.
For a session's file, only the files of its own messages are opened.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.database_rows import (
    UNREAD,
    Database,
    DatabaseRow,
    RowSelection,
    is_sqlite_transcript,
    json_to_transcript_line,
    open_agent_database,
    read_database_sessions,
    row_to_transcript_line,
    select_agent_row,
)
from custody.capture.line_reader import (
    LINE_BYTES_MAX,
    FileLine,
    find_root_session,
    is_path_in_trees,
    list_transcript_files,
    locate_user_home,
    resolve_work_trees,
)
from custody.capture.transcripts import LineProblem, collect_transcript_document, parse_transcript_document
from custody.capture.typed_field import Fields, get_fields, get_items, get_milliseconds, get_string
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse_json_bytes

SESSION_ID = "ses_"
SESSIONS, OLD_SESSIONS = "session", "info"
DATABASES = "opencode*.db"
WHOLE_BYTES_MAX = 64 << 20
SESSIONS_MAX = 100_000
"""Maximum sessions of one database; all are held in memory at once."""

TABLES = ("session", "session_v2")
"""Tables of sessions; since 2.0 the second also contains those of the first."""
MESSAGES, NEWER = "message", "session_message"

_COLUMNS = ("id", "parent_id", "directory", "version", "time_created", "project_id")


class SessionInfo(Struct, frozen=True):
    """A session's metadata; ``root`` is the topmost session that started it."""

    id: str
    directory: str | None = None
    version: str | None = None
    created: int = 0
    root: str = ""

    def line(self, number: int) -> FileLine:
        """Return the session's own line."""
        about: dict[str, Json] = {"id": self.id, "directory": self.directory, "version": self.version}
        return json_to_transcript_line(
            number, {**about, "table": "session", "created": self.created, "root": self.root or self.id}
        )


def locate_opencode_data(environment: Mapping[str, str]) -> Path:
    """Return the user's data folder of opencode."""
    name = environment.get("XDG_DATA_HOME", "")
    return (Path(name) if os.path.isabs(name) else locate_user_home(environment) / ".local/share") / "opencode"


def list_session_files(place: Path) -> list[Path]:
    """Return the sessions' files and the databases at or below ``place``, last written last."""
    files = list_transcript_files(place, (".json", ".db"))
    return [file for file in files if file == place or _is_session_file(file) or _is_opencode_database(file)]


def _is_session_file(file: Path) -> bool:
    return file.suffix == ".json" and file.name.startswith(SESSION_ID) and file.parent.parent.name == SESSIONS


def _is_opencode_database(file: Path) -> bool:
    """Return whether a database has opencode's sessions; an unreadable one is reported when it is read."""
    if file.suffix != ".db" or not is_sqlite_transcript(file):
        return False
    try:
        with open_agent_database(file) as database:
            return any({"id", "directory"} <= database.columns(table) for table in TABLES)
    except OSError:
        return file.match(DATABASES)


def find_project_sessions(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the sessions below ``home`` that started in or below one of these work trees, oldest first."""
    roots = resolve_work_trees(trees)
    matches: list[tuple[int, Path]] = []
    for file in list_session_files(home / "storage" / SESSIONS) + list_session_files(home / "project"):
        if _is_session_file(file):
            session = _read_session_info(_read_session_document(file))
            if is_path_in_trees(session.directory or _find_session_folder(file), roots):
                matches.append((session.created, file))
    for file in sorted(home.glob(DATABASES)):
        try:
            with open_agent_database(file) as database:
                sessions = list(_read_session_infos(database))
        except OSError:
            matches.append((0, file / UNREAD))
            continue
        matches += [
            (session.created, file / session.id) for session in sessions if is_path_in_trees(session.directory, roots)
        ]
    return [file for _, file in sorted(matches, key=lambda pair: pair[0])]


# --- a database -------------------------------------------------------------------------------------------------------


def read_session_rows(file: Path) -> Iterator[FileLine]:
    """Yield the lines of all sessions of a database, or of the named session."""
    return read_database_sessions(file, _read_session_infos, _read_session_lines)


def _read_session_infos(database: Database, wanted: str | None = None) -> Iterator[SessionInfo]:
    """Yield all sessions, or the named session."""
    session_rows = _collect_session_rows(
        row for table in TABLES for row in database.rows(_select_opencode_rows(table, _COLUMNS, wanted))
    )
    parents = {str(row_fields.get("id")): get_string(row_fields.get("parent_id")) for row_fields in session_rows}
    # A later table's row replaces an earlier one of the same session.
    for name, row_fields in {str(row_fields.get("id")): row_fields for row_fields in session_rows}.items():
        yield SessionInfo(
            id=name,
            directory=get_string(row_fields.get("directory"))
            or _read_project_worktree(database, row_fields.get("project_id")),
            version=get_string(row_fields.get("version")),
            created=get_milliseconds(row_fields.get("time_created")),
            root=find_root_session(
                name, parents.get if wanted is None else lambda session_id: _find_parent_session(database, session_id)
            ),
        )


def _collect_session_rows(rows: Iterable[DatabaseRow]) -> list[dict[str, Json]]:
    """Return the session rows of a database; raise ``OSError`` if they exceed the limits."""
    session_rows, size = list[dict[str, Json]](), 0
    for row in rows:
        size += row.size
        if len(session_rows) == SESSIONS_MAX or size > WHOLE_BYTES_MAX:
            most = f"more than {SESSIONS_MAX:,} sessions, or more than {WHOLE_BYTES_MAX:,} bytes of their metadata"
            raise OSError(errno.EFBIG, f"the database has {most}")
        session_rows.append(row.values)
    return session_rows


def _select_opencode_rows(table: str, columns: tuple[str, ...], name: str | None) -> RowSelection:
    return (
        RowSelection(table=table, columns=columns, key="id")
        if name is None
        else select_agent_row(table, columns, "id", name)
    )


def _find_parent_session(database: Database, name: str) -> str | None:
    selections = (_select_opencode_rows(table, ("parent_id",), name) for table in TABLES)
    parents = (get_string(row.values.get("parent_id")) for rows in selections for row in database.rows(rows))
    return next((parent for parent in parents if parent), None)


def _read_project_worktree(database: Database, project: object) -> str | None:
    """Return the folder of a session's project, for sessions without a folder of their own."""
    row = next(database.rows(_select_opencode_rows("project", ("worktree",), str(project))), None)
    return None if row is None else get_string(row.values.get("worktree"))


def _read_session_lines(database: Database, session: SessionInfo, number: Iterator[int]) -> Iterator[FileLine]:
    known: set[str] = set()
    messages = RowSelection(
        table=MESSAGES, columns=("id", "data"), where="session_id = ?", values=(session.id,), key="id"
    )
    for message in database.rows(messages):
        yield row_to_transcript_line(next(number), MESSAGES, message)
        name = get_string(message.values.get("id"))
        if name is not None:
            known.add(name)
            parts = RowSelection(table="part", columns=("id", "data"), where="message_id = ?", values=(name,), key="id")
            yield from (row_to_transcript_line(next(number), "part", part) for part in database.rows(parts))
    if known and next(database.rows(_select_opencode_rows(TABLES[-1], ("id",), session.id)), None) is None:
        return  # some versions of spring 2026 stored everything twice, under other ids
    # Rows that 2.0 copied from the older tables have less detail.
    for row in database.rows(_select_v2_messages(database, session.id)):
        if row.values.get("id") not in known:
            yield row_to_transcript_line(next(number), NEWER, row)


def _select_v2_messages(database: Database, name: str) -> RowSelection:
    """Return a session's messages since 2.0 in their order, which is stored since June 2026."""
    key = "seq" if "seq" in database.columns(NEWER) else "id"
    return RowSelection(table=NEWER, columns=("id", "type", "data"), where="session_id = ?", values=(name,), key=key)


# --- files ------------------------------------------------------------------------------------------------------------


def read_session_files(file: Path, own: Iterable[FileLine]) -> Iterator[FileLine | LineProblem]:
    """Yield the lines of a session in files, or of an exported document; ``own`` is the file itself."""
    number = count(1)
    document = _parse_session_document(own)
    if isinstance(document, LineProblem):
        yield document
        return
    if isinstance(document.get("messages"), list):
        yield from _read_exported_session(document, number)
        return
    session = _read_session_info(document, file.stem)
    old = file.parent.name == OLD_SESSIONS
    base = file.parents[1] if old else file.parents[2]
    root = find_root_session(session.id, lambda name: _read_parent_session(file, name))
    yield replace(session, directory=session.directory or _find_session_folder(file), root=root).line(next(number))
    for message in _list_message_files(base / "message" / file.stem):
        yield _read_row_file(next(number), "message", message)
        parts = base / "part" / (Path(file.stem) / message.stem if old else message.stem)
        yield from (_read_row_file(next(number), "part", part) for part in _list_message_files(parts))


def _read_exported_session(fields: Fields, number: Iterator[int]) -> Iterator[FileLine | LineProblem]:
    info = get_fields(fields.get("info"))
    # Only the direct parent is named here; tools that store exports may have redacted its id.
    above = get_string(info.get("parentID")) or ""
    yield replace(_read_session_info(info), root=above if above.startswith(SESSION_ID) else "").line(next(number))
    for message in map(get_fields, get_items(fields.get("messages"))):
        yield _make_session_row_line("message", get_fields(message.get("info")), next(number))
        yield from (
            _make_session_row_line("part", get_fields(part), next(number)) for part in get_items(message.get("parts"))
        )


def _make_session_row_line(table: str, fields: Fields, number: int) -> FileLine:
    return json_to_transcript_line(number, {"table": table, "id": get_string(fields.get("id")), "data": dict(fields)})


def _read_row_file(number: int, table: str, file: Path) -> FileLine | LineProblem:
    try:
        if file.stat().st_size > LINE_BYTES_MAX:
            return LineProblem(number, f"{table} '{file.stem}' is over the limit of {LINE_BYTES_MAX:,} bytes")
        value = parse_json_bytes(file.read_bytes())
    except OSError as error:
        return LineProblem(number, f"{table} '{file.stem}' cannot be read: {error.strerror}")
    except InputError as error:
        return LineProblem(number, f"{table} '{file.stem}': {error.message}")
    return _make_session_row_line(table, {"id": file.stem, **get_fields(value)}, number)


def _parse_session_document(lines: Iterable[FileLine]) -> dict[str, Json] | LineProblem:
    data = collect_transcript_document(lines, "session")
    value = data if isinstance(data, LineProblem) else parse_transcript_document(data, "session")
    return value if isinstance(value, dict | LineProblem) else LineProblem(1, "not a JSON object")


def _read_session_info(fields: Fields, name: str = "") -> SessionInfo:
    return SessionInfo(
        id=name or get_string(fields.get("id")) or "unknown",
        directory=get_string(fields.get("directory")),
        version=get_string(fields.get("version")),
        created=get_milliseconds(get_fields(fields.get("time")).get("created")),
    )


def _find_session_folder(file: Path) -> str | None:
    """Return the folder of a session's messages, for sessions without a folder of their own."""
    base = file.parents[1] if file.parent.name == OLD_SESSIONS else file.parents[2]
    folders = (
        get_string(get_fields(_read_session_document(message_file).get("path")).get("cwd"))
        for message_file in _list_message_files(base / "message" / file.stem)
    )
    return next((folder for folder in folders if folder), None)


def _read_parent_session(file: Path, name: str) -> str | None:
    """Return the parent of a session stored beside ``file``; None for an invalid name."""
    plain = name.startswith(SESSION_ID) and "/" not in name and "\0" not in name
    return get_string(_read_session_document(file.with_name(f"{name}.json")).get("parentID")) if plain else None


def _list_message_files(folder: Path) -> list[Path]:
    """Return a folder's files by name, which is their order of creation; links are not followed."""
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return []  # a session without messages
    return [file for file in files if file.suffix == ".json" and file.is_file() and not file.is_symlink()]


def _read_session_document(file: Path) -> Fields:
    try:
        return get_fields(parse_json_bytes(file.read_bytes())) if file.stat().st_size <= LINE_BYTES_MAX else {}
    except (OSError, InputError):
        return {}  # reported when it is read
