"""Rows of projects."""

from dataclasses import dataclass

from custody.core.project import DEFAULT_PROJECT
from custody.store.db import Db, Row
from custody.store.tables import integer


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
