"""One event, one file: written aside, synced, renamed into place, the folder synced.

After ``write_event`` returns, the event survives ``kill -9`` and power loss. Before that, nobody was told that it
exists.
"""

from __future__ import annotations

import errno
import os
import time

from .fast_primitives import sha256

MAGIC = b"custody-spool 1 "
UNFINISHED = ".tmp"


def new_name() -> str:
    """A spool file's name that no other event has: sorts by time, unique by process and chance."""
    return f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(8).hex()}"


def framed(data: bytes) -> bytes:
    """The file's bytes: a line with the digest, so that a damaged file is known as one, then the event."""
    return b"%s%s\n%s" % (MAGIC, sha256(data).hexdigest().encode(), data)


def unframed(raw: bytes) -> bytes | None:
    """The event in a spool file's bytes; None when they are not what was written."""
    line, _, data = raw.partition(b"\n")
    return data if line == MAGIC + sha256(data).hexdigest().encode() else None


def write_event(folder: str, name: str, data: bytes) -> None:
    """Make ``data`` durable as ``folder/name``; an ``OSError`` means that it was not acknowledged and left nothing."""
    make_folder(folder)
    aside = os.path.join(folder, name + UNFINISHED)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            _write_all(handle, framed(data))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(aside, os.path.join(folder, name))
    except OSError:
        os.unlink(aside)
        raise
    sync_folder(folder)


def make_folder(folder: str) -> None:
    """Make sure that ``folder`` is there, for its owner alone, and survives a power cut."""
    if not os.path.isdir(folder):
        parent = os.path.dirname(folder)
        if parent in (folder, ""):
            raise OSError(errno.ENOENT, "no folder to begin with")
        if not os.path.isdir(parent):
            make_folder(parent)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # another recorder was first
            return
        sync_folder(parent)


def sync_folder(folder: str) -> None:
    """Make the folder's own entries durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
