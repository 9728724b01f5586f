"""SQL about the sources that sessions read."""

from collections.abc import Collection
from dataclasses import dataclass

from custody.core.ids import SessionId
from custody.store import Store, placeholders
from custody.store.db import SqlValue
from custody.store.tables import integer


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Sources by their locators, the last read first, and their total number."""

    locators: tuple[str, ...]
    total: int


def locators_read_by(store: Store, sessions: Collection[SessionId], until_ns: int, limit: int) -> ReadRows:
    """Return what these sessions read up to a time, without reading any record."""
    where = f"FROM source_read WHERE session IN ({placeholders(sessions)}) AND at_ns <= ?"
    values: list[SqlValue] = [*sessions, until_ns]
    rows = store.db.rows(
        f"SELECT locator {where} GROUP BY locator ORDER BY max(at_ns) DESC, locator LIMIT {int(limit)}", values
    )
    total = store.db.rows(f"SELECT count(DISTINCT locator) {where}", values)
    return ReadRows(tuple(str(locator) for (locator,) in rows), integer(total[0][0]))
