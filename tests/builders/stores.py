"""Real stores with a predictable clock and random numbers."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

import psycopg

from custody.store import Heads, Store, StoreEnvironment, open_postgres, open_sqlite
from custody.workspace.wiring import VIEWS
from tests.house.postgres import a_database

NOON = 1_769_860_800_000_000_000


def surroundings(folder: Path | None = None) -> StoreEnvironment:
    """Return a clock that ticks by a second, counting tokens, and heads in ``folder``."""
    ticks, tokens = count(NOON, 1_000_000_000), count(1)
    heads = None if folder is None else Heads(folder)
    return StoreEnvironment(lambda: next(ticks), lambda: f"{next(tokens):032x}", heads)


def a_sqlite_store(folder: Path) -> Store:
    """Return the store in ``folder``; create it if it is missing."""
    return Store(open_sqlite(folder / "custody.db"), VIEWS, surroundings(folder))


def a_postgres_store(url: str, folder: Path) -> Store:
    """Return the store in a PostgreSQL database, its heads in ``folder``."""
    return Store(open_postgres(url), VIEWS, surroundings(folder))


@contextmanager
def a_migrated_template(server: str) -> Iterator[str]:
    """Yield the name of a database on ``server`` with an empty store's tables, to copy instead of migrating again."""
    with a_database(server) as url, TemporaryDirectory() as folder:
        a_postgres_store(url, Path(folder)).close()
        yield urlsplit(url).path.removeprefix("/")


@contextmanager
def a_copied_database(server: str, template: str) -> Iterator[str]:
    """Yield the URL of a copy of ``template`` on ``server``, dropped after the block.

    Files are copied as they are, with what PostgreSQL remembers of the catalog: a first connection need not look it up.
    """
    name = f"custody_test_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as admin:
        as_files = (
            " STRATEGY FILE_COPY" if admin.info.server_version >= 150_000 else ""
        )  # the only way before that version
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{as_files}'.encode())
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
