"""References and remotes: parsers, and the check of remote URLs."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import ChunkReader, make_git_output_error, parse_commit_sha, parse_object_id
from custody.git.command import Git
from custody.git.failure import escape_git_output

REF_FORMAT = "--format=%(refname)%00%(objectname)%00"
_PREFIX = lazy_pattern(r"refs/([\w./@+=,%-]*/)?", re.ASCII)


class RepositoryHead(Struct, frozen=True):
    """HEAD: its ``branch`` (None if detached) and its ``commit`` (None if the branch is empty)."""

    branch: bytes | None
    commit: CommitSha | None


HEAD_OPTIONS = ("--quiet", "--revs-only", "HEAD", "--symbolic-full-name", "HEAD")
"""Arguments of ``git rev-parse`` to print the commit and the branch, ``HEAD`` if detached; nothing without a commit."""


def parse_head(answer: bytes) -> RepositoryHead | None:
    """Parse what ``HEAD_OPTIONS`` print; None for an empty branch, and if a branch or tag is called HEAD."""
    commit, _, name = answer.rstrip(b"\n").partition(b"\n")
    return RepositoryHead(None if name == b"HEAD" else name, parse_commit_sha(commit)) if name else None


class Ref(Struct, frozen=True):
    """A reference by its full name; ``id`` is a commit, or the tag object of an annotated tag."""

    name: bytes
    id: str


def parse_refs(chunks: Iterable[bytes]) -> Iterator[Ref]:
    """Yield the references of ``git for-each-ref`` with ``REF_FORMAT``, by name."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        name, sha = reader.read_until(b"\0"), parse_object_id(reader.read_until(b"\0"))
        if end := reader.line():
            raise make_git_output_error("expected the end of a reference", end)
        yield Ref(name, sha)


def check_ref_prefix(typed: str) -> str:
    """Return ``typed`` if it is a prefix of references; raises ``InputError`` otherwise."""
    if not _PREFIX.fullmatch(typed):
        raise InputError(f"invalid prefix of references {typed!a}", hint="write for example 'refs/heads/'")
    return typed


# The remotes of a repository, read in the ``open`` environment.
# Only names and URLs are read: a repository's configuration cannot choose programs, proxies or other URLs for us.


URL_BYTES_MAX = 4096
_SETTINGS = r"^(remote\..*\.(url|pushurl)|branch\..*\.remote)$"
_SCHEME = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_HELPER = lazy_pattern(r"[A-Za-z0-9]+::")
_SSH = ("ssh", "git+ssh", "ssh+git")
_HINT = "custody supports https, ssh and file remotes"


class Remote(Struct, frozen=True):
    """A remote with its URLs to fetch from and to push to."""

    name: str
    fetch: str
    push: str


class Remotes(Struct, frozen=True):
    """All remotes by name, and the remote of each branch."""

    named: dict[str, Remote]
    followed: dict[str, str]


class RemoteUrl(Struct, frozen=True):
    """The URL of a remote as git takes it; ``local`` means on this machine, where its git runs as this user."""

    url: str
    local: bool


def read_remotes(git: Git) -> Remotes:
    """Read the remotes from the configuration of the repository and of the user."""
    return parse_remotes(git.run("config", "-z", "--get-regexp", _SETTINGS, statuses=(0, 1)))


def parse_remotes(answer: bytes) -> Remotes:
    """Parse ``git config -z --get-regexp``; of several URLs, the first is used to fetch."""
    urls: dict[str, dict[str, str]] = {}
    followed: dict[str, str] = {}
    for entry in answer.split(b"\0")[:-1]:
        key, mark, value = os.fsdecode(entry).partition("\n")
        section, _, rest = key.partition(".")
        name, _, word = rest.rpartition(".")
        if not mark or not name:
            raise make_git_output_error("expected a setting with a value", entry)
        if section == "branch":
            followed[name] = value
        else:
            urls.setdefault(name, {}).setdefault(word, value)
    named = {
        name: Remote(name, values.get("url", ""), values.get("pushurl", values.get("url", "")))
        for name, values in urls.items()
    }
    return Remotes(named, followed)


def parse_remote_url(url: str, folder: Path) -> RemoteUrl:
    """Parse a URL, or a path relative to ``folder``; raises ``InputError`` if custody does not support it."""
    shown = escape_git_output(os.fsencode(url))[:200]
    if not url or url.startswith("-") or len(os.fsencode(url)) > URL_BYTES_MAX or not url.isprintable():
        raise InputError(f"invalid URL of a git remote: '{shown}'", hint=_HINT)
    if _HELPER.match(url):
        raise InputError(f"invalid URL of a git remote: '{shown}' names a program", hint=_HINT)
    if scheme := _SCHEME.fullmatch(url):
        return _check_remote_scheme(scheme[1].lower(), scheme[2], url, shown)
    host, colon, _ = url.partition(":")
    if colon and "/" not in host:  # HOST:PATH is ssh, as in git
        return RemoteUrl(url, local=False)
    return RemoteUrl(os.fspath(folder / url), local=True)


def _check_remote_scheme(scheme: str, rest: str, url: str, shown: str) -> RemoteUrl:
    if rest.startswith("-"):
        raise InputError(f"invalid URL of a git remote: '{shown}'", hint=_HINT)
    if scheme == "file":
        return RemoteUrl(url, local=True)
    if scheme != "https" and scheme not in _SSH:
        raise InputError(f"unsupported protocol '{scheme}' of a git remote", hint=_HINT)
    return RemoteUrl(url, local=False)
