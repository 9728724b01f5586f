"""Rows of projects, tokens and reads. A stored token is a hash and opens nothing."""

from dataclasses import dataclass

from custody.core.ids import DEFAULT_PROJECT
from custody.store.db import Db, Row, SqlValue
from custody.store.tables import integer, raw

_COLUMNS = "id, hash, project, name, scopes, created_ns, expires_ns, used_ns, revoked_ns"


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token, which is everything but the token."""

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
        """Keep a new token."""
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

    def hashed(self, hash_: bytes) -> Token | None:
        """The token with this hash."""
        found = self._db.rows(f"SELECT {_COLUMNS} FROM token WHERE hash = ?", (hash_,))
        return _token(found[0]) if found else None

    def all(self, project: str | None = None) -> list[Token]:
        """Every token, or those of one project: oldest first."""
        where, values = ("", ()) if project is None else (" WHERE project = ?", (project,))
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM token{where} ORDER BY created_ns, id", values)
        return [_token(row) for row in rows]

    def used(self, id_: str, now_ns: int) -> None:
        """Note that a token was used."""
        self._db.run("UPDATE token SET used_ns = ? WHERE id = ?", (now_ns, id_))

    def revoke(self, id_: str, now_ns: int) -> Token | None:
        """Have a token open nothing from now on; one that was revoked keeps the moment. None if there is none."""
        found = self._db.rows(
            f"UPDATE token SET revoked_ns = coalesce(revoked_ns, ?) WHERE id = ? RETURNING {_COLUMNS}", (now_ns, id_)
        )
        return _token(found[0]) if found else None


def _token(row: Row) -> Token:
    id_, hash_, project, name, scopes, created, expires, used, revoked = row
    return Token(
        id=str(id_),
        hash=raw(hash_),
        project=str(project),
        name=str(name),
        scopes=tuple(str(scopes).split()),
        created_ns=integer(created),
        expires_ns=_moment(expires),
        used_ns=_moment(used),
        revoked_ns=_moment(revoked),
    )


def _moment(value: SqlValue) -> int | None:
    return None if value is None else integer(value)


# Rows of projects.


@dataclass(frozen=True, slots=True)
class Project:
    """What a team keeps apart, since when, and for how many days the texts of its conversations are kept."""

    name: str
    created_ns: int
    retain_days: int | None


class Projects:
    """The projects of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def all(self) -> list[Project]:
        """Every project, by name."""
        return [
            _project(row) for row in self._db.rows("SELECT name, created_ns, retain_days FROM project ORDER BY name")
        ]

    def named(self, name: str) -> Project | None:
        """One project, if there is one of that name."""
        found = self._db.rows("SELECT name, created_ns, retain_days FROM project WHERE name = ?", (name,))
        return _project(found[0]) if found else None

    def put(self, name: str, now_ns: int) -> bool:
        """Note a new project; False if there is one of that name."""
        made = self._db.rows(
            "INSERT INTO project (name, created_ns) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING name", (name, now_ns)
        )
        return bool(made)

    def put_default(self, now_ns: int) -> None:
        """Note the project that is always there."""
        self.put(DEFAULT_PROJECT, now_ns)

    def retain(self, name: str, days: int | None) -> None:
        """Say for how many days texts of conversations are kept; None for ever."""
        self._db.run("UPDATE project SET retain_days = ? WHERE name = ?", (days, name))

    def close(self, name: str) -> None:
        """Let nobody into a project any more, and have nothing done for it: its tokens and jobs are gone."""
        with self._db.writing():
            self._db.run("DELETE FROM token WHERE project = ?", (name,))
            self._db.run("DELETE FROM job WHERE project = ?", (name,))

    def remove(self, name: str) -> None:
        """Forget a project that is closed; who read what of it stays."""
        self._db.run("DELETE FROM project WHERE name = ?", (name,))


def _project(row: Row) -> Project:
    name, created, days = row
    return Project(str(name), integer(created), None if days is None else integer(days))


# Rows that say who read which text of a conversation.


@dataclass(frozen=True, slots=True)
class TextReadRow:
    """That a text was read: with which token, what, when."""

    token: str
    what: str
    at_ns: int


class Reads:
    """The log of reads of one database."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def put(self, id_: str, project: str, read: TextReadRow) -> None:
        """Note a read; the same id again is the same read."""
        self._db.run(
            "INSERT INTO text_read (id, project, token, what, at_ns) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (id_, project, read.token, read.what, read.at_ns),
        )

    def of(self, project: str, limit: int) -> list[TextReadRow]:
        """The last reads of a project's texts, newest first."""
        rows = self._db.rows(
            "SELECT token, what, at_ns FROM text_read WHERE project = ? ORDER BY at_ns DESC, id LIMIT ?",
            (project, limit),
        )
        return [TextReadRow(str(token), str(what), integer(at)) for token, what, at in rows]

    def count(self, project: str) -> int:
        """How many reads of a project's texts were noted."""
        return integer(self._db.rows("SELECT count(*) FROM text_read WHERE project = ?", (project,))[0][0])
