"""Where opencode keeps its sessions, and each of them as lines: the session, then each message followed by its parts.

Followed: ``packages/opencode/src/storage`` and ``packages/core/src/session/sql.ts``. Since 6d95f0d1 of February 2026 it
is a database, ``opencode.db`` (d545d8fb, 1.18.18 of August 2026); before that one JSON file per session, message and
part below ``storage`` (0.9.0, 1.0.125), in summer 2025 below ``project/<name>/storage``. Since 2.0 (databases of 2.0.12
and 2.0.26, autumn of 2026, and its betas) the same database has ``session_v2`` and, for each message with all that was
done in it, ``session_message``; the older tables stay behind. What was moved from one to the other keeps its ids.
``opencode export`` prints one session as a document. A session in a database is named as if the database were a folder:
``opencode.db/ses_…``. Of a session's file only the files of its own messages are opened.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from custody.capture.database_rows import (
    Database,
    DatabaseRow,
    RowSelection,
    is_database,
    json_line,
    line_of,
    open_agent_database,
    select_row,
)
from custody.capture.line_reader import (
    LINE_BYTES_MAX,
    FileLine,
    files_below,
    is_below,
    resolve_trees,
    root_session,
    user_home,
)
from custody.capture.transcripts import LineProblem, document_in, document_lines
from custody.capture.typed_field import Fields, fields, get_string, items, milliseconds
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse

SESSION_ID = "ses_"
SESSIONS, OLD_SESSIONS = "session", "info"
DATABASES = "opencode*.db"
UNREAD = "sessions"
"""Stands for the sessions of a database that could not be looked through."""
WHOLE_BYTES_MAX = 64 << 20
SESSIONS_MAX = 100_000
"""Of one database, with what it says of them in no more bytes than a session may have: all are held at once."""

TABLES = ("session", "session_v2")
"""Where sessions are told of; since 2.0 the second one has those of the first too."""
MESSAGES, NEWER = "message", "session_message"

_COLUMNS = ("id", "parent_id", "directory", "version", "time_created", "project_id")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What is kept of a session itself; ``root`` is the one that started it, or started the one that did."""

    id: str
    directory: str | None = None
    version: str | None = None
    created: int = 0
    root: str = ""

    def line(self, number: int) -> FileLine:
        """The session's own line."""
        about: dict[str, Json] = {"id": self.id, "directory": self.directory, "version": self.version}
        return json_line(number, {**about, "table": "session", "created": self.created, "root": self.root or self.id})


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's data folder of opencode."""
    named = environment.get("XDG_DATA_HOME", "")
    return (Path(named) if os.path.isabs(named) else user_home(environment) / ".local/share") / "opencode"


def sessions_below(place: Path) -> list[Path]:
    """The sessions' files and the databases at or below ``place``, those written last at the end."""
    found = files_below(place, (".json", ".db"))
    return [file for file in found if file == place or _is_session(file) or _is_own(file)]


def _is_session(file: Path) -> bool:
    return file.suffix == ".json" and file.name.startswith(SESSION_ID) and file.parent.parent.name == SESSIONS


def _is_own(file: Path) -> bool:
    """Whether a database has sessions of opencode's; one that cannot be asked is named when it is read."""
    if file.suffix != ".db" or not is_database(file):
        return False
    try:
        with open_agent_database(file) as database:
            return any({"id", "directory"} <= database.columns(table) for table in TABLES)
    except OSError:
        return file.match(DATABASES)


