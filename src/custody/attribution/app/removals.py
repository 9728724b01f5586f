"""Find who removed text: the call or commit that deleted a line or words of it, and what a line's last change was."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.app.history import HOUR_NS, NS, compute_adding_commit_ns
from custody.attribution.changes import LineEdit, compare_texts, find_removed_words
from custody.attribution.lineage import LOOK
from custody.attribution.packing import unpack_line_origins
from custody.attribution.queries.lineage import StateRow
from custody.attribution.text import is_informative_lineage_line, make_lineage_key
from custody.attribution.wire import LastChange
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Commit, Walk

NEIGHBOR_LINES_MAX = 10
"""Maximum lines from a removed line that says little to the informative one that it belongs to."""


class Removal(Struct, frozen=True):
    """A line that is gone, or that lost ``words``; ``line`` is its number before, ``new_line`` its number now.

    ``state`` is the state after the call that removed it, None if no captured call shows that. ``commit`` is the commit
    that removed it, None if that is not committed or was not asked for. ``former`` is the text that it removed, if the
    line had changed before.
    """

    line: int
    text: str
    words: tuple[str, ...] = ()
    new_line: int | None = None
    state: int | None = None
    commit: CommitSha | None = None
    former: str | None = None


class CallEdits:
    """What captured calls changed in each line that they wrote; each call's texts are compared once."""

    def __init__(self, evidence: AttributionContext) -> None:
        self._lineage = evidence.lineage
        self._edits: dict[int, Mapping[int, LineEdit]] = {}

    def find_line_edit(self, state: int, line: str) -> LineEdit | None:
        """Return what the call of ``state`` changed in a line; None if its text does not have the line."""
        if state not in self._edits:
            self._edits[state] = self._read_edits(state)
        return self._edits[state].get(make_lineage_key(line))

    def _read_edits(self, state: int) -> Mapping[int, LineEdit]:
        rows = self._lineage.tables.states([state])
        if not rows:
            return {}
        after = self._lineage.text_of_state(rows[0])
        compared = compare_texts(self._lineage.find_text_before(rows[0]), after)
        own = unpack_line_origins(rows[0].origins)
        edits = sorted(compared.edits.items(), reverse=True)  # of equal lines, the first counts
        return {make_lineage_key(after[j]): edit for j, edit in edits if j < len(own) and own[j].state == state}


class LineChanges:
    """The last change of lines. With ``commits``, also what commits changed, which needs their texts."""

    def __init__(self, evidence: AttributionContext, version: FileVersion, *, commits: bool) -> None:
        self._evidence = evidence
        self._version = version
        self._calls = CallEdits(evidence)
        self._commits: dict[CommitSha | None, Mapping[int, LineEdit]] | None = {} if commits else None

    def report(self, answer: LineAnswer) -> list[LastChange]:
        """Return the last change of every line of an answer; adjacent new lines of one call are one entry."""
        changes: list[LastChange] = []
        for number in range(answer.lines.first, answer.lines.last + 1):
            change = self._report_line(answer, number)
            last = changes[-1] if changes else None
            if last is not None and _is_same_change(last, change):
                added = None if change.words_added is None else (last.words_added or 0) + change.words_added
                changes[-1] = replace(last, end_line=number, words_added=added)
            else:
                changes.append(change)
        return changes

    def _report_line(self, answer: LineAnswer, number: int) -> LastChange:
        text = self._version.texts[number - 1]
        is_call = answer.origin.is_agent and answer.origin.share >= 1.0 and answer.trace is not None
        commit = answer.trail[-1] if answer.trail else None
        edit = self._calls.find_line_edit(answer.origin.state, text) if is_call else None
        if not is_call and answer.trail and self._commits is not None:
            edit = self._read_commit_edits(commit).get(make_lineage_key(text))
        return LastChange(
            start_line=number,
            end_line=number,
            commit=commit,
            session_id=answer.trace.session if is_call and answer.trace is not None else None,
            tool_call_id=answer.call if is_call else None,
            words_added=None if edit is None else edit.added,
            words_removed=None if edit is None else len(edit.removed),
            removed=[] if edit is None else list(edit.removed),
        )

    def _read_commit_edits(self, commit: CommitSha | None) -> Mapping[int, LineEdit]:
        assert self._commits is not None, "the caller checks that commits are compared"
        if commit not in self._commits:
            history, path = self._evidence.history, self._version.path
            known = None if commit is None else self._evidence.commit(commit)
            base = self._version.base if commit is None else (known.parents[0] if known and known.parents else None)
            old = [] if base is None else history.texts(base, path)
            new = self._version.texts if commit is None else history.texts(commit, path)
            edits = sorted(compare_texts(old, new).edits.items(), reverse=True)
            self._commits[commit] = {make_lineage_key(new[j]): edit for j, edit in edits}
        return self._commits[commit]


