"""Repositories and remotes that try to make a push or pull run a program: each works on plain git, none on custody."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from custody.core.errors import CustodyError
from custody.share.sync import pull_from_git, push_to_git
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.repo import Built, a_history, a_repository
from tests.builders.team import recorded

SSH = "ssh://host.invalid/x"
HTTPS = "https://127.0.0.1:9/x"


class TrappedRepository:
    """A repository with a remote; a trap in one of them writes ``marker`` when it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marker = folder / "marker"
        self.spring = folder / "spring"
        self.spring.write_text(f'#!/bin/sh\necho "$0 $@" >> {self.marker}\nexit 1\n')
        self.spring.chmod(0o755)
        self.built = a_repository(folder / "repository")
        a_history(self.built, {b"x": b"one\n"})
        self.built.checkout()
        self.remote = a_repository(folder / "remote.git", bare=True)
        self.environment: dict[str, str] = {}
        self.config("remote.origin.url", str(self.remote.path))
        self.config("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")

    def config(self, name: str, value: str, of: Built | None = None) -> None:
        (of or self.built).git("config", name, value)

    def plain(self) -> None:
        """Push and fetch with plain git."""
        for arguments in (("push", "origin", "main"), ("fetch", "origin")):
            subprocess.run(
                ("git", *arguments),
                cwd=self.built.path,
                env={**os.environ, **self.environment, "GIT_TERMINAL_PROMPT": "0"},
                capture_output=True,
                timeout=60,
                check=False,
            )


def _setting(name: str, value: str = "{spring}", url: str | None = None) -> Callable[[TrappedRepository], None]:
    def lay(trap: TrappedRepository) -> None:
        if url is not None:
            trap.config("remote.origin.url", url)
        trap.config(name.format(url=url), value.format(spring=trap.spring))

    return lay


def _instead(trap: TrappedRepository) -> None:
    trap.config(f"url.ext::{trap.spring} %S .insteadOf", "https://nowhere.invalid/")
    trap.config("protocol.ext.allow", "always")
    trap.config("remote.origin.url", "https://nowhere.invalid/x")


def _ext(trap: TrappedRepository) -> None:
    trap.config("protocol.ext.allow", "always")
    trap.config("remote.origin.url", f"ext::{trap.spring} %S x")


def _hook(name: str, of: str) -> Callable[[TrappedRepository], None]:
    def lay(trap: TrappedRepository) -> None:
        folder = trap.built.path / ".git" if of == "repository" else trap.remote.path
        (folder / "hooks").mkdir(exist_ok=True)
        (folder / "hooks" / name).symlink_to(trap.spring)

    return lay


def _hooks_path(trap: TrappedRepository) -> None:
    hooks = trap.folder / "hooks"
    hooks.mkdir()
    for name in ("pre-receive", "update", "reference-transaction"):
        (hooks / name).symlink_to(trap.spring)
    trap.config("core.hooksPath", str(hooks), trap.remote)


def _alternate_refs(trap: TrappedRepository) -> None:
    other = a_repository(trap.folder / "other.git", bare=True)
    (trap.remote.path / "objects" / "info" / "alternates").write_text(f"{other.path}/objects\n")
    trap.config("core.alternateRefsCommand", str(trap.spring), trap.remote)


def _signed(trap: TrappedRepository) -> None:
    trap.config("push.gpgSign", "true")
    trap.config("gpg.program", str(trap.spring))
    trap.config("receive.certNonceSeed", "seed", trap.remote)


def _helper_on_path(trap: TrappedRepository) -> None:
    folder = trap.built.path / "programs"
    folder.mkdir()
    (folder / "git-remote-evil").symlink_to(trap.spring)
    trap.environment = {"PATH": os.pathsep.join((str(folder), os.environ["PATH"]))}
    trap.config("protocol.evil.allow", "always")
    trap.config("remote.origin.url", "evil://x/y")


def _vcs(trap: TrappedRepository) -> None:
    _helper_on_path(trap)
    trap.config("remote.origin.url", str(trap.remote.path))
    trap.config("remote.origin.vcs", "evil")