def sessions_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The sessions below ``home`` that began in one of these work trees or below it, in the order in which they did."""
    roots = resolve_trees(trees)
    found: list[tuple[int, Path]] = []
    for file in sessions_below(home / "storage" / SESSIONS) + sessions_below(home / "project"):
        if _is_session(file):
            kept = _read_session_info(_document(file))
            if is_below(kept.directory or _worked_in(file), roots):
                found.append((kept.created, file))
    for file in sorted(home.glob(DATABASES)):
        try:
            with open_agent_database(file) as database:
                kept_in = list(_sessions(database))
        except OSError:
            found.append((0, file / UNREAD))
            continue
        found += [(kept.created, file / kept.id) for kept in kept_in if is_below(kept.directory, roots)]
    return [file for _, file in sorted(found, key=lambda pair: pair[0])]


# --- a database -------------------------------------------------------------------------------------------------------


def rows_of(file: Path) -> Iterator[FileLine]:
    """The lines of all sessions of a database, or of the one that is named."""
    path, wanted = (file, None) if is_database(file) else (file.parent, file.name)
    number = count(1)
    with open_agent_database(path) as database:
        if wanted == UNREAD:
            next(_sessions(database), None)
            raise OSError(errno.EAGAIN, "it could not be read a moment ago: import again", str(path))
        for kept in sorted(_sessions(database, wanted), key=lambda kept: kept.created):
            yield from _session_lines(database, kept, number)


def _sessions(database: Database, wanted: str | None = None) -> Iterator[SessionInfo]:
    """All sessions, or one."""
    session_rows = _collect_sessions(
        row for table in TABLES for row in database.rows(_select_rows(table, _COLUMNS, wanted))
    )
    parents = {str(said.get("id")): get_string(said.get("parent_id")) for said in session_rows}
    # What a later table says of a session of the same name takes the place of what the one before said.
    for named, said in {str(said.get("id")): said for said in session_rows}.items():
        yield SessionInfo(
            id=named,
            directory=get_string(said.get("directory")) or _worktree(database, said.get("project_id")),
            version=get_string(said.get("version")),
            created=milliseconds(said.get("time_created")),
            root=root_session(
                named, parents.get if wanted is None else lambda session_id: _above(database, session_id)
            ),
        )


def _collect_sessions(rows: Iterable[DatabaseRow]) -> list[dict[str, Json]]:
    """What a database says of its sessions; an ``OSError`` where that is more than can be held."""
    told, size = list[dict[str, Json]](), 0
    for row in rows:
        size += row.size
        if len(told) == SESSIONS_MAX or size > WHOLE_BYTES_MAX:
            most = f"more than {SESSIONS_MAX:,} sessions, or more than {WHOLE_BYTES_MAX:,} bytes that name them"
            raise OSError(errno.EFBIG, f"the database has {most}")
        told.append(row.values)
    return told


def _select_rows(table: str, columns: tuple[str, ...], named: str | None) -> RowSelection:
    return (
        RowSelection(table=table, columns=columns, key="id")
        if named is None
        else select_row(table, columns, "id", named)
    )


def _above(database: Database, named: str) -> str | None:
    asked = (_select_rows(table, ("parent_id",), named) for table in TABLES)
    told = (get_string(row.values.get("parent_id")) for rows in asked for row in database.rows(rows))
    return next((parent for parent in told if parent), None)


def _worktree(database: Database, project: object) -> str | None:
    """The folder of a session's project, where the session does not say its own."""
    row = next(database.rows(_select_rows("project", ("worktree",), str(project))), None)
    return None if row is None else get_string(row.values.get("worktree"))


def _session_lines(database: Database, kept: SessionInfo, number: Iterator[int]) -> Iterator[FileLine]:
    yield kept.line(next(number))
    known: set[str] = set()
    messages = RowSelection(table=MESSAGES, columns=("id", "data"), where="session_id = ?", values=(kept.id,), key="id")
    for message in database.rows(messages):
        yield line_of(next(number), MESSAGES, message)
        named = get_string(message.values.get("id"))
        if named is not None:
            known.add(named)
            parts = RowSelection(
                table="part", columns=("id", "data"), where="message_id = ?", values=(named,), key="id"
            )
            yield from (line_of(next(number), "part", part) for part in database.rows(parts))
    if known and next(database.rows(_select_rows(TABLES[-1], ("id",), kept.id)), None) is None:
        return  # some versions of spring 2026 told everything twice, under other names
    # What 2.0 took over from the older tables says less than they do.
    for row in database.rows(_newer(database, kept.id)):
        if row.values.get("id") not in known:
            yield line_of(next(number), NEWER, row)


def _newer(database: Database, named: str) -> RowSelection:
    """A session's messages since 2.0, in the order in which they were told; before June 2026 that was not kept."""
    key = "seq" if "seq" in database.columns(NEWER) else "id"
    return RowSelection(table=NEWER, columns=("id", "type", "data"), where="session_id = ?", values=(named,), key=key)


