"""Writing loose objects, as git writes them: the id of an object is that of its content, whoever writes it."""

import os
import zlib
from hashlib import new
from pathlib import Path

from custody.core.errors import WorldError

SPACE = "free space there, or make it writable; nothing was lost"

_LEVEL = 1


def keep_loose(objects: Path, object_format: str, kind: str, content: bytes) -> str:
    """Keep an object below the folder ``objects``; its id."""
    whole = b"%s %d\0%s" % (kind.encode("ascii"), len(content), content)
    sha = new(object_format, whole, usedforsecurity=False).hexdigest()
    path = objects / sha[:2] / sha[2:]
    if not path.exists():
        write_at_once(path, zlib.compress(whole, _LEVEL))
    return sha


def write_at_once(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` in one step."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
    except OSError as error:
        raise WorldError(f"cannot write to '{path.parent}': {error.strerror}", hint=SPACE) from error
