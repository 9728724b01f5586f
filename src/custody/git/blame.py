"""``git blame``: one process per file, and its parsers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git.chunk_reader import ChunkReader, commit_sha, number, repo_path, rubbish, unquoted
from custody.git.command import AnswerStream, Git
from custody.git.commit_log import ZonedTime, moment
from custody.git.failure import full_id, missing_hint, pathspecs
from custody.git.objects import FileAt, NoObject, look_up, tree

# Parsing ``git blame --porcelain``. Pure: pieces of bytes in, entries out.


@dataclass(frozen=True, slots=True)
class BlameEntry:
    """``lines`` of the blamed version were written by ``commit``, as its lines ``origin`` of ``path``.

    ``texts`` are the lines' bytes, each without its line feed; ``authored`` is the time that the commit's author gives.
    """

    commit: CommitSha
    authored: ZonedTime | None
    lines: Lines
    origin: Lines
    path: RepoPath
    texts: tuple[bytes, ...]


# What git prints for the zone of an author line that it cannot read.
_DAMAGED = b"(unknown)"


@dataclass(frozen=True, slots=True)
class _BlameHeader:
    commit: CommitSha
    origin: int
    final: int
    count: int | None


def parse_blame(chunks: Iterable[bytes]) -> Iterator[BlameEntry]:
    """The entries of ``git blame --porcelain`` in the order of the lines; git describes a commit once."""
    reader = ChunkReader(chunks)
    times: dict[CommitSha, ZonedTime | None] = {}
    paths: dict[CommitSha, RepoPath] = {}
    while not reader.ended():
        head = _head(reader.line())
        facts = _facts(reader)
        if b"author" in facts or head.commit not in times:
            times[head.commit] = _authored(facts)
        if b"filename" in facts or head.commit not in paths:
            paths[head.commit] = repo_path(unquoted(_fact(facts, b"filename")))
        yield _entry(head, times[head.commit], paths[head.commit], (facts[b"\t"], *_rest_of_group(reader, head)))


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


def _facts(reader: ChunkReader) -> dict[bytes, bytes]:
    """The lines after a head by their first word, up to the text of the line."""
    facts: dict[bytes, bytes] = {}
    while b"\t" not in facts:
        line = reader.line()
        if line.startswith(b"\t"):
            facts[b"\t"] = line[1:]
        else:
            word, _, value = line.partition(b" ")
            facts[word] = value
    return facts


def _entry(head: _BlameHeader, authored: ZonedTime | None, path: RepoPath, texts: tuple[bytes, ...]) -> BlameEntry:
    if not (head.count and head.origin and head.final):
        raise rubbish("lines count from 1", head.commit.encode())
    lines = Lines(head.final, head.final + head.count - 1)
    origin = Lines(head.origin, head.origin + head.count - 1)
    return BlameEntry(head.commit, authored, lines, origin, path, texts)


def _authored(facts: dict[bytes, bytes]) -> ZonedTime | None:
    seconds, zone = _fact(facts, b"author-time"), _fact(facts, b"author-tz")
    return None if zone == _DAMAGED else moment(seconds + b" " + zone)


def _fact(facts: dict[bytes, bytes], word: bytes) -> bytes:
    if word not in facts:
        raise rubbish(f"'{word.decode('ascii')}' is expected", b" ".join(facts))
    return facts[word]


_OPTIONS = ("--porcelain", "--encoding=UTF-8", "--no-ext-diff", "--no-textconv")


def blame(git: Git, file: FileAt, lines: Iterable[Lines]) -> AnswerStream[BlameEntry]:
    """Start ``git blame`` for ``lines`` of ``file``, or for all of it when there are none."""
    stretches = [f"-L{stretch.first},{stretch.last}" for stretch in lines]
    child = git.start("blame", *_OPTIONS, *stretches, full_id(file.commit), *pathspecs((file.path,)))
    return AnswerStream(child, lambda chunks: _distinguish_missing_path(git, file, parse_blame(chunks)))


def _distinguish_missing_path(git: Git, file: FileAt, answers: Iterator[BlameEntry]) -> Iterator[BlameEntry]:
    """``answers``; git says "no such path" also of contents that are missing or damaged: not the caller's turn."""
    try:
        yield from answers
    except InputError as error:
        ids = [entry.id for entry in tree(git, file.commit, [file.path]) if entry.path == file.path]
        for info in look_up(git, ids):
            if isinstance(info, NoObject):
                hint = missing_hint(git.circumstances())
                raise GitError(f"the contents of '{file}' are {info.reason}", hint=hint) from error
        raise