def _variable(name: str) -> Callable[[TrappedRepository], None]:
    def lay(trap: TrappedRepository) -> None:
        trap.config("remote.origin.url", SSH)
        trap.environment = {name: str(trap.spring)}

    return lay


def _ask_pass(name: str) -> Callable[[TrappedRepository], None]:
    """Lay a trap that needs a server that prompts for a password."""

    def lay(trap: TrappedRepository) -> None:
        trap.config("remote.origin.url", HTTPS)
        trap.environment = {name: str(trap.spring)}

    return lay


TRAPS: Mapping[str, Callable[[TrappedRepository], None]] = {
    "ssh-command": _setting("core.sshCommand", url=SSH),
    "upload-pack": _setting("remote.origin.uploadpack"),
    "receive-pack": _setting("remote.origin.receivepack"),
    "ext": _ext,
    "instead-of": _instead,
    "vcs": _vcs,
    "helper": _helper_on_path,
    "signed-push": _signed,
    "pre-push": _hook("pre-push", "repository"),
    "reference-transaction": _hook("reference-transaction", "repository"),
    "remote-pre-receive": _hook("pre-receive", "remote"),
    "remote-update": _hook("update", "remote"),
    "remote-post-receive": _hook("post-receive", "remote"),
    "remote-post-update": _hook("post-update", "remote"),
    "remote-reference-transaction": _hook("reference-transaction", "remote"),
    "remote-hooks-path": _hooks_path,
    "remote-alternate-refs": _alternate_refs,
    "git-proxy": _setting("core.gitProxy", url="git://host.invalid/x"),
    "GIT_SSH_COMMAND": _variable("GIT_SSH_COMMAND"),
    "GIT_SSH": _variable("GIT_SSH"),
}

NETWORK_TRAPS: Mapping[str, Callable[[TrappedRepository], None]] = {
    "credential-helper": _setting("credential.helper", "!{spring}", url=HTTPS),
    "ask-pass": _setting("core.askPass", url=HTTPS),
    "GIT_ASKPASS": _ask_pass("GIT_ASKPASS"),
    "SSH_ASKPASS": _ask_pass("SSH_ASKPASS"),
    "http-proxy": _setting("http.proxy", "http://127.0.0.1:9", url=HTTPS),
}
"""Traps that only a network server triggers; tests below show that they are not read."""


def lay_trap(name: str, folder: Path) -> TrappedRepository:
    trap = TrappedRepository(folder)
    {**TRAPS, **NETWORK_TRAPS}[name](trap)
    return trap


@pytest.mark.parametrize("name", TRAPS)
def test_the_trap_works(name: str, tmp_path: Path) -> None:
    trap = lay_trap(name, tmp_path)
    trap.plain()
    assert trap.marker.exists()


@pytest.mark.parametrize("name", [*TRAPS, *NETWORK_TRAPS])
def test_nothing_is_executed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = lay_trap(name, tmp_path)
    for variable, value in trap.environment.items():
        monkeypatch.setenv(variable, value)
    workspace = recorded(Workspace(trap.built.path), an_event())
    errors = []
    for verb in (push_to_git, pull_from_git):
        try:
            verb(workspace, None)
        except CustodyError as error:
            errors.append(error.message)
    assert not [message for message in errors if "took longer" in message]
    assert not trap.marker.exists(), trap.marker.read_text()


def test_only_credentials_of_the_user_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git reads no configuration of the repository when it uses a remote."""
    trap = TrappedRepository(tmp_path)
    mine = tmp_path / "mine"
    mine.write_text(f"#!/bin/sh\necho mine >> {tmp_path}/used\nexit 1\n")
    mine.chmod(0o755)
    (tmp_path / "global").write_text(f"[core]\n\tsshCommand = {mine}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    trap.config("remote.origin.url", SSH)
    trap.config("core.sshCommand", str(trap.spring))
    workspace = recorded(Workspace(trap.built.path), an_event())
    with pytest.raises(CustodyError):
        push_to_git(workspace, None)
    assert (tmp_path / "used").exists()
    assert not trap.marker.exists()
