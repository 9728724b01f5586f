"""What git's failures mean, and the check of every id, revision and path before git sees it. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What about a clone may explain that an object is not there."""

    partial: bool = False
    shallow: bool = False


@dataclass(frozen=True, slots=True)
class _KnownFailure:
    words: re.Pattern[str]
    family: type[CustodyError]
    hint: str


_OURS = "this is a mistake in custody; please report it with the message above"
_REVISION = "name a commit, branch or tag that 'git rev-parse' finds here; a shortened id may need more digits"
_PARTIAL = "this is a partial clone and custody never fetches: 'git fetch --refetch --no-filter' brings the rest"
_DEEPEN = "'git fetch --unshallow' brings the rest"
_FSCK = "run 'git fsck' to see what is damaged; a fresh clone or 'git fetch' may bring it back"

_DAMAGE = (
    r"corrupt|inflate|bad object|(unable to|could not|cannot) (read|parse|open|unpack|find|stream)|is empty"
    r"|hash mismatch|missing (blob|tree|commit)|bad (tree|config)"
)

_REACH = "see that 'git ls-remote' reaches it; nothing was lost, and the next push or pull goes on from here"
_LOG_IN = "log in as git does it (an ssh agent, a credential helper of your own); custody asks for no password"

_NO_ENTRY = (
    r"terminal prompts disabled|could not read (Username|Password)|Authentication failed"
    r"|Permission denied \((publickey|password|keyboard)|Host key verification failed|returned error: 40[13]"
)
_NO_WAY = (
    r"Could not resolve host|Could not read from remote repository|unable to access|Connection (refused|timed)"
    r"|does not appear to be a git repository|the remote end hung up|transport '.*' not allowed"
)

# The first that fits wins.
_KNOWN = tuple(
    _KnownFailure(re.compile(words), family, hint)
    for words, family, hint in (
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
            "the repository is another user's; if you trust it: git config --global --add safe.directory <folder>",
        ),
        (
            r"Needed a single revision|(unknown|bad) revision|ambiguous argument|is ambiguous|invalid object name",
            InputError,
            _REVISION,
        ),
        (r"no such path|no such ref|does not exist in", InputError, "paths are relative to the repository root"),
        (r"has only \d+ lines?", InputError, "ask for lines that the file has in that revision"),
        (
            r"cannot blame|not a blob|non-blob",
            InputError,
            "only files have lines: name a file",
        ),
        (
            r"[Ee]xpected git repo version|unknown repository extension",
            GitError,
            "the repository was made by a newer git; upgrade git",
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


def printable(words: bytes) -> str:
    """``words`` on one line that any terminal can show; a hostile name cannot move the cursor."""
    text = " ".join(words.decode("utf-8", "backslashreplace").split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def explain(verb: str, status: int, words: bytes, around: Circumstances) -> CustodyError:
    """The error for a git that ended with ``status`` after saying ``words`` on its standard error."""
    said = printable(words)
    if status < 0:
        said = f"killed by signal {-status}" + (f": {said}" if said else "")
    message = f"git {verb} failed: {said or f'exit status {status} without a word'}"
    for known in _KNOWN:
        if known.words.search(said):
            return known.family(message, hint=_hint(known, around))
    return GitError(message)


def missing_hint(around: Circumstances) -> str:
    """What to do about an object that is not there or cannot be read."""
    if around.partial:
        return _PARTIAL
    return f"this clone is shallow: {_DEEPEN}; otherwise {_FSCK}" if around.shallow else _FSCK


def _hint(known: _KnownFailure, around: Circumstances) -> str:
    if known.hint == _FSCK:
        return missing_hint(around)
    if known.hint == _REVISION and around.shallow:
        return f"this clone is shallow: {_DEEPEN}; otherwise {_REVISION}"
    return known.hint


# Checking what callers name before git sees it: ids, revisions, paths. What looks like an option gets no further.


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
