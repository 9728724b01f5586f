"""A service with its own store, embedded or PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.service import Asked, TestKeeper, a_keeper, asked


@pytest.fixture
def keeper(tmp_path: Path) -> TestKeeper:
    """Tokens for a project with an embedded store, and for another one."""
    return a_keeper(Workspace(a_git_folder(tmp_path / "own")), Workspace(a_git_folder(tmp_path / "other")))


@pytest.fixture
def service(keeper: TestKeeper) -> Iterator[Asked]:
    """A service on an embedded store."""
    with asked(keeper) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asked]:
    """A service on each database that can hold a store."""
    url = request.getfixturevalue("fresh_postgres") if request.param == "postgres" else None
    with asked(a_keeper(Workspace(a_git_folder(tmp_path / "own"), url))) as made:
        yield made
