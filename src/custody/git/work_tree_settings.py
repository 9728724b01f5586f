"""Settings and attributes that decide how a work tree is read and which conversions git would make.

They are read in the ``open`` environment (environment.py); no value is ever run as a program.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path

from msgspec import Struct

from custody.core.errors import GitError
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, make_git_output_error, parse_repo_path
from custody.git.command import AnswerStream, Git
from custody.git.failure import to_pathspec_arguments
from custody.git.work_tree_file import read_small_file

# Attributes by ``git check-attr``, which converts nothing.


_ATTRIBUTES = (b"text", b"crlf", b"eol", b"filter", b"ident", b"working-tree-encoding")
_NO_VALUE = (b"unspecified", b"unset", b"set")
_SAME_ENCODING = (b"UTF-8", b"UTF8")


class Attributes(Struct, frozen=True):
    """Values of the attributes that convert a file: ``set``, ``unset``, ``unspecified`` or a text."""

    text: bytes = b"unspecified"
    crlf: bytes = b"unspecified"
    eol: bytes = b"unspecified"
    filter: bytes = b"unspecified"
    ident: bytes = b"unspecified"
    encoding: bytes = b"unspecified"


def read_git_attributes(git: Git, paths: Iterable[RepoPath]) -> AnswerStream[Attributes]:
    """Yield the attributes of each of ``paths``, in order, by one process."""
    feed = (path.raw + b"\0" for path in paths)
    return AnswerStream(
        git.start("check-attr", "--stdin", "-z", *map(bytes.decode, _ATTRIBUTES), feed=feed), parse_git_attributes
    )


def parse_git_attributes(chunks: Iterable[bytes]) -> Iterator[Attributes]:
    """Yield the attributes from ``git check-attr -z``, one set per path."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        yield Attributes(*(_read_attribute_value(reader, name) for name in _ATTRIBUTES))


def find_unsupported_conversion(attributes: Attributes, filters: Collection[bytes]) -> str | None:
    """Return why git would commit other contents than those on disk, except for line endings; None if it would not."""
    if attributes.filter not in _NO_VALUE and attributes.filter in filters:
        name = attributes.filter.decode("utf-8", "backslashreplace")
        return f"uses the filter '{name}', which custody never runs"
    if attributes.ident == b"set":
        return "has the attribute ident, which custody does not support"
    if attributes.encoding not in _NO_VALUE and attributes.encoding.upper() not in _SAME_ENCODING:
        return "has another encoding on disk than in commits"
    return None


def _read_attribute_value(reader: ChunkReader, name: bytes) -> bytes:
    _, answered, value = (reader.read_until(b"\0") for _ in range(3))
    if answered != name:
        raise make_git_output_error(f"expected the attribute '{name.decode('ascii')}'", answered)
    return value


# Line endings of a committed file. Pure.
# The rules are git's (``convert.c``), so that a file that git calls unmodified is unmodified here:
# * ``text`` (or only ``eol``): every CRLF becomes LF;
# * ``text=auto``, or no attribute with ``core.autocrlf``: the same, unless the file looks binary or its version in the
#   index has CRLF;
# * otherwise nothing changes.


_BINARY_SHARE = 128
"""Printable bytes per unprintable byte; a file with fewer looks binary."""
# For git, backspace, tab, escape and form feed are printable, and CR and LF are neither.
_UNPRINTABLE = bytes(byte for byte in (*range(32), 127) if byte not in b"\b\t\x1b\f\r\n")
_END_OF_FILE = b"\x1a"

_BY_VALUE = {b"set": "text", b"unset": "kept", b"input": "text", b"auto": "guessed"}


class LineEndings(Enum):
    """The conversion of line endings."""

    KEPT = "kept"
    TEXT = "text"
    GUESSED = "guessed"


def choose_line_endings(attributes: Attributes, *, guess: bool) -> LineEndings:
    """Return the conversion by attributes; ``guess`` is ``core.autocrlf``."""
    value = _BY_VALUE.get(attributes.text) or _BY_VALUE.get(attributes.crlf)
    if value is None and attributes.eol in (b"lf", b"crlf"):
        return LineEndings.TEXT
    return LineEndings(value or ("guessed" if guess else "kept"))


def normalize_line_endings(content: bytes, endings: LineEndings, indexed: Callable[[], bytes]) -> bytes:
    """Return ``content`` as git would commit it; ``indexed`` returns the version in the index, empty without one."""
    if endings is LineEndings.KEPT or b"\r\n" not in content:
        return content
    if endings is LineEndings.GUESSED and (is_binary_content(content) or _has_crlf(indexed())):
        return content
    return content.replace(b"\r\n", b"\n")


def is_binary_content(content: bytes) -> bool:
    r"""Return whether git takes ``content`` for binary: a NUL, a lone CR, or too many unprintable bytes.

    >>> is_binary_content(b"a\r\nb\n"), is_binary_content(b"a\rb\n"), is_binary_content(b"\x01a\n")
    (False, True, True)
    """
    pairs, returns, feeds = (content.count(ending) for ending in (b"\r\n", b"\r", b"\n"))
    if returns > pairs or b"\0" in content:
        return True
    unprintable = len(content) - len(content.translate(None, _UNPRINTABLE))
    printable = len(content) - unprintable - returns - feeds
    return printable // _BINARY_SHARE < unprintable - content.endswith(_END_OF_FILE)


