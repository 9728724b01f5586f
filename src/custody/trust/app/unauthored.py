"""Parts of a change without an author: removed lines, renamed files, changed modes, empty files; and who vouches."""

from collections import Counter
from collections.abc import Collection, Sequence

from custody.attribution.app.context import AttributionContext
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit
from custody.git import FileDiff, HunkDetail
from custody.ledger.queries import list_file_edits
from custody.trust.model import UnauthoredPart
from custody.workspace.change import ChangeRange

DAY_NS = 86_400 * 1_000_000_000
DAYS_BEFORE = 30
"""Edits are searched from this long before the first commit of the change."""


def rate_unauthored_parts(
    context: AttributionContext, change: ChangeRange, agents: Collection[str]
) -> tuple[UnauthoredPart, ...]:
    """Return the parts of a change that no added line shows; only edits of ``agents`` vouch for one."""
    rater = _PartRater(context, change, frozenset(agents))
    return tuple(UnauthoredPart(file.change.path.display, rater.rate(file)) for file in _list_files(change))


def list_unauthored_parts(change: ChangeRange) -> tuple[UnauthoredPart, ...]:
    """Return the same parts where nothing can vouch for one."""
    return tuple(UnauthoredPart(file.change.path.display, Assurance.SELF_REPORTED) for file in _list_files(change))


def _list_files(change: ChangeRange) -> list[FileDiff]:
    """Return the files with such a part; another check reports files that cannot be read."""
    unread = {addition.path for addition in change.additions if addition.unread is not None}
    return [file for file in change.files if file.change.path not in unread and _has_unauthored_part(file)]


def _has_unauthored_part(file: FileDiff) -> bool:
    return _is_moved(file) or not file.hunks or any(hunk.removed for hunk in file.hunks)


def _is_moved(file: FileDiff) -> bool:
    """Return whether a file got another name or mode."""
    old, new = file.change.old, file.change.new
    return old is not None and new is not None and (old.path, old.mode) != (new.path, new.mode)


class _PartRater:
    def __init__(self, context: AttributionContext, change: ChangeRange, agents: frozenset[str]) -> None:
        self._context = context
        self._change = change
        self._agents = agents

    def rate(self, file: FileDiff) -> Assurance:
        """Return the highest assurance at which recorded edits explain the silent part of a file."""
        if _is_moved(file) or file.shown is not HunkDetail.WHOLE or not self._agents:
            return Assurance.SELF_REPORTED
        removed = Counter(_decode(line) for hunk in file.hunks for line in hunk.removed)
        edits = self._find_edits(file.change.path)
        for least in (Assurance.WITNESSED, Assurance.ENROLLED):
            believed = [edit for edit, assurance in edits if assurance.meets(least)]
            if believed and removed <= self._sum_removed_lines(file.change.path, believed):
                return least
        return Assurance.SELF_REPORTED

    def _find_edits(self, path: RepoPath) -> list[tuple[FileEdit, Assurance]]:
        period, rate = self._change.period, self._context.ratings.rate_record
        if period is None:
            return []
        found = list_file_edits(
            self._context.store,
            path,
            since_ns=period.first_ns - DAYS_BEFORE * DAY_NS,
            until_ns=period.last_ns,
        )
        return [(edit.view, rate(edit.record)) for edit in found if edit.view.agent in self._agents]

    def _sum_removed_lines(self, path: RepoPath, edits: Sequence[FileEdit]) -> Counter[str]:
        total = Counter[str]()
        for edit in edits:
            after = _count_lines(None if edit.after is None else edit.after.content)
            if edit.before is not None:
                total += _count_lines(edit.before.content) - after
            elif edit.after is not None and edit.after.content is not None and not edit.part:
                # The whole file was written: each line of the base that it lacks was removed.
                total += self._count_base_lines(path) - after
        return total

    def _count_base_lines(self, path: RepoPath) -> Counter[str]:
        try:
            return Counter(self._context.texts(path, CommitSha(self._change.fork)))
        except InputError:
            return Counter()  # the base does not have the file


def _count_lines(text: str | None) -> Counter[str]:
    return Counter() if text is None else Counter(line.removesuffix("\r") for line in text.split("\n"))


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
