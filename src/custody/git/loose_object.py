"""Writing loose objects, as git writes them: the id of an object is that of its content, whoever writes it."""

import os
import zlib
from collections.abc import Iterable
from hashlib import new
from pathlib import Path

from custody.core.errors import WorldError
from custody.git.argument import full_id

SPACE = "free space there, or make it writable; nothing was lost"
OUR_NAME, OUR_EMAIL = "custody", "custody@localhost"
"""The author of commits that custody makes."""

_LEVEL = 1


def keep_loose(objects: Path, object_format: str, kind: str, content: bytes) -> str:
    """Keep an object below the folder ``objects``; its id."""
    whole = b"%s %d\0%s" % (kind.encode("ascii"), len(content), content)
    sha = new(object_format, whole, usedforsecurity=False).hexdigest()
    path = objects / sha[:2] / sha[2:]
    if not path.exists():
        write_at_once(path, zlib.compress(whole, _LEVEL))
    return sha


def commit_content(tree: str, parents: Iterable[str], message: str, at_seconds: int) -> bytes:
    """The content of a commit of custody's own."""
    head = "\n".join([f"tree {tree}", *(f"parent {full_id(parent)}" for parent in parents)])
    signature = f"{OUR_NAME} <{OUR_EMAIL}> {at_seconds} +0000"
    return f"{head}\nauthor {signature}\ncommitter {signature}\n\n{message}\n".encode()


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
