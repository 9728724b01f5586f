"""Differences between operating systems: locks, syncing of folders, flags for opening files, the user's name.

Uses only the standard library. On Windows every module imports, and ``UNSUPPORTED`` has the reason for refusing to run.
"""

import os
import sys

IS_WINDOWS = sys.platform == "win32"
UNSUPPORTED = "custody does not run on Windows yet" if IS_WINDOWS else None

CLOEXEC = getattr(os, "O_CLOEXEC", 0)
DIRECTORY = getattr(os, "O_DIRECTORY", 0)
NOCTTY = getattr(os, "O_NOCTTY", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
"""Flags for ``os.open``; 0 where the system has no such flag."""


def lock_file(handle: int, *, shared: bool = False) -> None:
    """Wait until this process holds the lock of an open file; closing the file releases it."""
    if IS_WINDOWS:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        return
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder durable; Windows does so by itself."""
    if IS_WINDOWS:
        return
    handle = os.open(folder, os.O_RDONLY | DIRECTORY | CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def user_name() -> str:
    """Return the name of the account that runs this program, or its number if it has no name."""
    if IS_WINDOWS:
        return os.environ.get("USERNAME", "unknown")
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
