"""Real stores with a clock and chance that a test can foresee."""

from itertools import count
from pathlib import Path

from custody.store import Heads, Store, StoreEnvironment, open_postgres, open_sqlite
from custody.workspace.wiring import VIEWS

NOON = 1_769_860_800_000_000_000


def surroundings(folder: Path | None = None) -> StoreEnvironment:
    """A clock that ticks by a second, tokens that count, heads in ``folder``."""
    ticks, tokens = count(NOON, 1_000_000_000), count(1)
    heads = None if folder is None else Heads(folder)
    return StoreEnvironment(lambda: next(ticks), lambda: f"{next(tokens):032x}", heads)


def a_sqlite_store(folder: Path) -> Store:
    """The store in ``folder``, made if it is not there."""
    return Store(open_sqlite(folder / "custody.db"), VIEWS, surroundings(folder))


def a_postgres_store(url: str, folder: Path) -> Store:
    """The store in a PostgreSQL database, its heads in ``folder``."""
    return Store(open_postgres(url), VIEWS, surroundings(folder))
