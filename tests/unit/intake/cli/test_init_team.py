"""``custody init --team``: what a team's policy needs is added to custody.toml, and nothing is replaced."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from custody.workspace.store_identity import describe_store
from custody.workspace.workspace import Workspace
from tests.builders.cli import custody
from tests.builders.repo import a_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    built = a_repository(tmp_path / "repository")
    built.commit({b"a.py": b"1\n"})
    built.checkout()
    return built.path


def read(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "custody.toml").read_text())


def test_it_writes_a_policy_with_this_store(repository: Path) -> None:
    ran = custody(repository, "init", "--team")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("Next: review custody.toml, list your reviewers, and commit it on the base branch\n")
    policy, store = read(repository), describe_store(Workspace(repository))
    assert policy == {
        "gate": {"assurance_min": "witnessed"},
        "stores": {store.name: {"id": store.id, "key": store.key}},
        "reviewers": {},
    }
    assert "# ana = {" in (repository / "custody.toml").read_text()


def test_running_it_again_changes_nothing(repository: Path) -> None:
    custody(repository, "init", "--team")
    before = (repository / "custody.toml").read_bytes()
    ran = custody(repository, "init", "--team")
    assert ran.out.startswith("custody.toml has the policy of a team already\n")
    assert (repository / "custody.toml").read_bytes() == before


def test_what_is_there_stays(repository: Path) -> None:
    old = (
        "# ours\n[trust]\nema_alpha = 0.1\n\n[gate] # strict\ntier_max = 3\n\n"
        f'[stores]\nci = {{ id = "{"1f" * 16}", key = "ssh-ed25519 AAAA", role = "witness" }}\n\n'
        '[reviewers]\nana = { accounts = ["ana@example.com"] }\n'
    )
    (repository / "custody.toml").write_text(old)
    assert custody(repository, "init", "--team").status == 0
    new, was = read(repository), tomllib.loads(old)
    assert new["gate"] == {"tier_max": 3, "assurance_min": "witnessed"}
    assert (new["trust"], new["reviewers"]) == (was["trust"], was["reviewers"])
    assert (new["stores"]["ci"], len(new["stores"])) == (was["stores"]["ci"], 2)
    lines = (repository / "custody.toml").read_text().splitlines()
    assert [line for line in lines if line in old.splitlines()] == old.splitlines()


def test_a_rule_that_is_set_otherwise_is_left_and_named(repository: Path) -> None:
    (repository / "custody.toml").write_text('[gate]\nassurance_min = "enrolled"\n')
    ran = custody(repository, "init", "--team")
    assert "Left as it is: gate.assurance_min = enrolled\n" in ran.out
    assert read(repository)["gate"] == {"assurance_min": "enrolled"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[gate\n", "cannot read 'custody.toml'"),
        ("gate.tier_max = 3\n", "cannot add to gate in 'custody.toml'"),
        ("[stores]\nx = { id = 1 }\n", "invalid [stores] or [reviewers]"),
    ],
)
def test_a_file_that_it_cannot_extend_is_left_alone(repository: Path, text: str, problem: str) -> None:
    (repository / "custody.toml").write_text(text)
    ran = custody(repository, "init", "--team")
    assert (ran.status, problem in ran.err) == (2, True), ran.err
    assert (repository / "custody.toml").read_text() == text


def test_a_dry_run_writes_nothing_and_agents_are_set_up_apart(repository: Path) -> None:
    ran = custody(repository, "init", "--team", "--dry-run")
    assert ran.out.startswith("Would add to custody.toml:\n")
    assert not (repository / "custody.toml").exists()
    assert custody(repository, "init", "--team", "--agent", "cursor").status == 2
