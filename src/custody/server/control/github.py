"""Which repository on GitHub belongs to which project, and which deliveries were taken in."""

from dataclasses import dataclass

from custody.core.ids import Digest
from custody.store.db import Db, SqlValue
from custody.store.tables import integer


@dataclass(frozen=True, slots=True)
class GitHubConnection:
    """A repository of GitHub's and the project that its evidence belongs to."""

    full_name: str
    project: str
    installation: int | None


class GitHubTables:
    """Repositories and deliveries of one database; names are compared without regard to case, as GitHub does."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def connect(self, full_name: str, project: str) -> None:
        """Say which project a repository belongs to, whatever was said before."""
        self._db.run(
            "INSERT INTO github_repository (full_name, project, installation) VALUES (?, ?, NULL)"
            " ON CONFLICT (full_name) DO UPDATE SET project = excluded.project",
            (full_name.lower(), project),
        )

    def disconnect(self, full_name: str) -> bool:
        """Forget a repository; False if it was not known."""
        gone = self._db.rows(
            "DELETE FROM github_repository WHERE full_name = ? RETURNING full_name", (full_name.lower(),)
        )
        return bool(gone)

    def named(self, full_name: str) -> GitHubConnection | None:
        """The repository of that name; None if nobody connected it."""
        found = self._db.rows(
            "SELECT full_name, project, installation FROM github_repository WHERE full_name = ?", (full_name.lower(),)
        )
        return _connected(*found[0]) if found else None

    def all(self) -> list[GitHubConnection]:
        """Every repository, by name."""
        rows = self._db.rows("SELECT full_name, project, installation FROM github_repository ORDER BY full_name")
        return [_connected(*row) for row in rows]

    def installed(self, full_name: str, installation: int) -> None:
        """Keep which installation of the app speaks for a repository."""
        self._db.run(
            "UPDATE github_repository SET installation = ? WHERE full_name = ?", (installation, full_name.lower())
        )

    def take_in(self, id_: str, digest: Digest, now_ns: int, *, same_body_too: bool) -> bool:
        """Keep a delivery; False if it was taken in before, with ``same_body_too`` also under another id."""
        if same_body_too and self._db.rows("SELECT 1 FROM github_delivery WHERE digest = ?", (digest,)):
            return False
        made = self._db.rows(
            "INSERT INTO github_delivery (id, digest, at_ns) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
            (id_, digest, now_ns),
        )
        return bool(made)


def _connected(full_name: SqlValue, project: SqlValue, installation: SqlValue) -> GitHubConnection:
    number = None if installation is None else integer(installation)
    return GitHubConnection(str(full_name), str(project), number)
