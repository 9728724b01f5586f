"""The user's own file: where it is, and its bytes."""

import errno
import os
import stat
from collections.abc import Mapping

from custody.config.file_text import FILE_BYTES_MAX
from custody.core.errors import InputError, WorldError

BELOW = "custody/config.toml"

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def user_file(environment: Mapping[str, str]) -> str | None:
    """The path of the user's own file, whether it is there or not; None where there is no home."""
    home = environment.get("HOME", "")
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the specification: a relative one is to be ignored
        base = os.path.join(home, ".config")
    return os.path.join(base, BELOW) if os.path.isabs(base) else None


def shown_path(path: str, environment: Mapping[str, str]) -> str:
    """``path`` as the user would write it."""
    home = environment.get("HOME", "")
    below = home.rstrip("/") + "/"
    return "~/" + path[len(below) :] if os.path.isabs(home) and path.startswith(below) else path


def read_user_file(path: str, name: str) -> bytes | None:
    """The bytes of the user's file, None if there is none; links are the user's own and are followed."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise WorldError(f"cannot read '{name}': {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{name}' is not a regular file", hint="put a file of rules there, or nothing")
        # One byte more than may be there, so that a longer file is seen to be one.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
