"""The clock, random tokens, the user, and atomic files."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

from custody.core.errors import InputError, WorldError
from custody.core.platform import user_name


def machine_now_ns() -> int:
    """Return nanoseconds since 1970 by this machine's clock, which may be set back at any time."""
    return time.time_ns()


def make_machine_token(bits: int = 128) -> str:
    """Return that many random bits as lower-case hex digits."""
    return os.urandom(bits // 8).hex()


def machine_user_name() -> str:
    """Return the name of the account that runs this program, or its number where it has none."""
    return user_name()


@contextmanager
def open_atomic_file(path: Path, shown: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` once all is written and durable; if anything fails, nothing is left behind.

    ``shown`` is the path for error messages, if it differs.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        with temporary.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.rename(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _make_file_write_error(shown or path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _make_file_write_error(path: Path, error: OSError) -> InputError | WorldError:
    message = f"cannot write '{path}': {error.strerror}"
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return InputError(message, hint="pass a file in an existing folder")
    return WorldError(message, hint="nothing was written; free disk space or choose another folder")
