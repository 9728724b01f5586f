"""Parsing ``git blame --incremental`` and ``git blame --porcelain``. Pure: pieces of bytes in, entries out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, commit_sha, number, repo_path, rubbish
from custody.git.person import Person, moment
from custody.git.quoted_name import unquoted


@dataclass(frozen=True, slots=True)
class BlamedCommit:
    """What blame says of a commit; at a ``boundary`` history ends: a root, or the cut of a shallow clone."""

    id: CommitSha
    author: Person
    committer: Person
    summary: bytes
    boundary: bool


@dataclass(frozen=True, slots=True)
class PreviousVersion:
    """The version of a file that a commit changed."""

    commit: CommitSha
    path: RepoPath


@dataclass(frozen=True, slots=True)
class BlameEntry:
    """``lines`` of the blamed version were written by ``commit``, as its lines ``origin`` of ``path``."""

    commit: BlamedCommit
    lines: Lines
    origin: Lines
    path: RepoPath
    previous: PreviousVersion | None


@dataclass(frozen=True, slots=True)
class BlamedText:
    """An entry with its lines' bytes, each without its line feed."""

    entry: BlameEntry
    texts: tuple[bytes, ...]


# What git prints for the zone of an author line that it cannot read.
_DAMAGED = b"(unknown)"


@dataclass(frozen=True, slots=True)
class _BlameHeader:
    commit: CommitSha
    origin: int
    final: int
    count: int | None


@dataclass(frozen=True, slots=True)
class _BlameRange:
    path: RepoPath
    previous: PreviousVersion | None


def parse_incremental(chunks: Iterable[bytes]) -> Iterator[BlameEntry]:
    """The entries of ``git blame --incremental`` in git's order (by commit, not by line)."""
    reader = ChunkReader(chunks)
    known: dict[CommitSha, BlamedCommit] = {}
    while not reader.ended():
        head = _head(reader.line())
        facts = _facts(reader, last=b"filename")
        yield _entry(head, _commit(head.commit, facts, known), _place(facts))


def parse_porcelain(chunks: Iterable[bytes]) -> Iterator[BlamedText]:
    """The entries of ``git blame --porcelain`` in the order of the lines, with their bytes."""
    reader = ChunkReader(chunks)
    known: dict[CommitSha, BlamedCommit] = {}
    places: dict[CommitSha, _BlameRange] = {}
    while not reader.ended():
        head = _head(reader.line())
        facts = _facts(reader, last=b"\t")
        commit = _commit(head.commit, facts, known)
        if b"filename" in facts or head.commit not in places:
            places[head.commit] = _place(facts)
        texts = (facts[b"\t"], *_rest_of_group(reader, head))
        yield BlamedText(_entry(head, commit, places[head.commit]), texts)


def _rest_of_group(reader: ChunkReader, head: _BlameHeader) -> Iterator[bytes]:
    for step in range(1, head.count or 1):
        follower = _head(reader.line())
        if follower != _BlameHeader(head.commit, head.origin + step, head.final + step, None):
            raise rubbish("the next line of the group is expected", follower.commit.encode())
        text = reader.line()
        if not text.startswith(b"\t"):
            raise rubbish("a line of the file is expected", text)
        yield text[1:]


def _head(line: bytes) -> _BlameHeader:
    fields = line.split(b" ")
    if len(fields) not in (3, 4):
        raise rubbish("an entry of blame is expected", line)
    origin, final, *count = (number(field) for field in fields[1:])
    return _BlameHeader(commit_sha(fields[0]), origin, final, count[0] if count else None)


def _facts(reader: ChunkReader, last: bytes) -> dict[bytes, bytes]:
    """The lines after a head by their first word, up to the one that ends them: the file's name or its text."""
    facts: dict[bytes, bytes] = {}
    while last not in facts:
        line = reader.line()
        if line.startswith(b"\t"):
            facts[b"\t"] = line[1:]
            if last != b"\t":
                raise rubbish("a file name is expected", line)
        else:
            word, _, value = line.partition(b" ")
            facts[word] = value
    return facts


def _entry(head: _BlameHeader, commit: BlamedCommit, place: _BlameRange) -> BlameEntry:
    if not (head.count and head.origin and head.final):
        raise rubbish("lines count from 1", head.commit.encode())
    return BlameEntry(
        commit,
        Lines(head.final, head.final + head.count - 1),
        Lines(head.origin, head.origin + head.count - 1),
        place.path,
        place.previous,
    )


def _commit(commit: CommitSha, facts: dict[bytes, bytes], known: dict[CommitSha, BlamedCommit]) -> BlamedCommit:
    """git describes a commit at its first entry only."""
    if b"author" in facts:
        author, committer = _person(facts, b"author"), _person(facts, b"committer")
        known[commit] = BlamedCommit(commit, author, committer, _fact(facts, b"summary"), b"boundary" in facts)
    if commit not in known:
        raise rubbish("a commit is used before it is described", commit.encode())
    return known[commit]


def _person(facts: dict[bytes, bytes], role: bytes) -> Person:
    name, mail, seconds, zone = (_fact(facts, role + part) for part in (b"", b"-mail", b"-time", b"-tz"))
    at = None if zone == _DAMAGED else moment(seconds + b" " + zone)
    return Person(name, mail.removeprefix(b"<").removesuffix(b">"), at)


def _fact(facts: dict[bytes, bytes], word: bytes) -> bytes:
    if word not in facts:
        raise rubbish(f"'{word.decode('ascii')}' is expected", b" ".join(facts))
    return facts[word]


def _place(facts: dict[bytes, bytes]) -> _BlameRange:
    name = _fact(facts, b"filename")
    previous = None
    if b"previous" in facts:
        commit, _, old_name = facts[b"previous"].partition(b" ")
        previous = PreviousVersion(commit_sha(commit), repo_path(unquoted(old_name)))
    return _BlameRange(repo_path(unquoted(name)), previous)