def _is_same_change(last: LastChange, change: LastChange) -> bool:
    """Return whether two lines were last changed together, without words removed from either."""
    if last.removed or change.removed or (last.words_added is None) != (change.words_added is None):
        return False
    return (last.commit, last.session_id, last.tool_call_id) == (change.commit, change.session_id, change.tool_call_id)


class _DeletingCalls:
    """The captured states of one file in order, each with the counts of its lines before and after."""

    def __init__(self, evidence: AttributionContext, path: RepoPath) -> None:
        lineage = evidence.lineage
        self._steps: list[tuple[StateRow, Counter[int], Counter[int]]] = []
        for row in lineage.tables.list_states(path):
            self._steps.append((row, Counter(lineage.find_keys_before(row)), Counter(row.keys)))

    def find(self, key: int, after_ns: int, until_ns: int) -> int | None:
        """Return the state of the call that deleted a line with this key last; None if it was there afterwards."""
        deleted: int | None = None
        was_there = False
        for row, before, after in self._steps:
            if row.at_ns > until_ns:
                break
            if was_there and not before[key]:
                deleted = None  # it disappeared between two calls
            is_call = LOOK not in row.author.observed and row.author.session is not None
            if before[key] > after[key]:
                deleted = row.id if is_call and row.at_ns > after_ns else None
            elif after[key]:
                deleted = None
            was_there = bool(after[key])
        return deleted

    def has_removed(self, state: int | None, key: int) -> bool:
        """Return whether the call of ``state`` removed a line with this key."""
        return any(row.id == state and before[key] > after[key] for row, before, after in self._steps)


def find_removals_by_calls(
    evidence: AttributionContext,
    path: RepoPath,
    removals: Iterable[Removal],
    times: Mapping[CommitSha | None, tuple[int, int]],
) -> list[Removal]:
    """Return the removals with the calls that made them; ``times`` are the limits of each commit's calls."""
    calls = _DeletingCalls(evidence, path)
    named = [
        replace(removal, state=calls.find(make_lineage_key(removal.former or removal.text), *times[removal.commit]))
        if is_informative_lineage_line(removal.former or removal.text)
        else removal
        for removal in removals
    ]
    return [_name_by_neighbors(calls, named, at) for at in range(len(named))]


def _name_by_neighbors(calls: _DeletingCalls, removals: Sequence[Removal], at: int) -> Removal:
    """Return a removal; a line that says little has the call that removed its neighbor, if it removed this line too."""
    removal = removals[at]
    if removal.state is not None or is_informative_lineage_line(removal.former or removal.text):
        return removal
    neighbors = [_find_informative_neighbor(removals, at, step) for step in (-1, 1)]
    key = make_lineage_key(removal.former or removal.text)
    state = next(
        (other.state for other in neighbors if other is not None and calls.has_removed(other.state, key)), None
    )
    return replace(removal, state=state)


def _find_informative_neighbor(removals: Sequence[Removal], at: int, step: int) -> Removal | None:
    """Return the next removal of the same commit in one direction whose text is informative."""
    removal, at = removals[at], at + step
    while 0 <= at < len(removals) and removals[at].commit == removal.commit:
        if is_informative_lineage_line(removals[at].former or removals[at].text):
            return removals[at] if abs(removals[at].line - removal.line) <= NEIGHBOR_LINES_MAX else None
        at += step
    return None


def list_text_removals(old: Sequence[str], new: Sequence[str], commit: CommitSha | None = None) -> Iterator[Removal]:
    """Yield the lines of ``old`` that are gone from ``new`` or lost words there, in order."""
    compared = compare_texts(old, new)
    lost = {edit.old: (j, edit) for j, edit in compared.edits.items() if edit.old is not None and edit.removed}
    for i, text in enumerate(old):
        if i not in compared.survivors:
            if text.strip():
                yield Removal(i + 1, text, commit=commit)
        elif i in lost:
            j, edit = lost[i]
            yield Removal(i + 1, text, edit.removed, j + 1, commit=commit)


def find_removals_between(
    evidence: AttributionContext, path: RepoPath, texts: tuple[Sequence[str], Sequence[str]], *, since: CommitSha
) -> list[Removal]:
    """Return the removals between two texts of a file that captured calls made after ``since``."""
    removals = list(list_text_removals(*texts))
    if not removals or not evidence.lineage.tables.count_of(path):
        return []
    times: dict[CommitSha | None, tuple[int, int]] = {
        None: (evidence.history.find_touch_ns(since, path) - NS, evidence.workspace.now_ns() + HOUR_NS)
    }
    named = find_removals_by_calls(evidence, path, removals, times)
    return [removal for removal in named if removal.state is not None]


