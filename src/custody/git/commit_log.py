"""Commits and walks over them: ``git rev-list`` asked and parsed, commit objects parsed."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, commit_sha, object_id, rubbish
from custody.git.command import AnswerStream, Git
from custody.git.failure import full_id, id_lines, pathspecs
from custody.git.objects import NoObject, ObjectInfo, look_up

# Who and when, as a commit says it: claims in bytes, never checked.


_MOMENT = re.compile(rb"(-?\d{1,20}) ([+-]\d{1,12})")


@dataclass(frozen=True, slots=True)
class ZonedTime:
    """Seconds since 1970 in UTC and the zone that the writer's clock showed, as ``+0530``."""

    seconds: int
    zone: str


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an address; ``at`` is None when the commit's line is damaged.

    Bytes: UTF-8 as far as the commit tells the truth about its encoding.
    """

    name: bytes
    email: bytes
    at: ZonedTime | None


def moment(raw: bytes) -> ZonedTime:
    """Read git's raw date.

    >>> moment(b"1700000000 +0530")
    ZonedTime(seconds=1700000000, zone='+0530')
    """
    match = _MOMENT.fullmatch(raw)
    if not match:
        raise rubbish("seconds and zone are expected", raw)
    return ZonedTime(int(match[1]), match[2].decode("ascii"))


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


# Parsing a commit object as git stores it. Pure: bytes in, a commit out.


_PERSON = re.compile(rb"(.*?) ?<(.*?)>(?: (-?\d{1,20} [+-]\d{1,12}))?.*", re.DOTALL)


def parse_commit(commit: CommitSha, content: bytes) -> Commit:
    """The commit that an object's content describes; its message as it is written, whatever its encoding."""
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    if b"tree" not in fields:
        raise rubbish("a commit is expected", content[:100])
    return Commit(
        id=commit,
        parents=tuple(commit_sha(parent) for parent in fields.get(b"parent", ())),
        tree=object_id(fields[b"tree"][0]),
        author=_object_person(fields.get(b"author", [b""])[0]),
        committer=_object_person(fields.get(b"committer", [b""])[0]),
        message=message,
    )


def _object_person(line: bytes) -> Person:
    match = _PERSON.fullmatch(line)
    if match is None:
        return Person(line, b"", None)
    return Person(match[1], match[2], moment(match[3]) if match[3] else None)


# Which commits descend from which, for any number of pairs in one walk. Pure: the walk comes from ``rev-list``.


@dataclass(frozen=True, slots=True, order=True)
class Ancestry:
    """``ancestor`` can be reached from ``descendant`` by following parents; a commit is its own ancestor."""

    ancestor: CommitSha
    descendant: CommitSha


def filter_ancestor_pairs(
    pairs: Collection[Ancestry], walk: Iterable[tuple[CommitSha, tuple[CommitSha, ...]]]
) -> frozenset[Ancestry]:
    """Those of ``pairs`` that are true, given commits with their parents, children first.

    Each descendant is one bit that commits pass on to their parents: O(commits walked × descendants / 64). The walk is
    left as soon as every ancestor was met, since with children first no more bits can reach it.
    """
    bits = {sha: 1 << place for place, sha in enumerate(sorted({pair.descendant for pair in pairs}))}
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


# Asking ``git rev-list``: commits, and which descend from which.


_STOP_SEARCHED_MAX = 32
"""For how many ancestors it is worth to search where a walk may stop: git compares them one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """How far to walk: not into what ``without`` descends from, perhaps not all.

    ``since_seconds`` leaves out commits that were made earlier. ``simplified``: children before parents, and parents
    are the next commits of the walk, whatever lies between them.
    """

    without: Collection[CommitSha] = ()
    count_max: int | None = None
    since_seconds: int | None = None
    simplified: bool = False


WHOLE = Walk()


def log(git: Git, commits: Iterable[CommitSha], paths: Iterable[RepoPath], walk: Walk) -> AnswerStream[Commit]:
    """``commits`` and what they descend from, newest first."""
    options = [*LOG_OPTIONS, *(("--topo-order", "--parents") if walk.simplified else ())]
    if walk.count_max is not None:
        options.append(f"--max-count={int(walk.count_max)}")
    if walk.since_seconds is not None:
        options.append(f"--max-age={int(walk.since_seconds)}")
    feed = chain(id_lines(commits), (b"^" + line for line in id_lines(walk.without)))
    return AnswerStream(git.start("rev-list", "--stdin", *options, *pathspecs(paths), feed=feed), parse_log)


def parents(git: Git, commits: Iterable[CommitSha], stops: Iterable[bytes] = ()) -> AnswerStream[CommitParents]:
    """``commits`` and what they descend from with their parents, children first; ``stops`` says where to end."""
    feed = chain(id_lines(commits), stops)
    return AnswerStream(git.start("rev-list", "--stdin", "--topo-order", "--parents", feed=feed), parse_parents)


def ancestries(git: Git, pairs: Collection[Ancestry]) -> frozenset[Ancestry]:
    """Those of ``pairs`` that are true, by three processes and one walk."""
    named = sorted({full_id(sha) for pair in pairs for sha in (pair.ancestor, pair.descendant)})
    here = {sha for sha, info in zip(named, look_up(git, named), strict=True) if _is_commit(info)}
    known = [pair for pair in pairs if pair.ancestor in here and pair.descendant in here]
    if not known:
        return frozenset()
    stops = _stops(git, sorted({pair.ancestor for pair in known}))
    with parents(git, sorted({pair.descendant for pair in known}), stops) as walk:
        return filter_ancestor_pairs(known, walk)


def _stops(git: Git, ancestors: list[CommitSha]) -> list[bytes]:
    """Where a walk may stop: at the parents of what all ``ancestors`` descend from, for none of them is below.

    git may walk further where clocks went backwards, never less far, so the answer stays right.
    """
    if len(ancestors) > _STOP_SEARCHED_MAX:
        return []
    base = git.run("merge-base", "--octopus", *ancestors, fine=(0, 1))
    return [b"^" + sha + b"^@\n" for sha in base.split()]


def _is_commit(info: ObjectInfo | NoObject) -> bool:
    return isinstance(info, ObjectInfo) and info.kind == "commit"
