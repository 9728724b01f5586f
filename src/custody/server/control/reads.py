"""Rows that say who read which text of a conversation."""

from dataclasses import dataclass

from custody.store.db import Db
from custody.store.tables import integer


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
