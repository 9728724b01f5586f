"""``custody push``, ``pull`` and ``remote`` as a user runs them."""

import json
from pathlib import Path

import pytest

from tests.builders.cli import Ran, a_git_folder, recorded
from tests.builders.in_process import custody
from tests.builders.repo import a_repository


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A user with records and a colleague without; both have the same remote."""
    remote = a_repository(tmp_path / "remote.git", bare=True)
    ana, bob = a_git_folder(tmp_path / "ana"), a_git_folder(tmp_path / "bob")
    for folder in (ana, bob):
        a_repository(folder).git("remote", "add", "origin", str(remote.path))
    return recorded(ana), bob


def test_push_and_pull_report_their_outcome(pair: tuple[Path, Path]) -> None:
    ana, bob = pair
    assert custody(bob, "push") == Ran(0, "nothing has been recorded here yet\n", "")
    assert custody(bob, "pull") == Ran(0, "nothing to pull from 'origin'\n", "")
    dry = custody(ana, "push", "--dry-run")
    assert dry == Ran(0, "To origin:\nchain STORE: would send 3 new records (3 records in total), without texts\n", "")
    assert (
        custody(ana, "push").out == "To origin:\nchain STORE: sent 3 new records (3 records in total), without texts\n"
    )
    assert custody(ana, "push").out == "To origin:\nchain STORE: up to date (3 records)\n"
    assert custody(bob, "pull", "--dry-run").out == "chain STORE: would pull 3 new records, without texts\n"
    assert custody(bob, "pull").out == "chain STORE: pulled 3 new records (3 records in total), without texts\n"
    assert custody(ana, "pull").out == "chain STORE: written by this store, not pulled\n"
    verified = custody(bob, "verify")
    assert (verified.status, "3 shared without texts" in verified.out) == (0, True)


def test_json_has_everything(pair: tuple[Path, Path]) -> None:
    report = json.loads(custody(pair[0], "push", "--with-text", "--json").out)
    assert (report["report"], report["remote"], report["transport"], report["outcome"]) == (
        "push",
        "origin",
        "git",
        "fine",
    )
    assert report["chains"][0]["outcome"] == "sent"
    assert report["chains"][0]["texts"] is True
    report = json.loads(custody(pair[1], "pull", "--json").out)
    assert [chain["outcome"] for chain in report["chains"]] == ["taken"]


def test_a_refused_chain_has_status_1(pair: tuple[Path, Path], tmp_path: Path) -> None:
    remote = a_repository(tmp_path / "remote.git", bare=True)
    remote.commit({b"about.json": b"{}"}, ref=f"refs/custody/{'a' * 32}")
    ran = custody(pair[1], "pull")
    assert ran.status == 1
    assert "REFUSED: nothing was pulled" in ran.out


def test_an_unknown_and_an_unreachable_remote_have_their_statuses(pair: tuple[Path, Path], tmp_path: Path) -> None:
    assert custody(pair[0], "push", "nowhere").status == 2
    (tmp_path / "remote.git").rename(tmp_path / "gone.git")
    ran = custody(pair[0], "push")
    assert ran.status == 3
    assert "nothing was lost" in ran.err


def test_services_are_added_listed_and_removed(tmp_path: Path) -> None:
    assert custody(tmp_path, "remote", "list").out == "no services added\n"
    (tmp_path / "token").write_text("a-secret\n")
    added = custody(tmp_path, "remote", "add", "team", "https://custody.example.org/", "--token-file", "token")
    assert added == Ran(0, "team  https://custody.example.org\n", "")
    custody(tmp_path, "remote", "add", "mine", "http://127.0.0.1:8000", "--token-file", "-", stdin="another\n")
    report = json.loads(custody(tmp_path, "remote", "list", "--json").out)
    assert [(remote["name"], remote["token"]) for remote in report["remotes"]] == [("mine", True), ("team", True)]
    assert custody(tmp_path, "remote", "remove", "team").out == "mine  http://127.0.0.1:8000\n"
    assert custody(tmp_path, "remote", "remove", "team").status == 2


@pytest.mark.parametrize("content", ["", "two words", "\xff"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    ran = custody(tmp_path, "remote", "add", "team", "https://x.example", "--token-file", "token")
    assert ran.status == 2
    assert custody(tmp_path, "remote", "list").out == "no services added\n"


def test_an_unreachable_service_changes_nothing_here(pair: tuple[Path, Path]) -> None:
    ana, _ = pair
    custody(ana, "remote", "add", "team", "http://127.0.0.1:9")
    for arguments in (("push", "team"), ("pull", "team"), ("blame", "x", "--remote")):
        ran = custody(ana, *arguments)
        assert (ran.status, "cannot reach 'team'" in ran.err) == (3, True), ran.err
    assert custody(ana, "blame", "x", "--remote=unknown").status == 2
    assert custody(ana, "verify").status == 0