def _has_crlf(content: bytes) -> bool:
    return b"\r\n" in content and not is_binary_content(content)


# Tracked files and settings, read in the ``open`` environment.
# Listing the index reads no file of the work tree, so no filter runs; printing a setting runs nothing.


COMMAND_SCOPE = b"command"
"""The scope of the settings that we pass on the command line."""


def list_tracked_files(git: Git, paths: Iterable[RepoPath]) -> frozenset[RepoPath]:
    """Return the files in the index at or below ``paths``; no paths, no files."""
    specs = list(paths)
    if not specs:
        return frozenset()
    return parse_tracked_paths(git.run("ls-files", "-z", "--cached", "--full-name", *to_pathspec_arguments(specs)))


def read_path_setting(git: Git, name: str) -> Path | None:
    """Return a path setting, without our own command-line settings; ``~`` is expanded."""
    return parse_path_setting(
        git.run("config", "-z", "--show-scope", "--type=path", "--get-all", name, statuses=(0, 1))
    )


def parse_tracked_paths(answer: bytes) -> frozenset[RepoPath]:
    """Parse the paths of ``git ls-files -z``."""
    return frozenset(parse_repo_path(path) for path in answer.split(b"\0") if path)


def parse_path_setting(answer: bytes) -> Path | None:
    """Return the last value of ``git config -z --show-scope --get-all`` that is not ours."""
    fields = answer.split(b"\0")
    if fields.pop() or len(fields) % 2:
        raise make_git_output_error("expected scopes and values", answer)
    values = [value for scope, value in zip(fields[::2], fields[1::2], strict=True) if scope != COMMAND_SCOPE]
    return Path(os.fsdecode(values[-1])) if values else None


PATTERNS_BYTES_MAX = 4 << 20

_NAMES = "autocrlf|filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat"
_READ_SETTINGS = (
    *("config", "-z", "--get-regexp"),
    rf"^(core\.({_NAMES})|filter\..*\.(clean|process|required))$",
)
_TRUE = (b"true", b"yes", b"on")
_FALSE = (b"false", b"no", b"off", b"")


class WorkSettings(Struct, frozen=True, kw_only=True):
    """The user's settings about the work tree, with git's defaults."""

    guesses_endings: bool = False
    """``core.autocrlf`` is true or input: texts without attributes have their CRLF replaced."""
    has_file_mode: bool = True
    has_links: bool = True
    ignores_case: bool = False
    composes_names: bool = False
    trusts_ctime: bool = True
    whole_stat: bool = True
    """Not ``core.checkStat=minimal``."""
    filters: frozenset[bytes] = frozenset()
    """The filters that git would run for files with this attribute."""


def read_work_settings(git: Git) -> WorkSettings:
    """Read the settings in force, by one process."""
    return parse_work_settings(git.run(*_READ_SETTINGS, statuses=(0, 1)))


def parse_work_settings(answer: bytes) -> WorkSettings:
    """Parse ``git config -z --get-regexp``; the last value of a name counts."""
    fields = answer.split(b"\0")
    if fields.pop():
        raise make_git_output_error("expected names and values", answer)
    values: dict[bytes, bytes | None] = {}
    for field in fields:
        name, line, value = field.partition(b"\n")
        values[name] = value if line else None

    def is_on(name: bytes, *, default: bool) -> bool:
        return _parse_git_boolean(name, values[name]) if name in values else default

    return WorkSettings(
        guesses_endings=values.get(b"core.autocrlf") == b"input" or is_on(b"core.autocrlf", default=False),
        has_file_mode=is_on(b"core.filemode", default=True),
        has_links=is_on(b"core.symlinks", default=True),
        ignores_case=is_on(b"core.ignorecase", default=False),
        composes_names=is_on(b"core.precomposeunicode", default=False),
        trusts_ctime=is_on(b"core.trustctime", default=True),
        whole_stat=(values.get(b"core.checkstat") or b"").lower() != b"minimal",
        filters=frozenset(name[len(b"filter.") :].rpartition(b".")[0] for name in values if name[:7] == b"filter."),
    )


def read_user_patterns(git: Git, setting: str, name: str, work_tree: Path, environment: Mapping[str, str]) -> bytes:
    """Read the file that ``setting`` names, or the default ``name`` of the user; empty without a readable file.

    git would wait for a pipe; we read regular files only, and pass git a copy.
    """
    path = read_path_setting(git, setting)
    if path is None:
        folder = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", "/"), ".config")
        path = Path(folder, "git", name)
    return read_pattern_file(work_tree / path)


def read_pattern_file(path: Path) -> bytes:
    """Return the lines of ``path``; empty without such a file, like git."""
    try:
        lines = read_small_file(path, PATTERNS_BYTES_MAX)
    except OSError:
        return b""  # git ignores unreadable files, too
    return b"" if isinstance(lines, str) else lines


def _parse_git_boolean(name: bytes, value: bytes | None) -> bool:
    if value is None or value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    try:
        return int(value) != 0
    except ValueError as error:
        setting = name.decode("ascii", "replace")
        hint = f"run 'git config --show-origin --get-all {setting}'"
        raise GitError(f"the setting '{setting}' is neither true nor false", hint=hint) from error
