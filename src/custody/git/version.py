"""Which git this is; found once."""

import os
import re
from functools import lru_cache
from pathlib import Path

from custody.core.errors import GitError
from custody.git.command import NEEDS, Git
from custody.git.environment import open_environment

OLDEST = (2, 34)
_VERSION = re.compile(rb"git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


def parse_version(answer: bytes) -> tuple[int, ...]:
    r"""Read ``git version``.

    >>> parse_version(b"git version 2.39.5 (Apple Git-154)\n")
    (2, 39, 5)
    """
    match = _VERSION.match(answer)
    if not match:
        raise GitError(f"cannot read the version of git in {answer[:80]!a}", hint=NEEDS)
    return tuple(int(part) for part in match.groups(default=b"0"))


def git_version() -> tuple[int, ...]:
    """The version of the git on PATH; too old a one is an error."""
    version = _version_on(os.environ.get("PATH", os.defpath))
    if version < OLDEST:
        said = ".".join(map(str, version))
        raise GitError(f"git {said} is too old for custody", hint=NEEDS)
    return version


@lru_cache(maxsize=8)
def _version_on(search_path: str) -> tuple[int, ...]:
    return parse_version(Git(Path("/"), open_environment(os.environ | {"PATH": search_path})).run("version"))
