"""Rows of projects, tokens and reads; of a token only its hash is stored."""

from msgspec import Struct

from custody.core.ids import DEFAULT_PROJECT
from custody.store.db import Db, Row, SqlValue
from custody.store.tables import bytes_from_sql, integer_from_sql

_COLUMNS = "id, hash, project, name, scopes, created_ns, expires_ns, used_ns, revoked_ns"


class Token(Struct, frozen=True):
    """A token without its secret."""

    id: str
    hash: bytes
    project: str
    name: str
    scopes: tuple[str, ...]
    created_ns: int
    expires_ns: int | None = None
    used_ns: int | None = None
    revoked_ns: int | None = None


class Tokens:
    """The tokens of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def put(self, token: Token) -> None:
        """Store a new token."""
        self._db.run(
            f"INSERT INTO token ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token.id,
                token.hash,
                token.project,
                token.name,
                " ".join(token.scopes),
                token.created_ns,
                token.expires_ns,
                token.used_ns,
                token.revoked_ns,
            ),
        )

    def find_by_hash(self, hash_: bytes) -> Token | None:
        """Return the token with this hash."""
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM token WHERE hash = ?", (hash_,))
        return _token_from_row(rows[0]) if rows else None

    def list_all(self, project: str | None = None) -> list[Token]:
        """List all tokens, or those of one project, oldest first."""
        where, values = ("", ()) if project is None else (" WHERE project = ?", (project,))
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM token{where} ORDER BY created_ns, id", values)
        return [_token_from_row(row) for row in rows]

    def record_use(self, id_: str, now_ns: int) -> None:
        """Store the time of the last use of a token."""
        self._db.run("UPDATE token SET used_ns = ? WHERE id = ?", (now_ns, id_))

    def revoke(self, id_: str, now_ns: int) -> Token | None:
        """Revoke a token; an earlier revocation keeps its time. None if it does not exist."""
        rows = self._db.rows(
            f"UPDATE token SET revoked_ns = coalesce(revoked_ns, ?) WHERE id = ? RETURNING {_COLUMNS}", (now_ns, id_)
        )
        return _token_from_row(rows[0]) if rows else None


def _token_from_row(row: Row) -> Token:
    id_, hash_, project, name, scopes, created, expires, used, revoked = row
    return Token(
        id=str(id_),
        hash=bytes_from_sql(hash_),
        project=str(project),
        name=str(name),
        scopes=tuple(str(scopes).split()),
        created_ns=integer_from_sql(created),
        expires_ns=_read_token_time(expires),
        used_ns=_read_token_time(used),
        revoked_ns=_read_token_time(revoked),
    )


def _read_token_time(value: SqlValue) -> int | None:
    return None if value is None else integer_from_sql(value)


class Project(Struct, frozen=True):
    """A project, its creation time, and for how many days its conversations are stored."""

    name: str
    created_ns: int
    retain_days: int | None


class Projects:
    """The projects of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def list_all(self) -> list[Project]:
        """List all projects by name."""
        return [
            _project_from_row(row)
            for row in self._db.rows("SELECT name, created_ns, retain_days FROM project ORDER BY name")
        ]

    def find_by_name(self, name: str) -> Project | None:
        """Return the project of this name; None if there is none."""
        rows = self._db.rows("SELECT name, created_ns, retain_days FROM project WHERE name = ?", (name,))
        return _project_from_row(rows[0]) if rows else None

    def put(self, name: str, now_ns: int) -> bool:
        """Store a new project; False if the name is taken."""
        rows = self._db.rows(
            "INSERT INTO project (name, created_ns) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING name", (name, now_ns)
        )
        return bool(rows)

    def put_default(self, now_ns: int) -> None:
        """Store the default project."""
        self.put(DEFAULT_PROJECT, now_ns)

    def retain(self, name: str, days: int | None) -> None:
        """Set for how many days conversations are stored; None for forever."""
        self._db.run("UPDATE project SET retain_days = ? WHERE name = ?", (days, name))

    def close(self, name: str) -> None:
        """Delete the tokens and jobs of a project, so that nothing uses it any more."""
        with self._db.writing():
            self._db.run("DELETE FROM token WHERE project = ?", (name,))
            self._db.run("DELETE FROM job WHERE project = ?", (name,))

    def remove(self, name: str) -> None:
        """Delete a closed project; the log of its reads stays."""
        self._db.run("DELETE FROM project WHERE name = ?", (name,))


def _project_from_row(row: Row) -> Project:
    name, created, days = row
    return Project(str(name), integer_from_sql(created), None if days is None else integer_from_sql(days))


class TextReadRow(Struct, frozen=True):
    """A read of a conversation: the token, the text, the time."""

    token: str
    what: str
    at_ns: int


class Reads:
    """The log of reads of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def put(self, id_: str, project: str, read: TextReadRow) -> None:
        """Store a read; the same id is stored once."""
        self._db.run(
            "INSERT INTO text_read (id, project, token, what, at_ns) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (id_, project, read.token, read.what, read.at_ns),
        )

    def list_newest(self, project: str, limit: int) -> list[TextReadRow]:
        """List the last reads of a project, newest first."""
        rows = self._db.rows(
            "SELECT token, what, at_ns FROM text_read WHERE project = ? ORDER BY at_ns DESC, id LIMIT ?",
            (project, limit),
        )
        return [TextReadRow(str(token), str(what), integer_from_sql(at)) for token, what, at in rows]

    def count(self, project: str) -> int:
        """Count the reads of a project."""
        return integer_from_sql(self._db.rows("SELECT count(*) FROM text_read WHERE project = ?", (project,))[0][0])
