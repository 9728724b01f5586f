"""Services with well-recorded projects."""

import subprocess
from collections.abc import Iterator

import pytest

from custody.workspace.workspace import Workspace
from tests.builders.questions import a_project, a_still, told, what_happened
from tests.builders.service import Asked, a_keeper, asked
from tests.builders.teams import a_team
from tests.house.postgres import a_database


@pytest.fixture(scope="package")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A service in a well-recorded repository; another project has its own, empty repository."""
    folder = tmp_path_factory.mktemp("embedded")
    workspace, _ = a_project(folder / "own")
    subprocess.run(["git", "init", "-q", str(folder / "other")], check=True)
    with asked(a_keeper(workspace, a_still(Workspace(folder / "other")))) as made:
        yield made


@pytest.fixture(scope="package")
def team(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A service on a team's database, outside any repository, with a role bound to one project."""
    with a_database(postgres_url) as url, a_team(url, tmp_path_factory.mktemp("team"), "other") as made:
        own, other = a_still(made.workspace()), a_still(made.workspace("other"))
        told(own, what_happened())
        with asked(a_keeper(own, other)) as service:
            yield service
