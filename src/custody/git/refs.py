"""References and remotes: parsed, and whether custody talks to a remote."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git.chunk_reader import ChunkReader, object_id, rubbish
from custody.git.command import Git
from custody.git.failure import printable

REF_FORMAT = "--format=%(refname)%00%(objectname)%00"
_PREFIX = re.compile(r"refs/([\w./@+=,%-]*/)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """HEAD: the ``branch`` it is on (None: detached) and its ``commit`` (None: the branch has none yet)."""

    branch: bytes | None
    commit: CommitSha | None


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference by its full name; ``id`` is a commit, or the tag object of an annotated tag."""

    name: bytes
    id: str


def parse_refs(chunks: Iterable[bytes]) -> Iterator[Ref]:
    """The references of ``git for-each-ref`` with ``REF_FORMAT``, by name."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        name, sha = reader.until(b"\0"), object_id(reader.until(b"\0"))
        if end := reader.line():
            raise rubbish("the end of a reference is expected", end)
        yield Ref(name, sha)


def ref_prefix(typed: str) -> str:
    """``typed`` when it names a folder of references and nothing else."""
    if not _PREFIX.fullmatch(typed):
        raise InputError(f"{typed!a} is not a folder of references", hint="for example 'refs/heads/'")
    return typed


# The remotes that a repository names, and whether custody would speak to one.
# ``open`` in surroundings.py. Of a remote only its name and address are read: which program to run for it, which
# proxy or other address to use, a repository's configuration cannot say to us.


ADDRESS_BYTES_MAX = 4096
_WANTED = r"^(remote\..*\.(url|pushurl)|branch\..*\.remote)$"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_HELPER = re.compile(r"[A-Za-z0-9]+::")
_SSH = ("ssh", "git+ssh", "ssh+git")
_HINT = "custody speaks https, ssh and file to a git remote"


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote as the repository names it; ``push`` is where pushes go."""

    name: str
    fetch: str
    push: str


@dataclass(frozen=True, slots=True)
class Remotes:
    """All remotes by name, and which of them each branch follows."""

    named: dict[str, Remote]
    followed: dict[str, str]


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """Where a remote is: ``url`` as git takes it; ``local``: on this machine, so that its git runs as this user."""

    url: str
    local: bool


def read_remotes(git: Git) -> Remotes:
    """The remotes of a repository, from its own configuration and the user's."""
    return parse_remotes(git.run("config", "-z", "--get-regexp", _WANTED, fine=(0, 1)))


def parse_remotes(answer: bytes) -> Remotes:
    """Read what ``git config -z --get-regexp`` says; of several addresses the first is the one to fetch from."""
    urls: dict[str, dict[str, str]] = {}
    followed: dict[str, str] = {}
    for entry in answer.split(b"\0")[:-1]:
        key, mark, value = os.fsdecode(entry).partition("\n")
        section, _, rest = key.partition(".")
        name, _, word = rest.rpartition(".")
        if not mark or not name:
            raise rubbish("a setting with a value is expected", entry)
        if section == "branch":
            followed[name] = value
        else:
            urls.setdefault(name, {}).setdefault(word, value)
    named = {
        name: Remote(name, found.get("url", ""), found.get("pushurl", found.get("url", "")))
        for name, found in urls.items()
    }
    return Remotes(named, followed)


def address_of(url: str, folder: Path) -> RemoteUrl:
    """The address that ``url`` is, a path seen from ``folder``; an ``InputError`` when custody does not go there."""
    shown = printable(os.fsencode(url))[:200]
    if not url or url.startswith("-") or len(os.fsencode(url)) > ADDRESS_BYTES_MAX or not url.isprintable():
        raise InputError(f"'{shown}' is no address of a git remote", hint=_HINT)
    if _HELPER.match(url):
        raise InputError(f"'{shown}' names a program, not an address", hint=_HINT)
    if scheme := _SCHEME.fullmatch(url):
        return _by_scheme(scheme[1].lower(), scheme[2], url, shown)
    host, colon, _ = url.partition(":")
    if colon and "/" not in host:  # as git reads it: HOST:PATH is ssh
        return RemoteUrl(url, local=False)
    return RemoteUrl(os.fspath(folder / url), local=True)


def _by_scheme(scheme: str, rest: str, url: str, shown: str) -> RemoteUrl:
    if rest.startswith("-"):
        raise InputError(f"'{shown}' is no address of a git remote", hint=_HINT)
    if scheme == "file":
        return RemoteUrl(url, local=True)
    if scheme != "https" and scheme not in _SSH:
        raise InputError(f"custody does not speak '{scheme}' to a git remote", hint=_HINT)
    return RemoteUrl(url, local=False)
