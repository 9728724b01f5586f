"""The index of changes as a list: by what changes are called, a page at a time, without their signatures."""

from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.store import Store
from custody.store.db import Row
from custody.store.tables import integer

WORD_SIGNS = 1_000
"""Of what a change is called, a list reads so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """An indexed change as a list names it: without its signature, and with the beginning of its words."""

    id: int
    base: CommitSha
    head: CommitSha
    name: str
    title: str
    opened_ns: int
    on_main: bool


class ChangeList:
    """Reads indexed changes to be listed."""

    def __init__(self, store: Store) -> None:
        self._db = store.db

    def listed(self, *, before: int | None, limit: int, landed: bool | None, words: str = "") -> list[ChangeSummary]:
        """The changes indexed last before ``before``: landed or open ones, with these words in what they are called."""
        where, values = _matching(landed, words)
        if before is not None:
            where, values = f"{where} AND id < ?", (*values, before)
        rows = self._db.rows(
            f"SELECT id, base, head, substr(name, 1, {WORD_SIGNS}), substr(title, 1, {WORD_SIGNS}), opened_ns, on_main"
            f" FROM dupe_change WHERE {where} ORDER BY id DESC LIMIT {int(limit)}",
            values,
        )
        return [_listed(row) for row in rows]

    def count(self, landed: bool | None, words: str = "") -> int:
        """How many changes ``listed`` has in all."""
        where, values = _matching(landed, words)
        (row,) = self._db.rows(f"SELECT count(*) FROM dupe_change WHERE {where}", values)
        return integer(row[0])


def _listed(row: Row) -> ChangeSummary:
    id_, base, head, name, title, opened_ns, on_main = row
    return ChangeSummary(
        id=integer(id_),
        base=CommitSha(str(base)),
        head=CommitSha(str(head)),
        name=str(name),
        title=str(title),
        opened_ns=integer(opened_ns),
        on_main=bool(on_main),
    )


def _matching(landed: bool | None, words: str) -> tuple[str, tuple[int | str, ...]]:
    """The condition of a list, and its values; ``%`` and ``_`` in words are what they are."""
    where = "1 = 1"
    found: tuple[int | str, ...] = ()
    if landed is not None:
        where, found = f"{where} AND on_main = ?", (int(landed),)
    if words:
        sought = words.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        each = " OR ".join(f"lower({column}) LIKE ? ESCAPE '!'" for column in ("title", "name", "head"))
        where, found = f"{where} AND ({each})", (*found, f"%{sought}%", f"%{sought}%", f"{sought}%")
    return where, found
