"""Where events go: the repository's own folder, or the user's if that cannot be written; and the gaps."""

from __future__ import annotations

import os
import sys
import time

from .durable import make_durable_folder, new_spool_name, sync_folder, write_spool_event
from .fast_primitives import sha256

KEY_BYTES = 32
ID_DIGITS = 32
GAP_WORDS_MAX = 300


def find_user_state_folder(environment: dict[str, str]) -> str:
    """Return custody's folder in the user's state folder."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "custody")


def locate_event_fallback(home: str, environment: dict[str, str]) -> str:
    """Return the fallback folder for events of the store at ``home``: one per repository."""
    return os.path.join(
        find_user_state_folder(environment), "fallback", read_repository_id(home) or repository_name_from_home(home)
    )


def read_repository_id(home: str) -> str | None:
    """Return the repository's id from ``custody init``, which survives a move; None without one."""
    try:
        with open(os.path.join(home, "id"), encoding="ascii", errors="replace") as file:
            name = file.readline(ID_DIGITS + 1).strip()
    except OSError:
        return None  # not set up, or not readable: its path identifies it
    return name if len(name) == ID_DIGITS and set(name) <= set("0123456789abcdef") else None


def repository_name_from_home(home: str) -> str:
    """Return the name of a repository that was never set up: a digest of its path."""
    name: str = sha256(os.fsencode(home)).hexdigest()
    return name[:ID_DIGITS]


def spool_hook_event(home: str, data: bytes, environment: dict[str, str]) -> str:
    """Make ``data`` durable in the spool, or in the fallback; return its name, or raise the first ``OSError``."""
    name = new_spool_name()
    try:
        write_spool_event(os.path.join(home, "spool"), name, data)
    except OSError as first:
        fallback = locate_event_fallback(home, environment)
        try:
            write_spool_event(os.path.join(fallback, "spool"), name, data)
        except OSError:
            raise first from None
        _record_fallback_owner(fallback, home)
    return name


def record_capture_gap(home: str, text: str, environment: dict[str, str]) -> None:
    """Count an event that could not be recorded, where ``custody doctor`` reads it; else print it.

    The user's own folder is the last one: its gaps count in every repository, so none is lost.
    """
    line = f"{time.time_ns()} {' '.join(text.split())[:GAP_WORDS_MAX]}\n".encode("utf-8", "backslashreplace")
    for folder in (home, locate_event_fallback(home, environment), find_user_state_folder(environment)):
        try:
            make_durable_folder(folder)
            handle = os.open(
                os.path.join(folder, "gaps"),
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        except OSError:
            continue  # try the next folder
        try:
            os.write(handle, line)
            return
        except OSError:
            continue
        finally:
            os.close(handle)
    print_last_words(text)


def print_last_words(text: str) -> None:
    """Print one line on standard error, if anybody reads it."""
    try:
        sys.stderr.write(f"custody: {text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # closed: the gap is counted all the same


def read_capture_gaps(folder: str | os.PathLike[str]) -> list[str]:
    """Return the counted gaps, one line each."""
    try:
        with open(os.path.join(folder, "gaps"), encoding="utf-8", errors="backslashreplace") as file:
            return [line.strip() for line in file if line.strip()]
    except OSError:
        return []  # no gaps, or none that this user may read


def list_hooked_agents(home: str) -> list[str]:
    """Return the agents that ``custody init`` set up in the repository; none if it was never run."""
    try:
        with open(os.path.join(home, "hook", "agents"), encoding="utf-8", errors="replace") as file:
            return file.read().split()
    except OSError:
        return []  # not set up, or not readable: do not record here


def load_redaction_key(home: str) -> bytes:
    """Return this machine's key, created if missing; it is linked into place, so it never replaces another."""
    path = os.path.join(home, "key")
    for _ in range(2):
        try:
            with open(path, "rb") as file:
                return file.read(KEY_BYTES)
        except FileNotFoundError:
            _create_redaction_key(home, path)
    return b""


def _create_redaction_key(home: str, path: str) -> None:
    make_durable_folder(home)
    aside = f"{path}.{os.getpid()}.new"
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, os.urandom(KEY_BYTES))
        os.fsync(handle)
        try:
            os.link(aside, path)
        except FileExistsError:
            return  # another process created it meanwhile
        sync_folder(home)
    finally:
        os.close(handle)
        os.unlink(aside)


def _record_fallback_owner(fallback: str, home: str) -> None:
    """Write the repository's path beside fallback events, for people who find them."""
    path = os.path.join(fallback, "repository")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # it exists already; the event is stored in any case
    with os.fdopen(handle, "wb") as file:
        file.write(os.fsencode(home) + b"\n")
