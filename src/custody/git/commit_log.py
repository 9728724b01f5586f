"""Parsing ``git rev-list`` with our own format: commits as they are written. Pure: pieces of bytes in, commits out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.git.chunk_reader import ChunkReader, commit_sha, object_id, rubbish
from custody.git.person import Person, moment

# git ends a string at NUL, so no field can hold one.
_FIELDS = ("%H", "%P", "%T", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B")
LOG_OPTIONS = (
    "--no-commit-header",
    "--date=raw",
    "--encoding=UTF-8",
    # A NUL in front too: with --parents git writes them once more before our own first field.
    "--format=%x00" + "%x00".join(_FIELDS) + "%x00",
)

CommitParents = tuple[CommitSha, tuple[CommitSha, ...]]
"""A commit and its parents."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; names and message are UTF-8 as far as it tells the truth about its encoding."""

    id: CommitSha
    parents: tuple[CommitSha, ...]
    tree: str
    author: Person
    committer: Person
    message: bytes

    @property
    def subject(self) -> bytes:
        """The first paragraph of the message on one line."""
        return b" ".join(_paragraph(self.message)[0].split(b"\n"))

    @property
    def body(self) -> bytes:
        """The message after its first paragraph."""
        return _paragraph(self.message)[1]


def parse_log(chunks: Iterable[bytes]) -> Iterator[Commit]:
    """The commits of ``git rev-list`` with ``LOG_OPTIONS``, perhaps with ``--parents``, in git's order."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        reader.until(b"\0")
        yield _commit([reader.until(b"\0") for _ in _FIELDS])
        if end := reader.until(b"\n"):
            raise rubbish("the end of a commit is expected", end)


def parse_parents(chunks: Iterable[bytes]) -> Iterator[CommitParents]:
    """The commits of ``git rev-list --parents`` with their parents, in git's order."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        commit, *parents = (commit_sha(field) for field in reader.line().split(b" "))
        yield commit, tuple(parents)


def _commit(fields: list[bytes]) -> Commit:
    commit, parents, tree, *people, message = fields
    return Commit(
        id=commit_sha(commit),
        parents=tuple(commit_sha(parent) for parent in parents.split()),
        tree=object_id(tree),
        author=_person(*people[:3]),
        committer=_person(*people[3:]),
        message=message,
    )


def _person(name: bytes, email: bytes, at: bytes) -> Person:
    return Person(name, email, moment(at) if at else None)


def _paragraph(message: bytes) -> tuple[bytes, bytes]:
    first, _, rest = message.lstrip(b"\n").partition(b"\n\n")
    return first.rstrip(b"\n"), rest
