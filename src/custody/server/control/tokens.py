"""Rows of tokens. What is kept of a token opens nothing: its hash, never itself."""

from dataclasses import dataclass

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
