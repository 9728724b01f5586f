"""Temporary folders of the tests in memory, where stores and git need not wait for the disk."""

import os
import shutil
import tempfile
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
IN_MEMORY_BYTES_MIN = 6_000_000_000


def use_temporary_folder_in_memory() -> None:
    """Have temporary folders in memory where it has room and may hold programs; ``TMPDIR``, if set, stays."""
    if "TMPDIR" in os.environ or not can_hold_temporary_folders(IN_MEMORY):
        return
    folder = IN_MEMORY / f"tests-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    if folder.stat().st_uid == os.getuid():
        folder.chmod(0o711)  # PostgreSQL runs as another account below it
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def can_hold_temporary_folders(folder: Path) -> bool:
    """Return whether a folder is writable, has room, and lets programs run: in many containers it is too small."""
    try:
        room, flags = shutil.disk_usage(folder).free, os.statvfs(folder).f_flag
    except OSError:
        return False
    return room >= IN_MEMORY_BYTES_MIN and not flags & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(folder, os.W_OK)
