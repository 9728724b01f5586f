"""The settings that decide how a work tree is read: which of its files' facts count, and what git would convert.

They are read by an ``open`` git (surroundings.py) and used by ourselves; no value of them is ever a program to us.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError
from custody.git.chunk_reader import rubbish
from custody.git.command import Git
from custody.git.index_command import path_setting
from custody.git.safe_file import read_small_file

PATTERNS_BYTES_MAX = 4 << 20

_NAMES = "autocrlf|filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat"
_QUESTION = (
    *("config", "-z", "--get-regexp"),
    rf"^(core\.({_NAMES})|filter\..*\.(clean|process|required))$",
)
_TRUE = (b"true", b"yes", b"on")
_FALSE = (b"false", b"no", b"off", b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """What a user has set about the work tree; the defaults are git's."""

    guesses_endings: bool = False
    """``core.autocrlf``: a text without attributes has its CRLF replaced, whether it is true or input."""
    has_file_mode: bool = True
    has_links: bool = True
    ignores_case: bool = False
    composes_names: bool = False
    trusts_ctime: bool = True
    whole_stat: bool = True
    """Not ``core.checkStat=minimal``."""
    filters: frozenset[bytes] = frozenset()
    """The filters that git would run when a file's attributes name them."""


def work_settings(git: Git) -> WorkSettings:
    """The settings in force, by one process."""
    return parse_work_settings(git.run(*_QUESTION, fine=(0, 1)))


def parse_work_settings(answer: bytes) -> WorkSettings:
    """Read ``git config -z --get-regexp``; the last value of a name counts."""
    fields = answer.split(b"\0")
    if fields.pop():
        raise rubbish("names and values are expected", answer)
    values: dict[bytes, bytes | None] = {}
    for field in fields:
        name, line, value = field.partition(b"\n")
        values[name] = value if line else None

    def is_on(name: bytes, *, usual: bool) -> bool:
        return _truth(name, values[name]) if name in values else usual

    return WorkSettings(
        guesses_endings=values.get(b"core.autocrlf") == b"input" or is_on(b"core.autocrlf", usual=False),
        has_file_mode=is_on(b"core.filemode", usual=True),
        has_links=is_on(b"core.symlinks", usual=True),
        ignores_case=is_on(b"core.ignorecase", usual=False),
        composes_names=is_on(b"core.precomposeunicode", usual=False),
        trusts_ctime=is_on(b"core.trustctime", usual=True),
        whole_stat=(values.get(b"core.checkstat") or b"").lower() != b"minimal",
        filters=frozenset(name[len(b"filter.") :].rpartition(b".")[0] for name in values if name[:7] == b"filter."),
    )


def user_patterns(git: Git, setting: str, usual: str, work_tree: Path, around: Mapping[str, str]) -> bytes:
    """The file that ``setting`` names, or the user's own called ``usual``; empty when there is none to be read.

    git would wait for a pipe; we read regular files only, and git is given a copy.
    """
    named = path_setting(git, setting)
    if named is None:
        folder = around.get("XDG_CONFIG_HOME") or os.path.join(around.get("HOME", "/"), ".config")
        named = Path(folder, "git", usual)
    return patterns(work_tree / named)


def patterns(path: Path) -> bytes:
    """The lines of ``path``; empty when there is no such file, as for git."""
    try:
        lines = read_small_file(path, PATTERNS_BYTES_MAX)
    except OSError:
        return b""  # git goes on without them as well
    return b"" if isinstance(lines, str) else lines


def _truth(name: bytes, value: bytes | None) -> bool:
    if value is None or value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    try:
        return int(value) != 0
    except ValueError as error:
        said = f"the setting '{name.decode('ascii', 'replace')}' is neither true nor false"
        raise GitError(said, hint="look at it with 'git config --show-origin --get-all'") from error