# --- files ------------------------------------------------------------------------------------------------------------


def lines_below(file: Path, own: Iterable[FileLine]) -> Iterator[FileLine | LineProblem]:
    """The lines of a session that is kept in files, or of a document that was exported; ``own`` is the file itself."""
    number = count(1)
    said = _whole(own)
    if isinstance(said, LineProblem):
        yield said
        return
    if isinstance(said.get("messages"), list):
        yield from _exported(said, number)
        return
    kept = _read_session_info(said, file.stem)
    old = file.parent.name == OLD_SESSIONS
    base = file.parents[1] if old else file.parents[2]
    root = root_session(kept.id, lambda named: _parent_of(file, named))
    yield replace(kept, directory=kept.directory or _worked_in(file), root=root).line(next(number))
    for message in _files(base / "message" / file.stem):
        yield _line(next(number), "message", message)
        parts = base / "part" / (Path(file.stem) / message.stem if old else message.stem)
        yield from (_line(next(number), "part", part) for part in _files(parts))


def _exported(said: Fields, number: Iterator[int]) -> Iterator[FileLine | LineProblem]:
    info = fields(said.get("info"))
    # Of the sessions above only the next one is named here; tools that keep exports may have blotted its name out.
    above = get_string(info.get("parentID")) or ""
    yield replace(_read_session_info(info), root=above if above.startswith(SESSION_ID) else "").line(next(number))
    for message in map(fields, items(said.get("messages"))):
        yield _row("message", fields(message.get("info")), next(number))
        yield from (_row("part", fields(part), next(number)) for part in items(message.get("parts")))


def _row(table: str, said: Fields, number: int) -> FileLine:
    return json_line(number, {"table": table, "id": get_string(said.get("id")), "data": dict(said)})


def _line(number: int, table: str, file: Path) -> FileLine | LineProblem:
    try:
        if file.stat().st_size > LINE_BYTES_MAX:
            return LineProblem(number, f"{table} '{file.stem}' is over the limit of {LINE_BYTES_MAX:,} bytes")
        said = parse(file.read_bytes())
    except OSError as error:
        return LineProblem(number, f"{table} '{file.stem}' cannot be read: {error.strerror}")
    except InputError as error:
        return LineProblem(number, f"{table} '{file.stem}': {error.message}")
    return _row(table, {"id": file.stem, **fields(said)}, number)


def _whole(lines: Iterable[FileLine]) -> dict[str, Json] | LineProblem:
    kept = document_lines(lines, "session")
    value = kept if isinstance(kept, LineProblem) else document_in(kept, "session")
    return value if isinstance(value, dict | LineProblem) else LineProblem(1, "not a JSON object")


def _read_session_info(said: Fields, named: str = "") -> SessionInfo:
    return SessionInfo(
        id=named or get_string(said.get("id")) or "unknown",
        directory=get_string(said.get("directory")),
        version=get_string(said.get("version")),
        created=milliseconds(fields(said.get("time")).get("created")),
    )


def _worked_in(file: Path) -> str | None:
    """The folder in which a session's messages were written, where the session itself does not say it."""
    base = file.parents[1] if file.parent.name == OLD_SESSIONS else file.parents[2]
    folders = (
        get_string(fields(_document(message_file).get("path")).get("cwd"))
        for message_file in _files(base / "message" / file.stem)
    )
    return next((folder for folder in folders if folder), None)


def _parent_of(file: Path, named: str) -> str | None:
    """The session above one that is kept beside ``file``; a name that is no plain one leads nowhere."""
    plain = named.startswith(SESSION_ID) and "/" not in named and "\0" not in named
    return get_string(_document(file.with_name(f"{named}.json")).get("parentID")) if plain else None


def _files(folder: Path) -> list[Path]:
    """The files of a folder, by name, which is the order in which they were made; links are not followed."""
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []  # a session in which nothing was said
    return [file for file in found if file.suffix == ".json" and file.is_file() and not file.is_symlink()]


def _document(file: Path) -> Fields:
    try:
        return fields(parse(file.read_bytes())) if file.stat().st_size <= LINE_BYTES_MAX else {}
    except (OSError, InputError):
        return {}  # named when it is read
