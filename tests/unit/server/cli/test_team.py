"""The commands project, token and worker."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from custody.server.app.tenancy import PREFIX
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody

WORK_SECONDS_MAX = 120


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def test_a_project_is_created_listed_and_removed(repository: Path) -> None:
    assert custody(repository, "project", "create", "shop").out == "Created project shop\n"
    listed = json.loads(custody(repository, "project", "list", "--json").out)
    assert [project["name"] for project in listed["projects"]] == ["default", "shop"]
    refused = custody(repository, "project", "remove", "shop")
    assert (refused.status, refused.out) == (2, "")
    assert "pass --yes" in refused.err
    assert custody(repository, "project", "remove", "shop", "--yes").out == "Removed project shop\n"
    assert custody(repository, "--project", "shop", "records").status == 2


def test_commands_use_the_selected_project(repository: Path) -> None:
    custody(repository, "project", "create", "shop")
    recorded(repository, 2)
    in_shop = custody(repository, "--project", "shop", "records", "--json")
    assert json.loads(in_shop.out)["records"] == []
    assert json.loads(custody(repository, "records", "--json", CUSTODY_PROJECT="shop").out)["records"] == []
    assert len(json.loads(custody(repository, "records", "--json").out)["records"]) == 2
    assert custody(repository, "--project", "no such", "records").status == 2


def test_a_token_is_shown_once_and_listed_without_its_secret(repository: Path) -> None:
    made = custody(
        repository, "token", "create", "--scope", "read", "--scope", "text", "--expires", "2w", "--name", "ci"
    )
    assert made.status == 0
    assert made.out == f"{PREFIX}DIGEST\n", "nothing else is on stdout"
    assert "it is shown only once" in made.err
    report = json.loads(custody(repository, "token", "list", "--json").out)
    (token,) = report["tokens"]
    assert (token["name"], token["scopes"], token["state"], token["project"]) == (
        "ci",
        ["read", "text"],
        "active",
        "default",
    )
    assert PREFIX not in json.dumps(report)
    assert "revoked" in custody(repository, "token", "revoke", token["id"]).out


def test_no_file_contains_a_token(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "custody", "token", "create", "--json"], cwd=repository, capture_output=True, check=True
    )
    secret = json.loads(done.stdout)["secret"].removeprefix(PREFIX).encode()
    files = [path for path in repository.rglob("*") if path.is_file()]
    assert any(path.name == "service.db" for path in files)
    assert not any(secret in path.read_bytes() or bytes.fromhex(secret.decode()) in path.read_bytes() for path in files)


def test_only_the_owner_can_read_the_control_file(repository: Path) -> None:
    custody(repository, "token", "list")
    assert (repository / ".git/custody/service.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "create", "--scope", "root"),
        ("token", "create", "--expires", "soon"),
        ("token", "create", "--project", "nowhere"),
        ("token", "revoke", "0123456789abcdef"),
        ("project", "create", "No Name"),
        ("project", "retain", "default"),
        ("project", "retain", "default", "--days", "3", "--forever"),
        ("project", "reads", "nowhere"),
        ("project", "remove", "default", "--yes"),
        ("project", "init-database"),
        ("worker", "retry", "nothing"),
        ("worker", "--kinds", "nothing"),
    ],
)
def test_an_input_error_exits_with_2(repository: Path, arguments: tuple[str, ...]) -> None:
    ran = custody(repository, *arguments)
    assert (ran.status, ran.out) == (2, ""), ran.err


def test_a_worker_applies_the_retention(repository: Path) -> None:
    recorded(repository, 1)
    spool_of(repository).put(an_event("prompt", at="2020-01-31T12:00:00Z"))
    assert "conversations stored for 1 day" in custody(repository, "project", "retain", "default", "--days", "1").out
    custody(repository, "records")
    worked = custody(repository, "worker", "--once", "--json")
    assert (worked.status, json.loads(worked.out)["done"]) == (0, 1)
    verified = json.loads(custody(repository, "verify", "--json").out)
    assert (verified["outcome"], verified["erased"]) == ("fine", 1)
    assert json.loads(custody(repository, "worker", "list", "--json").out)["done"] == 1


def test_a_stopped_worker_reports_its_jobs(repository: Path) -> None:
    custody(repository, "project", "retain", "default", "--days", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "custody", "worker"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    ) as worker:
        try:
            for _ in range(WORK_SECONDS_MAX * 10):
                assert worker.poll() is None
                if json.loads(custody(repository, "worker", "list", "--json").out)["done"]:
                    break
                time.sleep(0.1)
            worker.send_signal(signal.SIGTERM)
            out, err = worker.communicate(timeout=60)
        finally:
            worker.kill()
    assert (worker.returncode, out) == (0, "1 done, 0 to retry, 0 failed\n")
    assert "stopping after the running job" in err
