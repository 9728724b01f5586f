"""Commits and walks over them: ``git rev-list`` and commit objects with their parsers."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import ChunkReader, make_git_output_error, parse_commit_sha, parse_object_id
from custody.git.command import AnswerStream, Git
from custody.git.failure import check_full_object_id, encode_commit_id_lines, to_pathspec_arguments
from custody.git.objects import NoObject, ObjectConnections, ObjectInfo, look_up_objects

# People and times of a commit: claims in bytes, never checked.


_TIME = lazy_pattern(rb"(-?\d{1,20}) ([+-]\d{1,12})")


class ZonedTime(Struct, frozen=True):
    """Seconds since 1970 in UTC, and the zone of the writer, such as ``+0530``."""

    seconds: int
    zone: str


class Person(Struct, frozen=True):
    """A name and an email address; ``at`` is None if the line of the commit is damaged.

    Bytes are UTF-8 if the commit declares its encoding correctly.
    """

    name: bytes
    email: bytes
    at: ZonedTime | None


def parse_git_time(raw: bytes) -> ZonedTime:
    """Parse git's raw date.

    >>> parse_git_time(b"1700000000 +0530")
    ZonedTime(seconds=1700000000, zone='+0530')
    """
    match = _TIME.fullmatch(raw)
    if not match:
        raise make_git_output_error("expected seconds and zone", raw)
    return ZonedTime(int(match[1]), match[2].decode("ascii"))


# git ends a string at NUL, so no field can contain one.
_FIELDS = ("%H", "%P", "%T", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B")
LOG_OPTIONS = (
    "--no-commit-header",
    "--date=raw",
    "--encoding=UTF-8",
    # With a leading NUL: with --parents git also prints the parents before our first field.
    "--format=%x00" + "%x00".join(_FIELDS) + "%x00",
)

CommitParents = tuple[CommitSha, tuple[CommitSha, ...]]
"""A commit and its parents."""


class Commit(Struct, frozen=True):
    """A commit; names and message are UTF-8 if it declares its encoding correctly."""

    id: CommitSha
    parents: tuple[CommitSha, ...]
    tree: str
    author: Person
    committer: Person
    message: bytes

    @property
    def subject(self) -> bytes:
        """The first paragraph of the message on one line."""
        return b" ".join(_split_commit_message(self.message)[0].split(b"\n"))

    @property
    def body(self) -> bytes:
        """The message after its first paragraph."""
        return _split_commit_message(self.message)[1]


def parse_commit_log(chunks: Iterable[bytes]) -> Iterator[Commit]:
    """Yield the commits of ``git rev-list`` with ``LOG_OPTIONS``, with or without ``--parents``, in git's order."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        reader.read_until(b"\0")
        yield _commit_from_fields([reader.read_until(b"\0") for _ in _FIELDS])
        if end := reader.read_until(b"\n"):
            raise make_git_output_error("expected the end of a commit", end)


def parse_commit_parents(chunks: Iterable[bytes]) -> Iterator[CommitParents]:
    """Yield the commits of ``git rev-list --parents`` with their parents, in git's order."""
    reader = ChunkReader(chunks)
    while not reader.is_at_end():
        commit, *parents = (parse_commit_sha(field) for field in reader.line().split(b" "))
        yield commit, tuple(parents)


def _commit_from_fields(fields: list[bytes]) -> Commit:
    commit, parents, tree, *people, message = fields
    return Commit(
        id=parse_commit_sha(commit),
        parents=tuple(parse_commit_sha(parent) for parent in parents.split()),
        tree=parse_object_id(tree),
        author=_person_from_fields(*people[:3]),
        committer=_person_from_fields(*people[3:]),
        message=message,
    )


def _person_from_fields(name: bytes, email: bytes, at: bytes) -> Person:
    return Person(name, email, parse_git_time(at) if at else None)


def _split_commit_message(message: bytes) -> tuple[bytes, bytes]:
    first, _, rest = message.lstrip(b"\n").partition(b"\n\n")
    return first.rstrip(b"\n"), rest


# Parsing of commit objects. Pure.


_PERSON = lazy_pattern(rb"(.*?) ?<(.*?)>(?: (-?\d{1,20} [+-]\d{1,12}))?.*", re.DOTALL)


def parse_commit(commit: CommitSha, content: bytes) -> Commit:
    """Parse the content of a commit object; the message keeps its encoding."""
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    if b"tree" not in fields:
        raise make_git_output_error("expected a commit", content[:100])
    return Commit(
        id=commit,
        parents=tuple(parse_commit_sha(parent) for parent in fields.get(b"parent", ())),
        tree=parse_object_id(fields[b"tree"][0]),
        author=_parse_commit_person(fields.get(b"author", [b""])[0]),
        committer=_parse_commit_person(fields.get(b"committer", [b""])[0]),
        message=message,
    )


def _parse_commit_person(line: bytes) -> Person:
    match = _PERSON.fullmatch(line)
    if match is None:
        return Person(line, b"", None)
    return Person(match[1], match[2], parse_git_time(match[3]) if match[3] else None)


# Ancestry of any number of pairs in one walk. Pure.


