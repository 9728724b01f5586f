"""Explanations of git's failures, and checks of ids, revisions and paths before git sees them. Pure."""

import re
from collections.abc import Iterable

from msgspec import Struct

from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern


class Circumstances(Struct, frozen=True):
    """Properties of a clone that may explain a missing object."""

    partial: bool = False
    shallow: bool = False


class _KnownFailure(Struct, frozen=True):
    pattern: re.Pattern[str]
    family: type[CustodyError]
    hint: str


_OURS = "this is a bug in custody; please report it with the message above"
_REVISION = "name a commit, branch or tag of this repository; an abbreviated id may need more digits"
_PARTIAL = "this is a partial clone, and custody never fetches: run 'git fetch --refetch --no-filter'"
_DEEPEN = "run 'git fetch --unshallow'"
_FSCK = "run 'git fsck' to see what is damaged; a fresh clone or 'git fetch' may repair it"

_DAMAGE = (
    r"corrupt|inflate|bad object|(unable to|could not|cannot) (read|parse|open|unpack|find|stream)|is empty"
    r"|hash mismatch|missing (blob|tree|commit)|bad (tree|config)"
)

_REACH = "check that 'git ls-remote' works; nothing was lost, the next push or pull continues from here"
_LOG_IN = "set up an ssh agent or a credential helper for git; custody never prompts for a password"

_NO_ENTRY = (
    r"terminal prompts disabled|could not read (Username|Password)|Authentication failed"
    r"|Permission denied \((publickey|password|keyboard)|Host key verification failed|returned error: 40[13]"
)
_NO_WAY = (
    r"Could not resolve host|Could not read from remote repository|unable to access|Connection (refused|timed)"
    r"|does not appear to be a git repository|the remote end hung up|transport '.*' not allowed"
)

# The first match decides.
_KNOWN = tuple(
    _KnownFailure(lazy_pattern(pattern), family, hint)
    for pattern, family, hint in (
        (
            _NO_ENTRY,
            GitError,
            _LOG_IN,
        ),
        (
            _NO_WAY,
            GitError,
            _REACH,
        ),
        (
            r"not a git repository",
            InputError,
            "run inside a git repository, or name one with -C",
        ),
        (
            r"detected dubious ownership|unsafe repository",
            GitError,
            "another user owns the repository; if you trust it, run git config --global --add safe.directory <folder>",
        ),
        (
            r"Needed a single revision|(unknown|bad) revision|ambiguous argument|is ambiguous|invalid object name",
            InputError,
            _REVISION,
        ),
        (r"no such path|no such ref|does not exist in", InputError, "paths are relative to the repository root"),
        (r"has only \d+ lines?", InputError, "the line range must be within the file at that revision"),
        (
            r"cannot blame|not a blob|non-blob",
            InputError,
            "name a file, not a folder",
        ),
        (
            r"[Ee]xpected git repo version|unknown repository extension",
            GitError,
            "a newer git made the repository; upgrade git",
        ),
        (r"lazy fetching disabled|promisor", GitError, _PARTIAL),
        (
            _DAMAGE,
            GitError,
            _FSCK,
        ),
        (r"[Pp]ermission denied", GitError, "check who owns the repository and whether you may read it"),
        (r"usage: git|unknown option|unrecognized argument", GitError, _OURS),
    )
)


_SHORT = (
    (lazy_pattern(r"fatal: not a git repository \(or any .*"), "not a git repository"),
    (lazy_pattern(r"fatal: (not a git repository: .*)"), r"\1"),
    (lazy_pattern(r"fatal: (?:unknown|bad) revision ('.*')"), r"unknown revision \1"),
)


