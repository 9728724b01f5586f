"""One event, one file: written under a temporary name, synced, renamed, and the folder synced.

After ``write_spool_event`` returns, the event survives ``kill -9`` and power loss.
"""

from __future__ import annotations

import errno
import os
import time

from .fast_primitives import sha256

MAGIC = b"custody-spool 1 "
UNFINISHED = ".tmp"


def new_spool_name() -> str:
    """Return a unique name for a spool file, which sorts by time."""
    return f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(8).hex()}"


def frame_spool_event(data: bytes) -> bytes:
    """Return the file's bytes: a line with the digest, to detect damage, then the event."""
    return b"%s%s\n%s" % (MAGIC, sha256(data).hexdigest().encode(), data)


def unframe_spool_event(raw: bytes) -> bytes | None:
    """Return the event in a spool file's bytes; None if they are damaged."""
    line, _, data = raw.partition(b"\n")
    return data if line == MAGIC + sha256(data).hexdigest().encode() else None


def write_spool_event(folder: str, name: str, data: bytes) -> None:
    """Make ``data`` durable as ``folder/name``; on an ``OSError`` nothing was acknowledged or left behind."""
    make_durable_folder(folder)
    aside = os.path.join(folder, name + UNFINISHED)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            _write_spool_bytes(handle, frame_spool_event(data))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(aside, os.path.join(folder, name))
    except OSError:
        os.unlink(aside)
        raise
    sync_folder(folder)


def make_durable_folder(folder: str) -> None:
    """Create ``folder`` durably, for its owner only, if it does not exist."""
    if not os.path.isdir(folder):
        parent = os.path.dirname(folder)
        if parent in (folder, ""):
            raise OSError(errno.ENOENT, "no parent folder exists")
        if not os.path.isdir(parent):
            make_durable_folder(parent)
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


def _write_spool_bytes(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