def find_removals(
    evidence: AttributionContext, path: RepoPath, base: CommitSha, commit: CommitSha | None
) -> list[Removal]:
    """Return what was removed from a file between ``base`` and ``commit`` or (None) the file on disk."""
    return _RemovalSearch(evidence, path, base, commit).find()


class _RemovalSearch:
    """The lines of a file's old version, followed through the commits after it."""

    def __init__(self, evidence: AttributionContext, path: RepoPath, base: CommitSha, commit: CommitSha | None) -> None:
        self._evidence = evidence
        self._path = path
        self._base = base
        self._commit = commit
        self._old = evidence.texts(path, base)
        self._places: dict[CommitSha | None, dict[int, int]] = {base: {i: i for i in range(len(self._old))}}
        self._texts: dict[CommitSha | None, Sequence[str]] = {base: self._old}
        self._removed: dict[int, tuple[CommitSha | None, str]] = {}
        self._shortened: dict[int, tuple[CommitSha | None, str]] = {}
        """For old lines, the commit that removed or shortened them last, and their text before it."""

    def find(self) -> list[Removal]:
        head = self._commit or self._evidence.repository.head().commit or self._base
        commits = self._read_commits(head)
        for commit in commits:
            parents = [parent for parent in commit.parents if parent in self._places] or [self._base]
            self._step(commit.id, parents, self._evidence.history.texts(commit.id, self._path))
        now = self._evidence.texts(self._path, self._commit) if self._can_read() else []
        if self._commit is None:
            self._step(None, [commits[-1].id if commits else self._base], now)
        removals = self._list_removals(self._commit if self._commit is None else head, now)
        return find_removals_by_calls(self._evidence, self._path, removals, self._find_call_times(commits))

    def _list_removals(self, end: CommitSha | None, now: Sequence[str]) -> Iterator[Removal]:
        """Yield the old lines that are gone at the end or have lost words, with the commits that did it."""
        places = self._places.get(end, self._places[self._base])
        survivors = compare_texts(self._old, now).survivors
        for i, text in enumerate(self._old):
            if i in places and i in self._shortened:
                commit, former = self._shortened[i]
                if lost := find_removed_words(text, now[places[i]]):
                    yield Removal(i + 1, text, lost, places[i] + 1, None, commit, former)
            elif i not in places and i not in survivors and i in self._removed and text.strip():
                commit, former = self._removed[i]
                yield Removal(i + 1, text, commit=commit, former=former)

    def _can_read(self) -> bool:
        """Return whether the file is there at the end; otherwise all of it was removed."""
        return self._commit is None or bool(self._evidence.history.texts(self._commit, self._path))

    def _read_commits(self, head: CommitSha) -> list[Commit]:
        walk = Walk(without=[self._base], simplified=True)
        with self._evidence.repository.log([head], [self._path], walk) as log:
            return list(log)[::-1]

    def _step(self, commit: CommitSha | None, parents: Sequence[CommitSha], texts: Sequence[str]) -> None:
        """Follow the lines into one commit; a merge removes only lines that each of its parents has."""
        sides = []
        for parent in parents:
            before, places = self._texts[parent], self._places[parent]
            compared = compare_texts(before, texts)
            sides.append({i: compared.survivors[at] for i, at in places.items() if at in compared.survivors})
            if len(parents) == 1:
                lost = {edit.old for edit in compared.edits.values() if edit.removed}
                self._shortened.update({i: (commit, before[at]) for i, at in places.items() if at in lost})
        everywhere = set.intersection(*(set(self._places[parent]) for parent in parents))
        joined = {i: at for side in reversed(sides) for i, at in side.items()}
        first, were = self._places[parents[0]], self._texts[parents[0]]
        self._removed.update({i: (commit, were[first[i]]) for i in everywhere - joined.keys()})
        self._places[commit], self._texts[commit] = joined, texts

    def _find_call_times(self, commits: Sequence[Commit]) -> dict[CommitSha | None, tuple[int, int]]:
        """Return the limits of the calls for each commit: after the last commit of the file before it, and until it."""
        first_ns = self._evidence.history.find_touch_ns(self._base, self._path) - NS
        times: dict[CommitSha | None, tuple[int, int]] = {}
        window_ns = int(self._evidence.rules.window_hours_after * HOUR_NS)
        made = {commit.id: compute_adding_commit_ns(commit) for commit in commits}
        for commit in commits:
            since = min((made[parent] - NS for parent in commit.parents if parent in made), default=first_ns)
            times[commit.id] = since, made[commit.id] + window_ns
        last = made[commits[-1].id] - NS if commits else first_ns
        times[None] = last, self._evidence.workspace.now_ns() + window_ns
        return times
