"""How far recorded edits vouch for what a change made of each file: lines removed, moved or left out have no author.

Lines are compared as text. A chain that was shared without texts has only keys of lines, without white space.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from custody.attribution.app.context import AttributionContext
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import Hunk, RepoPath
from custody.git import FileDiff, HunkDetail
from custody.trust.model import FileVoucher
from custody.workspace.change import ChangeRange

DAY_NS = 86_400 * 1_000_000_000
DAYS_BEFORE = 30
"""Edits are searched from this long before the first commit of the change."""
_EDGE = 1 << 62
"""Stands for the begin and the end of a file among the keys of its lines."""


def rate_file_vouchers(
    context: AttributionContext, change: ChangeRange, version: CommitSha | None, agents: Collection[str]
) -> tuple[FileVoucher, ...]:
    """Return how far edits of ``agents`` vouch for each changed file in ``version``, None for the work tree.

    Without agents, files that only gained lines are left out: whoever wrote these lines vouches.
    """
    rater = _VoucherRater(context, change, version, frozenset(agents))
    return tuple(
        FileVoucher(file.change.path.display, rater.rate(file))
        for file in _list_files(change)
        if agents or _is_silent(file)
    )


def list_missing_vouchers(change: ChangeRange) -> tuple[FileVoucher, ...]:
    """Return the same where nothing can vouch for a file."""
    return tuple(
        FileVoucher(file.change.path.display, Assurance.SELF_REPORTED)
        for file in _list_files(change)
        if _is_silent(file)
    )


def _list_files(change: ChangeRange) -> list[FileDiff]:
    """Return the changed files; another check reports those that cannot be read."""
    unread = {addition.path for addition in change.additions if addition.unread is not None}
    return [file for file in change.files if file.change.path not in unread]


def _is_silent(file: FileDiff) -> bool:
    """Return whether the added lines do not show all of the change."""
    return _is_moved(file) or not file.hunks or any(hunk.removed for hunk in file.hunks)


def _is_moved(file: FileDiff) -> bool:
    """Return whether a file got another name or mode."""
    old, new = file.change.old, file.change.new
    return old is not None and new is not None and (old.path, old.mode) != (new.path, new.mode)


class _FileLines(Struct, frozen=True):
    """The lines of a file between its edges, to search for some of them: as keys, and as text where it is here."""

    keys: bytes
    text: str | None

    def shows(self, other: "_FileLines", first: int, count: int) -> bool:
        """Return whether this has lines of ``other`` with the line before and the line after them."""
        window = other.keys[8 * first : 8 * (first + count + 2)]
        if self.text is None or other.text is None:
            return _contains(self.keys, window)
        lines = other.text.split("\n")[first + 1 : first + count + 3]
        return "\n".join(("", *lines, "")) in self.text


class _RecordedState(Struct, frozen=True):
    """A file after an edit, the keys of its lines, HEAD at that time, and how far the record can be believed."""

    lines: _FileLines
    keys: Sequence[int]
    revision: CommitSha | None
    assurance: Assurance


class _VoucherRater:
    def __init__(
        self, context: AttributionContext, change: ChangeRange, version: CommitSha | None, agents: frozenset[str]
    ) -> None:
        self._context = context
        self._change = change
        self._version = version
        self._agents = agents

    def rate(self, file: FileDiff) -> Assurance:
        """Return the highest assurance at which each hunk of a file is the result of a recorded edit."""
        if _is_moved(file) or file.shown is not HunkDetail.WHOLE or file.change.new is None or not self._agents:
            return Assurance.SELF_REPORTED
        path = file.change.path
        try:
            texts = self._context.texts(path, self._version)
        except InputError:
            return Assurance.SELF_REPORTED  # a link or a submodule: it has no lines
        keys = self._context.lineage.make_keys(texts)
        lines, states = _make_file_lines(keys, texts), list(self._list_states(path))
        for least in (Assurance.WITNESSED, Assurance.ENROLLED):
            believed = [state for state in states if state.assurance.meets(least)]
            is_recorded = all(self._is_recorded(path, hunk, lines, believed) for hunk in file.hunks)
            if is_recorded and (file.hunks or any(list(state.keys) == keys for state in believed)):
                return least
        return Assurance.SELF_REPORTED

    def _list_states(self, path: RepoPath) -> Iterator[_RecordedState]:
        period, lineage = self._change.period, self._context.lineage
        since_ns = 0 if period is None else period.first_ns - DAYS_BEFORE * DAY_NS
        for state in lineage.tables.list_since(path, since_ns):
            record = self._context.store.tables.record(state.ref) if state.author.agent in self._agents else None
            if record is not None:
                lines = _make_file_lines(state.keys, lineage.text_of_state(state))
                assurance = self._context.ratings.rate_record(record)
                yield _RecordedState(lines, state.keys, state.author.revision, assurance)

    def _is_recorded(
        self, path: RepoPath, hunk: Hunk[bytes], lines: _FileLines, states: Sequence[_RecordedState]
    ) -> bool:
        """Return whether a state has the lines of a hunk between the same two lines, and lacks the removed ones."""
        added, removed = (
            Counter(self._context.lineage.make_keys(line.decode("utf-8", "surrogateescape") for line in some))
            for some in (hunk.added, hunk.removed)
        )
        return any(
            state.lines.shows(lines, hunk.new_index, len(hunk.added)) and self._removes(path, state, removed - added)
            for state in states
        )

    def _removes(self, path: RepoPath, state: _RecordedState, removed: Counter[int]) -> bool:
        """Return whether the file had the removed lines when the agent worked on it, and not after its edit.

        An older state that never had them vouches for nothing.
        """
        if not removed:
            return True
        if state.revision is None or self._context.commit(state.revision) is None:
            return False
        try:
            before = Counter(self._context.lineage.make_keys(self._context.texts(path, state.revision)))
        except InputError:
            return False  # that commit does not have the file
        return removed <= before - Counter(state.keys)


def _make_file_lines(keys: Sequence[int], texts: Sequence[str]) -> _FileLines:
    """Return the lines of a file; a state of a chain that was shared without texts has only keys."""
    text = "\n".join(("", "\0", *texts, "\0", "")) if len(texts) == len(keys) else None
    return _FileLines(_pack(keys), text)


def _pack(keys: Sequence[int]) -> bytes:
    """Return the keys of a file's lines between its edges, 8 bytes each."""
    return array("q", (_EDGE, *keys, _EDGE)).tobytes()


def _contains(keys: bytes, window: bytes) -> bool:
    """Return whether packed keys stand in others.

    >>> _contains(_pack([1, 2, 3]), _pack([2, 3])[8:]), _contains(_pack([1, 2, 3]), _pack([1, 3])[:-8])
    (True, False)
    """
    place = keys.find(window)
    while place % 8:  # inside of a key; -1 has a rest too
        if place == -1:
            return False
        place = keys.find(window, place + 1)
    return True
