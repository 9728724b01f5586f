"""GitHub's webhook over HTTP: a stranger gets nothing, a delivery becomes one job."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from custody.server.app.github_jobs import GitHubSettings
from custody.server.app.tenancy import connect_control_tables
from custody.server.control import JobState
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.fake_github import REPOSITORY, FakeGitHub
from tests.builders.service import Asked, a_keeper, asked

fake = FakeGitHub()
fake.opened(3, "b" * 40, "a" * 40)
PATH = "/github/webhook"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Asked]:
    workspace = Workspace(a_git_folder(tmp_path / "repository"))
    with connect_control_tables(workspace) as control:
        control.github.connect(REPOSITORY, "default")
    with asked(a_keeper(workspace), github=GitHubSettings(secret=fake.secret)) as made:
        yield made


def jobs(service: Asked) -> list[str]:
    with connect_control_tables(service.workspace) as control:
        return [job.kind for job in control.jobs.list_in_states((JobState.WAITING,), 9)]


def test_a_signed_delivery_is_queued_once(service: Asked) -> None:
    body, headers = fake.delivery("pull_request", "opened", 3, "delivery-1")
    first = service.client.post(PATH, content=body, headers=headers)
    assert (first.status_code, first.json()) == (202, {"taken": "queued", "said": "queued", "jobs": 1})
    again = service.client.post(PATH, content=body, headers=headers)
    assert (again.status_code, again.json()["taken"]) == (200, "known")
    assert jobs(service) == ["github.judge"]


@pytest.mark.parametrize("signature", [None, "", "sha256=" + "0" * 64, "sha1=" + "0" * 40])
def test_a_stranger_reaches_nothing(service: Asked, signature: str | None) -> None:
    body, headers = fake.delivery("pull_request", "opened", 3, "delivery-1")
    del headers["X-Hub-Signature-256"]
    answer = service.client.post(PATH, content=body, headers=headers | _signed(signature))
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert jobs(service) == []


def test_a_token_of_ours_is_not_a_signature(service: Asked) -> None:
    assert service.client.post(PATH, json={}, headers={"Authorization": "Bearer all-scopes"}).status_code == 401


def test_without_a_secret_every_delivery_is_rejected(tmp_path: Path) -> None:
    workspace = Workspace(a_git_folder(tmp_path / "repository"))
    body, headers = fake.delivery("pull_request", "opened", 3, "delivery-1")
    with asked(a_keeper(workspace)) as made:
        assert made.client.post(PATH, content=body, headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("change", "status"), [({"Content-Type": "text/plain"}, 415), ({"X-GitHub-Delivery": "x"}, 422)]
)
def test_what_is_signed_must_still_be_a_delivery(service: Asked, change: dict[str, str], status: int) -> None:
    body, headers = fake.delivery("pull_request", "opened", 3, "delivery-1")
    assert service.client.post(PATH, content=body, headers=headers | change).status_code == status
    assert jobs(service) == []


def test_rubbish_with_a_signature_is_said_so(service: Asked) -> None:
    body, headers = fake.signed("pull_request", b'{"pull_request": 3}', "delivery-1")
    assert service.client.post(PATH, content=body, headers=headers).status_code == 422


def _signed(signature: str | None) -> dict[str, Any]:
    return {} if signature is None else {"X-Hub-Signature-256": signature}
