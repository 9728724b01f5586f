"""The key of a store: made once, private, the same for every process."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.signing import find_signer, sign_message
from custody.workspace.store_key import KEY_FILE, ensure_store_key, read_store_public_key


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    home = tmp_path / "custody"
    assert read_store_public_key(home) is None
    key = ensure_store_key(home)
    assert key.startswith("ssh-ed25519 ") and len(key.split()) == 2
    assert (ensure_store_key(home), read_store_public_key(home)) == (key, key)
    assert stat.S_IMODE((home / "store_key").stat().st_mode) == 0o600
    assert sorted(file.name for file in home.iterdir()) == ["store_key", "store_key.pub"]


def test_processes_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        keys = set(pool.map(lambda _: ensure_store_key(tmp_path / "custody"), range(6)))
    assert keys == {read_store_public_key(tmp_path / "custody")}


def test_it_makes_signatures_without_a_passphrase(tmp_path: Path) -> None:
    key = ensure_store_key(tmp_path)
    signature = sign_message(b"a head", tmp_path / KEY_FILE, "custody-head")
    assert find_signer(b"a head", signature, "custody-head", f"me {key}\n".encode()) == "me"


def test_a_public_key_that_does_not_fit_is_replaced(tmp_path: Path) -> None:
    key = ensure_store_key(tmp_path)
    (tmp_path / "store_key.pub").write_text("ssh-ed25519 AAAA\n")
    assert ensure_store_key(tmp_path) == key
    (tmp_path / "store_key.pub").unlink()
    assert (ensure_store_key(tmp_path), read_store_public_key(tmp_path)) == (key, key)


def test_a_broken_private_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store_key").write_text("not a key\n")
    (tmp_path / "store_key").chmod(0o600)
    with pytest.raises(InputError, match="cannot read the key"):
        ensure_store_key(tmp_path)
