"""Asking ``git ls-tree`` and ``git cat-file``: what a commit holds, and what an object is."""

from collections.abc import Iterable, Iterator

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.answer_stream import AnswerStream
from custody.git.argument import full_id, pathspecs
from custody.git.command import Git
from custody.git.object_parser import FileAt, NoObject, ObjectInfo, read_info
from custody.git.object_reader import ObjectReader
from custody.git.tree_parser import TreeEntry, parse_tree


def tree(git: Git, commit: CommitSha, paths: Iterable[RepoPath]) -> AnswerStream[TreeEntry]:
    """All files of ``commit``, or those below ``paths``."""
    return AnswerStream(git.start("ls-tree", "-r", "-z", "--full-tree", full_id(commit), *pathspecs(paths)), parse_tree)


def look_up(git: Git, names: Iterable[str | FileAt]) -> Iterator[ObjectInfo | NoObject]:
    """What the objects with these names are: one answer for each, in their order."""
    with ObjectReader(git, "--batch-check", read_info) as reader:
        yield from reader.read_all(names)
