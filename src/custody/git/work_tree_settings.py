"""The settings that decide how a work tree is read: which of its files' facts count, and what git would convert.

They are read by an ``open`` git (surroundings.py) and used by ourselves; no value of them is ever a program to us.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from custody.core.errors import GitError
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, repo_path, rubbish
from custody.git.command import AnswerStream, Git
from custody.git.failure import pathspecs
from custody.git.work_tree_file import read_small_file

# Asking ``git check-attr``: what attributes say about a file's conversion. git converts nothing here.


_ASKED = (b"text", b"crlf", b"eol", b"filter", b"ident", b"working-tree-encoding")
_NO_VALUE = (b"unspecified", b"unset", b"set")
_AS_IT_IS = (b"UTF-8", b"UTF8")


@dataclass(frozen=True, slots=True)
class Attributes:
    """The values of the attributes that convert a file, in git's words: ``set``, ``unset``, ``unspecified`` or text."""

    text: bytes = b"unspecified"
    crlf: bytes = b"unspecified"
    eol: bytes = b"unspecified"
    filter: bytes = b"unspecified"
    ident: bytes = b"unspecified"
    encoding: bytes = b"unspecified"


def attributes(git: Git, paths: Iterable[RepoPath]) -> AnswerStream[Attributes]:
    """The attributes of each of ``paths``, in their order, by one process."""
    feed = (path.raw + b"\0" for path in paths)
    return AnswerStream(
        git.start("check-attr", "--stdin", "-z", *map(bytes.decode, _ASKED), feed=feed), parse_attributes
    )


def parse_attributes(chunks: Iterable[bytes]) -> Iterator[Attributes]:
    """The answers of ``git check-attr -z``, one for each path asked."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        yield Attributes(*(_value(reader, name) for name in _ASKED))


def other_conversion(found: Attributes, filters: Collection[bytes]) -> str | None:
    """Why the file's contents on disk are not those that git would commit, line endings apart; None when they are."""
    if found.filter not in _NO_VALUE and found.filter in filters:
        return f"goes through the filter '{found.filter.decode('utf-8', 'backslashreplace')}', which custody never runs"
    if found.ident == b"set":
        return "has the attribute ident, which custody does not apply"
    if found.encoding not in _NO_VALUE and found.encoding.upper() not in _AS_IT_IS:
        return "is kept in another encoding than it is committed in"
    return None


def _value(reader: ChunkReader, name: bytes) -> bytes:
    _, named, value = (reader.until(b"\0") for _ in range(3))
    if named != name:
        raise rubbish(f"the attribute '{name.decode('ascii')}' is expected", named)
    return value


# Which line endings a file has once it is committed. Pure.
# This is git's own rule (``convert.c``), so that a file which git calls unmodified is unmodified here:
# * attributes say ``text`` (or only ``eol``): every CRLF becomes LF; * attributes say ``text=auto``, or nothing while
# ``core.autocrlf`` is on: the same, unless the file looks binary or its   version in the index has CRLF already; *
# else nothing is changed.


_BINARY_SHARE = 128
"""A file looks binary when it has more than one unprintable byte for so many printable ones."""
# git counts backspace, tab, escape and form feed as printable, and CR and LF as neither.
_UNPRINTABLE = bytes(byte for byte in (*range(32), 127) if byte not in b"\b\t\x1b\f\r\n")
_END_OF_FILE = b"\x1a"

_BY_WORD = {b"set": "text", b"unset": "kept", b"input": "text", b"auto": "guessed"}


class LineEndings(Enum):
    """What happens to a file's line endings."""

    KEPT = "kept"
    TEXT = "text"
    GUESSED = "guessed"


def endings(attributes: Attributes, *, guess: bool) -> LineEndings:
    """What the attributes say; ``guess`` is ``core.autocrlf``."""
    word = _BY_WORD.get(attributes.text) or _BY_WORD.get(attributes.crlf)
    if word is None and attributes.eol in (b"lf", b"crlf"):
        return LineEndings.TEXT
    return LineEndings(word or ("guessed" if guess else "kept"))


def as_committed(content: bytes, how: LineEndings, indexed: Callable[[], bytes]) -> bytes:
    """``content`` as git would commit it; ``indexed`` gives the version in the index, empty when there is none."""
    if how is LineEndings.KEPT or b"\r\n" not in content:
        return content
    if how is LineEndings.GUESSED and (looks_binary(content) or _has_crlf(indexed())):
        return content
    return content.replace(b"\r\n", b"\n")


def looks_binary(content: bytes) -> bool:
    r"""Whether git guesses that ``content`` is no text: a NUL, a lone CR, or too much that cannot be printed.

    >>> looks_binary(b"a\r\nb\n"), looks_binary(b"a\rb\n"), looks_binary(b"\x01a\n")
    (False, True, True)
    """
    pairs, returns, feeds = (content.count(sign) for sign in (b"\r\n", b"\r", b"\n"))
    if returns > pairs or b"\0" in content:
        return True
    unprintable = len(content) - len(content.translate(None, _UNPRINTABLE))
    printable = len(content) - unprintable - returns - feeds
    return printable // _BINARY_SHARE < unprintable - content.endswith(_END_OF_FILE)


def _has_crlf(content: bytes) -> bool:
    return b"\r\n" in content and not looks_binary(content)


# What the index and the configuration say about a work tree: which files are tracked, where a setting comes from.
# ``open`` in surroundings.py. Listing the index reads no file of the work tree, so no filter runs; printing a setting
# uses none of what it names.


OUR_OWN = b"command"
"""The scope of the settings that this door itself gives on the command line."""


def list_tracked(git: Git, paths: Iterable[RepoPath]) -> frozenset[RepoPath]:
    """The files in the index at or below ``paths``; no paths, no files."""
    wanted = list(paths)
    if not wanted:
        return frozenset()
    return parse_tracked(git.run("ls-files", "-z", "--cached", "--full-name", *pathspecs(wanted)))


def path_setting(git: Git, name: str) -> Path | None:
    """The setting ``name``, a path, as it is in force without us; ``~`` is replaced."""
    return parse_setting(git.run("config", "-z", "--show-scope", "--type=path", "--get-all", name, fine=(0, 1)))


def parse_tracked(answer: bytes) -> frozenset[RepoPath]:
    """The files that ``git ls-files -z`` names."""
    return frozenset(repo_path(path) for path in answer.split(b"\0") if path)


def parse_setting(answer: bytes) -> Path | None:
    """The last of the values in ``git config -z --show-scope --get-all`` that is not ours."""
    fields = answer.split(b"\0")
    if fields.pop() or len(fields) % 2:
        raise rubbish("scopes and values are expected", answer)
    values = [value for scope, value in zip(fields[::2], fields[1::2], strict=True) if scope != OUR_OWN]
    return Path(os.fsdecode(values[-1])) if values else None


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
