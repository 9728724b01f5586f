"""The stores and reviewers of a team, as custody.toml lists them."""

import pytest

from custody.config import TEAM_FILE, TeamPolicy, load_rule_files, load_team_policy
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.workspace.wiring import import_rule_tables

ID = "0f" * 16
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB"
TOKEN_KEY = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t"
POLICY = f"""
[gate]
tier_max = 3

[stores]
laptop = {{ id = "{ID}", key = "{KEY}", expires = 2026-03-01 }}

[reviewers]
ana = {{ key = "{TOKEN_KEY}", accounts = ["ana@example.com", "github:Ana"] }}
bo = {{ accounts = ["bo@example.com"] }}
"""
FEBRUARY_NS, APRIL_NS = 1_770_000_000 * 10**9, 1_775_000_000 * 10**9


def read(text: str) -> TeamPolicy:
    return load_team_policy(lambda path: text.encode() if path == RepoPath.of(TEAM_FILE) else None)


def test_a_store_is_enrolled_until_it_expires() -> None:
    policy = read(POLICY)
    assert policy.find_store(ID, FEBRUARY_NS) == policy.stores["laptop"]
    assert policy.find_store(ID, APRIL_NS) is None
    assert policy.find_store("1f" * 16, FEBRUARY_NS) is None


@pytest.mark.parametrize("name", ["ana", "ANA@example.com", "github:ana", " Ana ", "\uff21na"])
def test_a_reviewer_is_found_by_every_spelling_of_an_account(name: str) -> None:
    assert list(read(POLICY).find_reviewers(name, FEBRUARY_NS)) == ["ana"]


def test_only_a_key_on_a_device_proves_presence() -> None:
    reviewers = read(POLICY).reviewers
    assert (reviewers["ana"].proves_presence, reviewers["bo"].proves_presence) == (True, False)


def test_without_a_file_the_policy_is_empty() -> None:
    assert load_team_policy(lambda _path: None) == TeamPolicy()


@pytest.mark.parametrize(
    "text",
    [
        '[stores]\nx = { id = "0f", key = "ssh-ed25519 AAAA" }',
        f'[stores]\nx = {{ id = "{ID}" }}',
        f'[stores]\nx = {{ id = "{ID}", key = "rot13 AAAA" }}',
        f'[stores]\nx = {{ id = "{ID}", key = "{KEY} comment" }}',
        f'[stores]\nx = {{ id = "{ID}", key = "{KEY}", role = "king" }}',
        f'[stores]\nx = {{ id = "{ID}", key = "{KEY}" }}\ny = {{ id = "{ID}", key = "{KEY}" }}',
        "stores = 3",
        '[reviewers]\nana = { key = "" }',
        '[reviewers]\nana = "key"',
    ],
)
def test_an_invalid_policy_is_an_error_for_rules_too(text: str) -> None:
    with pytest.raises(InputError, match=r"custody\.toml"):
        read(text)
    with pytest.raises(InputError, match=r"custody\.toml"):
        load_rule_files(
            import_rule_tables(), lambda path: text.encode() if path == RepoPath.of(TEAM_FILE) else None, {}
        )


def test_the_lists_are_not_rules() -> None:
    read_file = lambda path: POLICY.encode() if path == RepoPath.of(TEAM_FILE) else None  # noqa: E731
    effective, _ = load_rule_files(import_rule_tables(), read_file, {})
    assert [setting.rule.name for setting in effective.settings if setting.value != setting.rule.default] == [
        "gate.tier_max"
    ]
