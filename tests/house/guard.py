"""Keeps tests away from the user's home, the user's settings and the network.

The guard is an audit hook: it sees every file and connection that this process opens. Programs
that a test starts are kept in place by their environment only.
"""

import ipaddress
import os
import pwd
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FORGOTTEN = ("CUSTODY_", "GIT_", "PG", "XDG_", "CLICOLOR", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PAGER", "EDITOR")
"""Prefixes of variables with the user's settings; ``CUSTODY_TEST_PG`` is for the tests and stays."""

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "A Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "A Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
}

_FILE_EVENTS = frozenset(
    "open os.chmod os.chown os.link os.listdir os.mkdir os.remove os.rename os.rmdir os.scandir os.symlink"
    " os.truncate os.utime sqlite3.connect".split()
)
_NETWORK_EVENTS = frozenset("socket.connect socket.sendto socket.getaddrinfo".split())
_LOCAL_NAMES = frozenset(("", "localhost", "localhost.localdomain"))

_on_guard = False


@contextmanager
def on_guard() -> Iterator[None]:
    """Fail a test that uses the real home or the network inside the block."""
    global _on_guard
    _install()
    _on_guard = True
    try:
        yield
    finally:
        _on_guard = False


def give_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make ``home`` the home that programs and libraries find."""
    patch.setenv("HOME", str(home))
    for name, below in {
        "XDG_CACHE_HOME": ".cache",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_RUNTIME_DIR": ".run",
    }.items():
        patch.setenv(name, str(home / below))


def forget_user_settings(patch: pytest.MonkeyPatch) -> None:
    """Remove the user's settings for git, PostgreSQL, terminals and custody itself."""
    for name in list(os.environ):
        if name.startswith(FORGOTTEN) and name != "CUSTODY_TEST_PG":
            patch.delenv(name)
    for name, value in GIT.items():
        patch.setenv(name, value)
    patch.setenv("LC_ALL", "C.UTF-8")
    patch.setenv("TZ", "UTC")
    time.tzset()


def is_in_real_home(path: str) -> bool:
    """Return whether ``path`` is in a real home, but not in this project, its Python or a temporary folder."""
    absolute = os.path.abspath(path)
    return _is_below(absolute, _HOMES) and not _is_below(absolute, _OURS)


def is_elsewhere(host: object) -> bool:
    """Return whether ``host`` is another machine."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not isinstance(name, str) or name in _LOCAL_NAMES:
        return False
    try:
        return not ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:  # a name: resolving it already uses the network
        return True


@cache  # once: an audit hook cannot be removed
def _install() -> None:
    sys.addaudithook(_watch)


def _watch(event: str, args: tuple[object, ...]) -> None:
    if not _on_guard:
        return
    if event in _FILE_EVENTS:
        for path in args[:2]:
            if isinstance(path, str | bytes) and is_in_real_home(os.fsdecode(path)):
                pytest.fail(f"a test reached for the real home: {event} '{os.fsdecode(path)}'")
    elif event in _NETWORK_EVENTS:
        host = args[0] if event == "socket.getaddrinfo" else _host(args[-1])
        if is_elsewhere(host):
            pytest.fail(f"a test reached for the network: {event} '{host}'")


def _host(address: object) -> object:
    return address[0] if isinstance(address, tuple) else None  # a path or a number is on this machine


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)


def _spellings(*folders: str) -> tuple[str, ...]:
    return tuple({spelling for folder in folders for spelling in (os.path.abspath(folder), os.path.realpath(folder))})


def _real_homes() -> tuple[str, ...]:
    said = [os.environ.get("HOME", "")]
    try:
        said.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass  # in a container the user id may have no account, and so no home
    # A home of '/' does not count: forbidding it would forbid everything.
    return tuple(home for home in _spellings(*filter(None, said)) if home != os.sep)


_HOMES = _real_homes()
_OURS = _spellings(str(ROOT), sys.prefix, sys.base_prefix, tempfile.gettempdir())
