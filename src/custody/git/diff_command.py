"""Asking ``git diff-tree --stdin``: what is sent, and that every question was answered."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.answer_stream import AnswerStream
from custody.git.argument import full_id, pathspecs
from custody.git.command import Git
from custody.git.raw_diff import CommitFiles

T = TypeVar("T")

# Every default is said aloud. A merge is compared with one parent, so that there are no combined diffs; --always
# answers also for a commit that changed nothing.
_DIFF_TREE = (
    *("diff-tree", "--stdin", "-r", "-z", "--root", "--always", "--diff-merges=first-parent", "--full-index"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--inter-hunk-context=0"),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What did ``commit`` change against ``parent``, which may be any commit?

    None is its own first parent; a commit without one (a root, or the cut of a shallow clone) adds all it has.
    """

    commit: CommitSha
    parent: CommitSha | None = None


def compare(
    git: Git,
    comparisons: Iterable[Comparison],
    paths: Iterable[RepoPath],
    options: Iterable[str],
    parse: Callable[[Iterable[bytes]], Iterator[CommitFiles[T]]],
) -> AnswerStream[CommitFiles[T]]:
    """Start ``git diff-tree <options>`` for any number of comparisons."""
    questions = _Questions(comparisons)
    child = git.start(*_DIFF_TREE, *options, *pathspecs(paths), feed=questions.lines())
    return AnswerStream(child, lambda chunks: questions.answered(parse(chunks)))


class _Questions:
    """Comparisons as they are sent: diff-tree passes over a commit that it cannot find without a word."""

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = comparisons
        self._waiting: deque[Comparison] = deque()
        self._with_parent: dict[CommitSha, bool] = {}

    def lines(self) -> Iterator[bytes]:
        """The comparisons for git's standard input."""
        for comparison in self._comparisons:
            self._check(comparison)
            self._waiting.append(comparison)
            ids = [full_id(comparison.commit)] + ([full_id(comparison.parent)] if comparison.parent else [])
            yield f"{' '.join(ids)}\n".encode("ascii")

    def answered(self, answers: Iterable[CommitFiles[T]]) -> Iterator[CommitFiles[T]]:
        """``answers``, in the order of the comparisons; a ``GitError`` when one is left out."""
        for answer in answers:
            comparison = self._waiting.popleft() if self._waiting else Comparison(CommitSha(""))
            if answer.commit != comparison.commit:
                raise _unknown(comparison)
            yield answer
        if self._waiting:
            raise _unknown(self._waiting[0])

    def _check(self, comparison: Comparison) -> None:
        # git remembers the parent it was given, and would use it again where none is given.
        named = comparison.parent is not None
        if self._with_parent.setdefault(comparison.commit, named) != named:
            raise InputError(
                f"'{comparison.commit}' is to be compared both with its own and with a given parent",
                hint="ask in two questions, or name the parent both times",
            )


def _unknown(comparison: Comparison) -> GitError:
    return GitError(
        f"git knows no commit '{comparison.commit}'",
        hint="the clone may be shallow, partial or damaged: try 'git fsck'",
    )
