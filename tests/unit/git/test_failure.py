"""Explanations of git's messages, as git 2.39 writes them."""

from custody.core.errors import CustodyError, GitError, InputError
from custody.git.failure import Circumstances, escape_git_output, explain_git_failure
from tests.builders.table import table

PLAIN = Circumstances()


@table(
    ("stderr", "family", "hint"),
    [
        (
            b"fatal: detected dubious ownership in repository at '/r'\nTo add an exception ...",
            GitError,
            "safe.directory",
        ),
        (b"fatal: unsafe repository ('/r' is owned by someone else)", GitError, "safe.directory"),
        (b"fatal: Needed a single revision", InputError, "name a commit"),
        (b"error: short object ID 1234 is ambiguous\nhint: The candidates are:", InputError, "more digits"),
        (b"fatal: no such path 'x' in HEAD", InputError, "repository root"),
        (b"fatal: file x has only 3 lines", InputError, "line range"),
        (b"fatal: Expected git repo version <= 1, found 99", GitError, "newer git"),
        (b"fatal: unknown repository extension found:\n\treftable", GitError, "newer git"),
        (b"fatal: loose object 1234 (stored in .git/objects/12/34) is corrupt", GitError, "git fsck"),
        (b"error: object file .git/objects/12/34 is empty", GitError, "git fsck"),
        (b"fatal: bad object 1234", GitError, "git fsck"),
        (b"fatal: unable to read tree 1234", GitError, "git fsck"),
        (b"fatal: could not fetch 1234 from promisor remote", GitError, "partial clone"),
        (b"fatal: lazy fetching disabled; some objects may not be available", GitError, "partial clone"),
        (b"fatal: failed to stat '/r': Permission denied", GitError, "who owns"),
        (b"usage: git blame [<options>]", GitError, "bug in custody"),
    ],
)
def test_known_messages(stderr: bytes, family: type[CustodyError], hint: str) -> None:
    error = explain_git_failure("verb", 128, stderr, PLAIN)
    assert type(error) is family
    assert escape_git_output(stderr) in error.message
    assert error.hint and hint in error.hint


@table(
    ("stderr", "message"),
    [
        (b"fatal: not a git repository (or any of the parent directories): .git", "not a git repository"),
        (b"fatal: not a git repository (or any parent up to mount point /)\nStopping", "not a git repository"),
        (b"fatal: not a git repository: '/gone/.git'", "not a git repository: '/gone/.git'"),
        (b"fatal: bad revision 'nowhere'", "unknown revision 'nowhere'"),
    ],
)
def test_what_users_cause_is_said_without_git(stderr: bytes, message: str) -> None:
    error = explain_git_failure("rev-parse", 128, stderr, PLAIN)
    assert isinstance(error, InputError)
    assert (error.message, bool(error.hint)) == (message, True)


def test_unknown_messages_are_git_errors() -> None:
    error = explain_git_failure("verb", 128, b"fatal: what next", PLAIN)
    assert type(error) is GitError and error.hint is None


def test_partial_and_shallow_clones_have_hints() -> None:
    stderr = b"fatal: bad object 1234"
    assert "partial" in (explain_git_failure("verb", 128, stderr, Circumstances(partial=True)).hint or "")
    assert "unshallow" in (explain_git_failure("verb", 128, stderr, Circumstances(shallow=True)).hint or "")
    assert "unshallow" in (
        explain_git_failure("verb", 128, b"fatal: bad revision 'x'", Circumstances(shallow=True)).hint or ""
    )
    assert "unshallow" not in (
        explain_git_failure("verb", 128, b"fatal: no such path", Circumstances(shallow=True)).hint or ""
    )


def test_escaped_output_is_printable() -> None:
    assert escape_git_output(b"a\n b\x1b[2J\xff \xe2\x80\xae") == "a b\\x1b[2J\\xff \\u202e"
