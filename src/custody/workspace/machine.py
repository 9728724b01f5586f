"""The clock, the source of chance, the user, and files that appear whole or not at all."""

import os
import pwd
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

from custody.core.errors import InputError, WorldError


def now_ns() -> int:
    """Nanoseconds since 1970, as this machine believes; it may be set back at any time."""
    return time.time_ns()


def token(bits: int = 128) -> str:
    """That many random bits as lower-case hex digits."""
    return secrets.token_hex(bits // 8)


# Who runs this program.


def user() -> str:
    """The name of the account that runs this program, or its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


# A file that appears whole or not at all.


@contextmanager
def open_atomic(path: Path, named: Path | None = None) -> Iterator[BinaryIO]:
    """Write here, and ``path`` has it once all is written and durable; if anything fails, nothing is left behind.

    ``named`` is what a person calls it, where that is something else.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        with aside.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        aside.rename(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise _cannot_write(named or path, error) from error
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _cannot_write(path: Path, error: OSError) -> InputError | WorldError:
    message = f"cannot write '{path}': {error.strerror}"
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return InputError(message, hint="name a file in a folder that exists")
    return WorldError(message, hint="nothing was left behind; free space or choose another place")
