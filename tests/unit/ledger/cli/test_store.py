"""``custody store``: the name, id and key of a store, and whether the policy of HEAD enrolls it."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from custody.config import parse_team_policy
from custody.workspace.store_identity import describe_store
from custody.workspace.workspace import Workspace
from tests.builders.cli import custody
from tests.builders.repo import Built, a_repository


def a_team_repository(folder: Path) -> Built:
    built = a_repository(folder)
    built.commit({b"a.py": b"1\n"})
    built.checkout()
    return built


def identity(built: Built) -> dict[str, Any]:
    """Return the store's identity; the output of commands in tests names every store STORE."""
    value: dict[str, Any] = msgspec.to_builtins(describe_store(Workspace(built.path)))
    return value


def test_its_line_enrolls_it(tmp_path: Path) -> None:
    built = a_team_repository(tmp_path / "repository")
    shown = identity(built)
    assert (shown["enrolled"], shown["listed_key"]) == (False, None)
    text = f"[stores]\n{shown['line']}\n"
    member = parse_team_policy(tomllib.loads(text)).stores[shown["name"]]
    assert (member.id, member.key, member.role) == (shown["id"], shown["key"], "member")
    built.commit({b"custody.toml": text.encode()}, built.head())
    again = identity(built)
    assert again == {**shown, "enrolled": True, "listed_key": shown["key"]}
    assert json.loads(custody(built.path, "store", "--json").out)["enrolled"] is True
    assert custody(built.path, "store").out.startswith(f"Store {shown['name']} (enrolled)\n")


def test_another_key_in_the_policy_is_named(tmp_path: Path) -> None:
    built = a_team_repository(tmp_path / "repository")
    shown = identity(built)
    line = f'laptop = {{ id = "{shown["id"]}", key = "ssh-ed25519 AAAA" }}'
    built.commit({b"custody.toml": f"[stores]\n{line}\n".encode()}, built.head())
    out = custody(built.path, "store").out
    assert out.startswith("Store laptop (not enrolled)\n")
    assert "lists it with another key, or its entry expired: ssh-ed25519 AAAA" in out
    assert f'  laptop = {{ id = "STORE", key = "{shown["key"]}" }}\n' in out


def test_no_store_exists_outside_a_repository(tmp_path: Path) -> None:
    ran = custody(tmp_path, "store")
    assert (ran.status, ran.out) == (2, "")
