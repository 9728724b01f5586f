"""The adapter of ssh-keygen with real keys: it makes signatures, detects changes, and never prompts."""

import os
from pathlib import Path

import pytest

from custody import signing as ssh
from custody.core.errors import InputError
from custody.signing import (
    SigningError,
    allowed_signers_from_key,
    find_signature_fault,
    find_signer,
    sign_message,
)
from tests.builders.verdicts import Key, a_key

MESSAGE = b"DSSEv1 what is signed\0\xff"


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return a_key(tmp_path / "keys")


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_what_was_signed_is_right_and_has_its_signer(tmp_path: Path, kind: str) -> None:
    key = a_key(tmp_path / "keys", kind=kind)
    signature = sign_message(MESSAGE, key.private, "custody")
    assert find_signature_fault(MESSAGE, signature, "custody") is None
    assert find_signer(MESSAGE, signature, "custody", key.allowed("ana@example.org")) == "ana@example.org"


def test_what_was_changed_is_wrong(key: Key) -> None:
    signature = sign_message(MESSAGE, key.private, "custody")
    assert find_signature_fault(MESSAGE + b" ", signature, "custody")
    assert find_signature_fault(MESSAGE, signature, "git"), "one that was made for something else"
    lines = signature.splitlines(keepends=True)
    broken = "".join([*lines[:-2], lines[-2].swapcase(), lines[-1]])
    assert find_signature_fault(MESSAGE, broken, "custody")
    assert find_signature_fault(MESSAGE, "rubbish", "custody")
    assert find_signer(MESSAGE + b" ", signature, "custody", key.allowed()) is None


def test_only_who_is_allowed_is_a_signer(key: Key, tmp_path: Path) -> None:
    signature, other = sign_message(MESSAGE, key.private, "custody"), a_key(tmp_path / "keys", "other")
    assert find_signer(MESSAGE, signature, "custody", other.allowed()) is None
    assert find_signer(MESSAGE, signature, "custody", other.allowed() + key.allowed("second@example.org")) == (
        "second@example.org"
    )
    assert find_signer(MESSAGE, signature, "custody", key.allowed(options='namespaces="git" ')) is None
    assert find_signer(MESSAGE, signature, "custody", key.allowed(options='valid-before="20000101" ')) is None
    assert find_signer(MESSAGE, signature, "custody", b"") is None
    assert find_signer(MESSAGE, signature, "custody", b"\0\xff rubbish\n") is None
    assert find_signer(MESSAGE, signature, "custody", allowed_signers_from_key(key.public.decode().strip())) == "key"


def test_a_key_with_a_passphrase_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "ask"
    program.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    program.chmod(0o700)
    for name, value in {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}.items():
        monkeypatch.setenv(name, value)
    key = a_key(tmp_path / "keys", passphrase="secret")
    with pytest.raises(InputError, match="cannot sign with") as error:
        sign_message(MESSAGE, key.private, "custody")
    assert error.value.hint is not None and "passphrase" in error.value.hint
    assert not asked.exists()


def test_a_key_that_others_may_read_is_refused(key: Key) -> None:
    key.private.chmod(0o644)
    with pytest.raises(InputError, match="cannot sign with"):
        sign_message(MESSAGE, key.private, "custody")


@pytest.mark.parametrize("name", ["nothing", "folder", "pipe", "rubbish", "alone.pub"])
def test_an_invalid_key_is_reported(key: Key, name: str) -> None:
    path = key.private.parent / name
    if name == "folder":
        path.mkdir()
    elif name == "pipe":
        os.mkfifo(path)
    elif name == "rubbish":
        path.write_bytes(b"\0\1\2 no key")
        path.chmod(0o600)
    elif name == "alone.pub":
        path.write_bytes(key.public)
    with pytest.raises(InputError):
        sign_message(MESSAGE, path, "custody")


def test_a_name_that_looks_like_an_option_is_a_file(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    key.private.rename(key.private.with_name("-h"))
    key.private.with_suffix(".pub").rename(key.private.with_name("-h.pub"))
    monkeypatch.chdir(key.private.parent)
    assert find_signature_fault(MESSAGE, sign_message(MESSAGE, Path("-h"), "custody"), "custody") is None


def test_the_agent_of_a_user_is_not_asked(key: Key, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    fake = tmp_path / "bin" / "ssh-keygen"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nenv > {seen}\npwd >> {seen}\nexit 1\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("LD_PRELOAD_OF_SOMEBODY", "1")
    with pytest.raises(InputError):
        sign_message(MESSAGE, key.private, "custody")
    told = seen.read_text().splitlines()
    names = {line.partition("=")[0] for line in told if "=" in line}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "LC_ALL", "HOME", "SSH_ASKPASS_REQUIRE"}
    folder = Path(told[-1])
    assert folder.name.startswith("custody-sign-") and not folder.exists()


def test_without_the_program_it_is_said_what_to_install(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(key.private.parent)
    for path in ("", "relative", "/nowhere", str(key.private.parent)):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(SigningError, match="not installed"):
            sign_message(MESSAGE, key.private, "custody")


def test_a_program_that_does_not_end_is_ended(key: Key, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "ssh-keygen"
    fake.write_text("#!/bin/sh\nexec cat /dev/zero > /dev/null\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ssh, "SECONDS_MAX", 0.2)
    with pytest.raises(SigningError, match="took longer"):
        sign_message(MESSAGE, key.private, "custody")
