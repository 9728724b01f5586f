"""What somebody with a database tool can do to a copy of the store."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

REDATED = "UPDATE record SET at_ns = at_ns - 864000000000000 WHERE seq = 22"
DELETED = "DELETE FROM record WHERE seq = 30"
CUT_OFF = "DELETE FROM record WHERE seq > 60"
REPLACED = (
    "UPDATE body SET codec = 'plain', bytes = CAST('not I' AS BLOB)"
    " WHERE digest = (SELECT digest FROM record WHERE seq = 22)"
)


def damaged_copy(repository: Path, copy: Path, sql: str) -> None:
    """A copy of the repository with its evidence, of which one thing was changed."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(repository, copy, symlinks=True)
    with closing(sqlite3.connect(copy / ".git" / "custody" / "custody.db")) as db, db:
        db.execute(sql)
