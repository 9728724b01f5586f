"""Asking ``git blame``: one process per file."""

from collections.abc import Iterable, Iterator

from custody.core.errors import GitError, InputError
from custody.core.lines import Lines
from custody.git.answer_stream import AnswerStream
from custody.git.argument import full_id, pathspecs
from custody.git.blame_parser import BlameEntry, parse_blame
from custody.git.command import Git
from custody.git.failure import missing_hint
from custody.git.object_parser import FileAt, NoObject
from custody.git.tree_command import look_up, tree

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
