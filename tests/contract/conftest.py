"""One suite, run against every database that can hold a store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from custody.store import Store
from tests.builders.stores import a_copied_database, a_migrated_template, a_postgres_store, a_sqlite_store

Opener = Callable[[], Store]


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> Iterator[str]:
    """The name of an empty database with the tables of this version."""
    with a_migrated_template(postgres_url) as name:
        yield name


@pytest.fixture
def empty_postgres(postgres_url: str, postgres_template: str) -> Iterator[str]:
    """The URL of a database for this test only: like ``fresh_postgres`` after the first opening."""
    with a_copied_database(postgres_url, postgres_template) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same store again and again, as separate processes would."""
    opened: list[Store] = []
    url = request.getfixturevalue("empty_postgres") if request.param == "postgres" else None

    def opener() -> Store:
        store = a_sqlite_store(tmp_path) if url is None else a_postgres_store(url, tmp_path)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Opener) -> Store:
    """A fresh store."""
    return open_store()
