"""``git blame``: one process per file, and its parsers."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git.chunk_reader import (
    ChunkReader,
    make_git_output_error,
    parse_commit_sha,
    parse_git_number,
    parse_repo_path,
    unquote_git_name,
)
from custody.git.command import AnswerStream, Child, Git
from custody.git.commit_log import ZonedTime, parse_git_time
from custody.git.failure import check_full_object_id, hint_missing_object, to_pathspec_arguments
from custody.git.objects import FileAt, NoObject, list_commit_tree, look_up_objects

# Parsing of ``git blame --porcelain`` and ``--incremental``. Pure.


class BlameEntry(Struct, frozen=True):
    """``lines`` of the blamed version come from the lines ``origin`` of ``path`` in ``commit``.

    ``texts`` are the bytes of the lines without line feeds; ``authored`` is the author time of the commit.
    """

    commit: CommitSha
    authored: ZonedTime | None
    lines: Lines
    origin: Lines
    path: RepoPath
    texts: tuple[bytes, ...]


class LineSource(Struct, frozen=True):
    """Lines ``blamed`` of a version come from the lines ``origin`` of ``path`` in ``commit``."""

    commit: CommitSha
    blamed: Lines
    origin: Lines
    path: RepoPath


_BlameAnswer = TypeVar("_BlameAnswer", BlameEntry, LineSource)

# The zone that git prints for a damaged author line.
_DAMAGED = b"(unknown)"


class _BlameHeader(Struct, frozen=True):
    commit: CommitSha
    origin: int
    final: int
    count: int | None


def parse_blame(chunks: Iterable[bytes]) -> Iterator[BlameEntry]:
    """Yield the entries of ``git blame --porcelain`` in the order of the lines."""
    reader = ChunkReader(chunks)
    times: dict[CommitSha, ZonedTime | None] = {}
    paths: dict[CommitSha, RepoPath] = {}
    while not reader.is_at_end():
        head = _parse_blame_header(reader.line())
        facts = _read_blame_fields(reader)
        if b"author" in facts or head.commit not in times:
            times[head.commit] = _parse_author_time(facts)
        if b"filename" in facts or head.commit not in paths:
            paths[head.commit] = parse_repo_path(unquote_git_name(_get_blame_field(facts, b"filename")))
        yield _make_blame_entry(
            head, times[head.commit], paths[head.commit], (facts[b"\t"], *_read_blame_group(reader, head))
        )


def _read_blame_group(reader: ChunkReader, head: _BlameHeader) -> Iterator[bytes]:
    for step in range(1, head.count or 1):
        follower = _parse_blame_header(reader.line())
        if follower != _BlameHeader(head.commit, head.origin + step, head.final + step, None):
            raise make_git_output_error("expected the next line of the group", follower.commit.encode())
        text = reader.line()
        if not text.startswith(b"\t"):
            raise make_git_output_error("expected a line of the file", text)
        yield text[1:]


def _parse_blame_header(line: bytes) -> _BlameHeader:
    fields = line.split(b" ")
    if len(fields) not in (3, 4):
        raise make_git_output_error("expected an entry of blame", line)
    origin, final, *count = (parse_git_number(field) for field in fields[1:])
    return _BlameHeader(parse_commit_sha(fields[0]), origin, final, count[0] if count else None)


def _read_blame_fields(reader: ChunkReader) -> dict[bytes, bytes]:
    """Return the fields after a header by name; the text of the line has the name tab."""
    facts: dict[bytes, bytes] = {}
    while b"\t" not in facts:
        line = reader.line()
        if line.startswith(b"\t"):
            facts[b"\t"] = line[1:]
        else:
            word, _, value = line.partition(b" ")
            facts[word] = value
    return facts


def _make_blame_entry(
    head: _BlameHeader, authored: ZonedTime | None, path: RepoPath, texts: tuple[bytes, ...]
) -> BlameEntry:
    lines, origin = _blame_lines_from_header(head)
    return BlameEntry(head.commit, authored, lines, origin, path, texts)


def _blame_lines_from_header(head: _BlameHeader) -> tuple[Lines, Lines]:
    """Return the lines of a header in the blamed version and in their commit."""
    if not (head.count and head.origin and head.final):
        raise make_git_output_error("invalid line number", head.commit.encode())
    final, origin = (Lines(first, first + head.count - 1) for first in (head.final, head.origin))
    return final, origin


def parse_line_sources(chunks: Iterable[bytes]) -> Iterator[LineSource]:
    """Yield the entries of ``git blame --incremental`` in the order in which git finds them."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        head = _parse_blame_header(reader.line())
        word = value = b""
        while word != b"filename":
            word, _, value = reader.line().partition(b" ")
        lines, origin = _blame_lines_from_header(head)
        yield LineSource(head.commit, lines, origin, parse_repo_path(unquote_git_name(value)))


def _parse_author_time(facts: dict[bytes, bytes]) -> ZonedTime | None:
    seconds, zone = _get_blame_field(facts, b"author-time"), _get_blame_field(facts, b"author-tz")
    return None if zone == _DAMAGED else parse_git_time(seconds + b" " + zone)


def _get_blame_field(facts: dict[bytes, bytes], word: bytes) -> bytes:
    if word not in facts:
        raise make_git_output_error(f"expected '{word.decode('ascii')}'", b" ".join(facts))
    return facts[word]


_OPTIONS = ("--encoding=UTF-8", "--no-ext-diff", "--no-textconv")


def start_git_blame(git: Git, file: FileAt, lines: Iterable[Lines]) -> AnswerStream[BlameEntry]:
    """Start ``git blame`` for ``lines`` of ``file``, or for the whole file without ``lines``."""
    child = _start_blame(git, "--porcelain", file, lines)
    return AnswerStream(child, lambda chunks: _distinguish_missing_path(git, file, parse_blame(chunks)))


def read_line_sources(git: Git, file: FileAt, lines: Iterable[Lines]) -> list[LineSource]:
    """Return where ``lines`` of ``file``, or all, come from, as far as their history is in the repository.

    A shallow or partial clone may lack what git needs for the older ones.
    """
    found: list[LineSource] = []
    child = _start_blame(git, "--incremental", file, lines)
    answers = AnswerStream(child, lambda chunks: _distinguish_missing_path(git, file, parse_line_sources(chunks)))
    with suppress(GitError), answers as sources:
        found.extend(sources)
    return found


def _start_blame(git: Git, form: str, file: FileAt, lines: Iterable[Lines]) -> Child:
    ranges = [f"-L{line_range.first},{line_range.last}" for line_range in lines]
    arguments = (*ranges, check_full_object_id(file.commit), *to_pathspec_arguments((file.path,)))
    return git.start("blame", form, *_OPTIONS, *arguments)


def _distinguish_missing_path(git: Git, file: FileAt, answers: Iterator[_BlameAnswer]) -> Iterator[_BlameAnswer]:
    """Yield ``answers``; raise ``GitError`` if git reports missing or damaged contents as "no such path"."""
    try:
        yield from answers
    except InputError as error:
        ids = [entry.id for entry in list_commit_tree(git, file.commit, [file.path]) if entry.path == file.path]
        for info in look_up_objects(git, ids):
            if isinstance(info, NoObject):
                hint = hint_missing_object(git.circumstances())
                raise GitError(f"the contents of '{file}' are {info.reason}", hint=hint) from error
        raise
