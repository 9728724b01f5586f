"""Checking what callers name before git sees it: ids, revisions, paths. What looks like an option gets no further."""

import re
from collections.abc import Iterable

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath

REVISION_BYTES_MAX = 4096
PATHS_BYTES_MAX = 100_000
"""All paths of one question together: some systems allow no more than 256 kB of arguments."""

_FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SOME_ID = re.compile(r"[0-9a-f]{4,64}")


def full_id(sha: str) -> str:
    """``sha`` when it is a full object id."""
    if not _FULL_ID.fullmatch(sha):
        raise InputError(f"{sha!a} is not a full object id", hint="40 or 64 lower-case hex digits")
    return sha


def some_id(sha: str) -> str:
    """``sha`` when it is an object id or the start of one."""
    if not _SOME_ID.fullmatch(sha):
        raise InputError(f"{sha!a} is not an object id", hint="4 to 64 lower-case hex digits")
    return sha


def typed_bytes(typed: str) -> bytes:
    """The bytes that a user typed; what came in as no UTF-8 stands as lone surrogates (PEP 383)."""
    try:
        return typed.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InputError(f"{typed!a} has a lone surrogate that stands for no byte") from error


def revision(typed: str) -> bytes:
    """What a user typed for a commit, when git can only take it for one."""
    raw = typed_bytes(typed)
    if problem := _revision_problem(raw):
        raise InputError(f"the revision {typed!a} {problem}", hint="name a commit, branch or tag, such as 'HEAD~1'")
    return raw


def _revision_problem(raw: bytes) -> str | None:
    if not raw:
        return "is empty"
    if raw.startswith(b"-"):
        return "looks like an option"
    if raw.startswith(b":"):
        return "names no commit of its own"  # ':/text' searches messages, ':path' is in the index
    if len(raw) > REVISION_BYTES_MAX:
        return f"is longer than {REVISION_BYTES_MAX} bytes"
    if any(byte < 0x20 or byte == 0x7F for byte in raw):
        return "holds a control character"
    return None


def id_lines(ids: Iterable[CommitSha]) -> Iterable[bytes]:
    """``ids`` as lines for git's standard input."""
    return (f"{full_id(sha)}\n".encode("ascii") for sha in ids)


def pathspecs(paths: Iterable[RepoPath]) -> tuple[str | bytes, ...]:
    """``paths`` as the last arguments of a command; none stands for all."""
    raw = [path.raw for path in paths]
    if sum(map(len, raw)) > PATHS_BYTES_MAX:
        raise InputError(f"{len(raw)} paths are too many for one question", hint="name the folder that holds them")
    return ("--", *raw)