class Ancestry(Struct, frozen=True, order=True):
    """``ancestor`` is reachable from ``descendant`` by parents; a commit is its own ancestor."""

    ancestor: CommitSha
    descendant: CommitSha


def filter_ancestor_pairs(
    pairs: Collection[Ancestry], walk: Iterable[tuple[CommitSha, tuple[CommitSha, ...]]]
) -> frozenset[Ancestry]:
    """Return the true ``pairs``, given commits with their parents, children first.

    Each descendant is one bit that commits pass on to their parents: O(commits walked × descendants / 64). The walk
    ends as soon as every ancestor was reached, since no more bits can reach it.
    """
    bits = {sha: 1 << position for position, sha in enumerate(sorted({pair.descendant for pair in pairs}))}
    open_ends: dict[CommitSha, int] = dict(bits)
    unmet = {pair.ancestor for pair in pairs}
    reached: dict[CommitSha, int] = {}
    for commit, parents in walk:
        below = open_ends.pop(commit, 0)
        if commit in unmet:
            unmet.remove(commit)
            reached[commit] = below
            if not unmet:
                break
        for parent in parents:
            open_ends[parent] = open_ends.get(parent, 0) | below
    return frozenset(pair for pair in pairs if reached.get(pair.ancestor, 0) & bits[pair.descendant])


# Calls of ``git rev-list``.


_STOP_SEARCHED_MAX = 32
"""Ancestors up to which searching for the end of a walk pays: git compares them one by one."""


class Walk(Struct, frozen=True, kw_only=True):
    """The extent of a walk: without the ancestors of ``without``, at most ``count_max`` commits.

    ``since_seconds`` excludes earlier commits. ``simplified`` returns children before parents, and as parents the next
    commits of the walk. ``first_parent`` follows only the first parent of each merge.
    """

    without: Collection[CommitSha] = ()
    count_max: int | None = None
    since_seconds: int | None = None
    simplified: bool = False
    first_parent: bool = False


WHOLE = Walk()


def read_commit_log(
    git: Git, commits: Iterable[CommitSha], paths: Iterable[RepoPath], walk: Walk
) -> AnswerStream[Commit]:
    """Read ``commits`` and their ancestors, newest first."""
    options = [*LOG_OPTIONS, *(("--topo-order", "--parents") if walk.simplified else ())]
    if walk.first_parent:
        options.append("--first-parent")
    if walk.count_max is not None:
        options.append(f"--max-count={int(walk.count_max)}")
    if walk.since_seconds is not None:
        options.append(f"--max-age={int(walk.since_seconds)}")
    feed = chain(encode_commit_id_lines(commits), (b"^" + line for line in encode_commit_id_lines(walk.without)))
    return AnswerStream(
        git.start("rev-list", "--stdin", *options, *to_pathspec_arguments(paths), feed=feed), parse_commit_log
    )


def read_commit_parents(
    git: Git, commits: Iterable[CommitSha], stops: Iterable[bytes] = ()
) -> AnswerStream[CommitParents]:
    """Read ``commits`` and their ancestors with parents, children first; ``stops`` limits the walk."""
    feed = chain(encode_commit_id_lines(commits), stops)
    return AnswerStream(git.start("rev-list", "--stdin", "--topo-order", "--parents", feed=feed), parse_commit_parents)


def read_root_commits(git: Git, commits: Iterable[CommitSha]) -> list[CommitSha]:
    """Return the ancestors of ``commits`` without parents, sorted."""
    output = git.start("rev-list", "--stdin", "--max-parents=0", "--parents", feed=encode_commit_id_lines(commits))
    with AnswerStream(output, parse_commit_parents) as roots:
        return sorted(commit for commit, _ in roots)


def find_ancestries(
    git: Git, pairs: Collection[Ancestry], shared: ObjectConnections | None = None
) -> frozenset[Ancestry]:
    """Return the ``pairs`` with an ancestor and its descendant. Starts at most three git processes."""
    ids = sorted({check_full_object_id(sha) for pair in pairs for sha in (pair.ancestor, pair.descendant)})
    present = {sha for sha, info in zip(ids, look_up_objects(git, ids, shared), strict=True) if _is_commit_object(info)}
    known = [pair for pair in pairs if pair.ancestor in present and pair.descendant in present]
    if not known:
        return frozenset()
    stops = _find_walk_stops(git, sorted({pair.ancestor for pair in known}))
    with read_commit_parents(git, sorted({pair.descendant for pair in known}), stops) as walk:
        return filter_ancestor_pairs(known, walk)


def _find_walk_stops(git: Git, ancestors: list[CommitSha]) -> list[bytes]:
    """Return where a walk may end: at the parents of the common base of all ``ancestors``.

    With wrong clocks git may walk further, but never less far, so the result stays correct.
    """
    if len(ancestors) > _STOP_SEARCHED_MAX:
        return []
    base = git.run("merge-base", "--octopus", *ancestors, statuses=(0, 1))
    return [b"^" + sha + b"^@\n" for sha in base.split()]


def _is_commit_object(info: ObjectInfo | NoObject) -> bool:
    return isinstance(info, ObjectInfo) and info.kind == "commit"
