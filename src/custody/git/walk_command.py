"""Asking ``git rev-list``: commits, and which descend from which."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.ancestry import Ancestry, filter_ancestor_pairs
from custody.git.answer_stream import AnswerStream
from custody.git.argument import full_id, id_lines, pathspecs
from custody.git.command import Git
from custody.git.commit_log import LOG_OPTIONS, Commit, CommitParents, parse_log, parse_parents
from custody.git.object_parser import NoObject, ObjectInfo
from custody.git.tree_command import look_up

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