def escape_git_output(output: bytes) -> str:
    """Return ``output`` on one printable line; a hostile name cannot move the cursor."""
    text = " ".join(output.decode("utf-8", "backslashreplace").split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def explain_git_failure(verb: str, status: int, stderr: bytes, circumstances: Circumstances) -> CustodyError:
    """Return the error for a git that ended with ``status`` and wrote ``stderr``."""
    text = escape_git_output(stderr)
    if status < 0:
        text = f"killed by signal {-status}" + (f": {text}" if text else "")
    message = _shorten_git_message(text) or f"git {verb} failed: {text or f'exit status {status} without a message'}"
    for known in _KNOWN:
        if known.pattern.search(text):
            return known.family(message, hint=_choose_failure_hint(known, circumstances))
    return GitError(message)


def _shorten_git_message(text: str) -> str | None:
    """Return what git reports in our words, where its own words add nothing; None for other messages."""
    return next((found.expand(short) for pattern, short in _SHORT if (found := pattern.fullmatch(text))), None)


def hint_missing_object(circumstances: Circumstances) -> str:
    """Return the hint for a missing or unreadable object."""
    if circumstances.partial:
        return _PARTIAL
    return f"this clone is shallow: {_DEEPEN}; otherwise {_FSCK}" if circumstances.shallow else _FSCK


def _choose_failure_hint(known: _KnownFailure, circumstances: Circumstances) -> str:
    if known.hint == _FSCK:
        return hint_missing_object(circumstances)
    if known.hint == _REVISION and circumstances.shallow:
        return f"this clone is shallow: {_DEEPEN}; otherwise {_REVISION}"
    return known.hint


# Checks of ids, revisions and paths before git sees them; options are rejected.


REVISION_BYTES_MAX = 4096
PATHS_BYTES_MAX = 100_000
"""Bytes of all paths of one command: some systems allow only 256 kB of arguments."""

_FULL_ID = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SOME_ID = lazy_pattern(r"[0-9a-f]{4,64}")


def check_full_object_id(sha: str) -> str:
    """Return ``sha`` if it is a full object id; raises ``InputError`` otherwise."""
    if not _FULL_ID.fullmatch(sha):
        raise InputError(f"invalid object id {sha!a}", hint="use 40 or 64 lower-case hex digits")
    return sha


def check_object_id_prefix(sha: str) -> str:
    """Return ``sha`` if it is an object id or a prefix of one; raises ``InputError`` otherwise."""
    if not _SOME_ID.fullmatch(sha):
        raise InputError(f"invalid object id {sha!a}", hint="use 4 to 64 lower-case hex digits")
    return sha


def encode_git_argument(typed: str) -> bytes:
    """Return the bytes that a user typed; lone surrogates stand for invalid UTF-8 (PEP 383)."""
    try:
        return typed.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InputError(f"invalid character in {typed!a}") from error


def check_revision(typed: str) -> bytes:
    """Return the bytes of a revision; raises ``InputError`` if git could take it for something else."""
    raw = encode_git_argument(typed)
    if problem := _find_revision_problem(raw):
        raise InputError(
            f"invalid revision {typed!a}: {problem}", hint="name a commit, branch or tag, such as 'HEAD~1'"
        )
    return raw


def _find_revision_problem(raw: bytes) -> str | None:
    if not raw:
        return "empty"
    if raw.startswith(b"-"):
        return "starts with '-'"
    if raw.startswith(b":"):
        return "starts with ':'"  # ':/text' searches messages, ':path' is in the index
    if len(raw) > REVISION_BYTES_MAX:
        return f"longer than {REVISION_BYTES_MAX:,} bytes"
    if any(byte < 0x20 or byte == 0x7F for byte in raw):
        return "contains a control character"
    return None


def encode_commit_id_lines(ids: Iterable[CommitSha]) -> Iterable[bytes]:
    """Return ``ids`` as lines for git's standard input."""
    return (f"{check_full_object_id(sha)}\n".encode("ascii") for sha in ids)


def to_pathspec_arguments(paths: Iterable[RepoPath]) -> tuple[str | bytes, ...]:
    """Return ``paths`` as the last arguments of a command; no paths mean all."""
    raw = [path.raw for path in paths]
    if sum(map(len, raw)) > PATHS_BYTES_MAX:
        raise InputError(f"too many paths: {len(raw):,}", hint="name their folder instead")
    return ("--", *raw)
