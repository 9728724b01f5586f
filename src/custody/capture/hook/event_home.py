"""Where events go: the repository's own folder, or the user's when that cannot be written; and the gaps."""

from __future__ import annotations

import os
import time

from .durable import make_folder, new_name, sync_folder, write_event
from .fast_primitives import sha256

KEY_BYTES = 32
ID_DIGITS = 32
GAP_WORDS_MAX = 300


def state_folder(environment: dict[str, str]) -> str:
    """The user's folder for what programs remember."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "custody")


def fallback_of(home: str, environment: dict[str, str]) -> str:
    """Where events of the store at ``home`` wait when it cannot be written: one folder per repository."""
    return os.path.join(state_folder(environment), "fallback", id_of(home) or name_of(home))


def id_of(home: str) -> str | None:
    """What ``custody init`` called the repository, so that it is found again after a move; None without that."""
    try:
        with open(os.path.join(home, "id"), encoding="ascii", errors="replace") as file:
            name = file.readline(ID_DIGITS + 1).strip()
    except OSError:
        return None  # never set up, or not readable: then its place is its name
    return name if len(name) == ID_DIGITS and set(name) <= set("0123456789abcdef") else None


def name_of(home: str) -> str:
    """What a repository is called that was never set up: by its place."""
    name: str = sha256(os.fsencode(home)).hexdigest()
    return name[:ID_DIGITS]


def write_event_file(home: str, data: bytes, environment: dict[str, str]) -> str:
    """Make ``data`` durable in the spool, or in the fallback; give its name, or raise the last ``OSError``."""
    name = new_name()
    try:
        write_event(os.path.join(home, "spool"), name, data)
    except OSError as first:
        fallback = fallback_of(home, environment)
        try:
            write_event(os.path.join(fallback, "spool"), name, data)
        except OSError:
            raise first from None
        _remember_home(fallback, home)
    return name


def add_gap(home: str, words: str, environment: dict[str, str]) -> None:
    """Count something that could not be kept, where doctor looks."""
    line = f"{time.time_ns()} {' '.join(words.split())[:GAP_WORDS_MAX]}\n".encode("utf-8", "backslashreplace")
    for folder in (home, fallback_of(home, environment)):
        try:
            make_folder(folder)
            handle = os.open(
                os.path.join(folder, "gaps"),
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        except OSError:
            continue  # the next folder may do
        try:
            os.write(handle, line)
            return
        except OSError:
            continue
        finally:
            os.close(handle)


def gaps_in(folder: str | os.PathLike[str]) -> list[str]:
    """What could not be kept, one line each."""
    try:
        with open(os.path.join(folder, "gaps"), encoding="utf-8", errors="backslashreplace") as file:
            return [line.strip() for line in file if line.strip()]
    except OSError:
        return []  # no gaps, or none that this user may see


def agents_of(home: str) -> list[str]:
    """The agents for which ``custody init`` set up the repository; none where it was never run."""
    try:
        with open(os.path.join(home, "hook", "agents"), encoding="utf-8", errors="replace") as file:
            return file.read().split()
    except OSError:
        return []  # not set up, or not readable: then it is not ours to record in


def key_of(home: str) -> bytes:
    """The key that never leaves this machine, made when it is not there; linked into place, never over another."""
    path = os.path.join(home, "key")
    for _ in range(2):
        try:
            with open(path, "rb") as file:
                return file.read(KEY_BYTES)
        except FileNotFoundError:
            _make_key(home, path)
    return b""


def _make_key(home: str, path: str) -> None:
    make_folder(home)
    aside = f"{path}.{os.getpid()}.new"
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, os.urandom(KEY_BYTES))
        os.fsync(handle)
        try:
            os.link(aside, path)
        except FileExistsError:
            return  # made by another process meanwhile: that one is the key
        sync_folder(home)
    finally:
        os.close(handle)
        os.unlink(aside)


def _remember_home(fallback: str, home: str) -> None:
    """Write beside fallback events whose they are, for a person who finds them."""
    path = os.path.join(fallback, "repository")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # it is there already; and the event is kept with or without it
    with os.fdopen(handle, "wb") as file:
        file.write(os.fsencode(home) + b"\n")
