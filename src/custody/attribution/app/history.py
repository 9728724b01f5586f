"""Where the lines of a file come from as of a commit: walk the commits that changed it, oldest first.

git says which lines each commit removed and added; this carries origins along. Commits made before the first captured
edit (and two days) are not walked: of their lines nothing can be known.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.attribution.app.commit_texts import RemovedLines, Touch, hunk_of, touches_of
from custody.attribution.app.replay import Lineage
from custody.attribution.lineage import IMPORTED, TracedText
from custody.attribution.origin_search import (
    NO_LINES,
    AddingCommit,
    CommitHunk,
    Donor,
    LineMatch,
    OpenLine,
    OpenVersion,
    RemovedRun,
    VersionLine,
    base_version,
    join_merge_parents,
    removed_by,
    removed_lines,
    spliced,
)
from custody.attribution.packing import pack_version, unpack_origins, unpack_version
from custody.attribution.queries.lineage import StateRow
from custody.attribution.text import keys_of, lines_of, text_of
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import TRANSCRIPT
from custody.git import ChangeKind, Comparison, FileAt, FileDiff, Object, ObjectReader, Repository, Walk, parse_commit
from custody.git import Commit as GitCommit

NS = 1_000_000_000
HOUR_NS = 3_600 * NS
DAY_NS = 24 * HOUR_NS
TOGETHER_MIN = 8
"""So many files are worth reading the whole line of commits instead of each file's own."""

HORIZON_DAYS = 2
"""Commits older than the first recorded edit by more than this are not read: clocks of machines differ by less."""
DONORS_MAX = 8
"""Captured states that are aligned with the new lines of one commit, the best first; more hardly ever explain more."""
HUNK_LINES_MAX = 5_000
"""More new lines at once are compared exactly and without white space only, and the answer says so."""
FOLLOWED_FILES_MAX = 64
"""Versions of files that moved lines are followed through, and the answer says so where it stops."""


@dataclass(slots=True)
class SearchExtent:
    """What a negative answer rests on."""

    commits: int = 0
    limits: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _HistoryStep:
    """One commit of a file's history with what it did to the file, against each parent of the walk."""

    commit: GitCommit
    parents: tuple[CommitSha, ...]
    diffs: tuple[FileDiff | None, ...]


class History:
    """Versions of files along the commits of one repository."""

    def __init__(
        self, repository: Repository, objects: ObjectReader[Object], lineage: Lineage, gone: RemovedLines | None = None
    ) -> None:
        self._repository = repository
        self._gone = gone or RemovedLines(repository)
        self._objects = objects
        self._lineage = lineage
        self._tables = lineage.tables
        self._rules = lineage.rules
        self._newest = self._tables.newest()
        self._memo: dict[tuple[CommitSha, RepoPath], list[VersionLine]] = {}
        self._read_for: dict[tuple[CommitSha, RepoPath], tuple[int, Sequence[str]]] = {}
        self._noted: list[str] = []
        self._asked: set[tuple[CommitSha, RepoPath]] = set()
        self._states: dict[int, StateRow] = {}
        self._overwritten: dict[int, int | None] = {}
        self._texts: dict[tuple[CommitSha, RepoPath], list[str]] = {}
        self._has_redacted = self._tables.has_redacted()
        self._renames: dict[CommitSha, Mapping[RepoPath, RepoPath]] = {}
        self._touches: Mapping[RepoPath, list[Touch]] = {}
        self._touches_of: CommitSha | None = None
        self.searched = SearchExtent()
        self.liked: Callable[[CommitSha, RepoPath, Sequence[LineMatch]], None] | None = None
        """Told what commits have like captured states, if somebody wants to know."""
        earliest = min((at for at in (self._tables.earliest_ns(), self._tables.first_traced_ns()) if at), default=None)
        before = HORIZON_DAYS * DAY_NS
        self.since_ns = None if earliest is None else earliest - before

    def version(self, commit: CommitSha, path: RepoPath, *, keyed: bool = True) -> list[VersionLine]:
        """Every line of ``path`` as of ``commit`` with its origin; empty when there is no such file.

        Without ``keyed`` the lines may be without their keys, which cost more than all the rest of a kept answer.
        """
        texts = self.texts(commit, path)
        if self.since_ns is None:
            return base_version(texts)
        kept = self._kept(commit, path, texts, keyed=keyed)
        if kept is not None:
            return kept
        lines = self._walked(commit, path, texts)
        self._memo[(commit, path)] = lines
        return lines

    def prepare(self, commit: CommitSha, paths: Collection[RepoPath]) -> None:
        """Read the history of several files at once, as far as nothing is kept of it; answers are the same."""
        if self.since_ns is None:
            return
        unread = [path for path in paths if self._tables.version(path, commit, self._lineage.version) is None]
        if len(unread) >= TOGETHER_MIN:
            self._touches = touches_of(self._repository, commit, unread, self._since_seconds)
            self._touches_of = commit

    def walked(self, commit: CommitSha, path: RepoPath) -> None:
        """Read the history of a file up to a commit, whatever is kept of it."""
        if self.since_ns is not None:
            self._walked(commit, path, self.texts(commit, path))

    def hold(self, commit: CommitSha, path: RepoPath, texts: list[str]) -> None:
        """Take a file's lines from somebody who has just read them."""
        self._texts = {(commit, path): texts}

    def texts(self, commit: CommitSha, path: RepoPath) -> list[str]:
        """The file's lines in a commit; none when it is not there or no text."""
        if (commit, path) not in self._texts:
            found = self._objects.read(FileAt(commit, path))
            content = found.content if isinstance(found, Object) and found.info.kind == "blob" else b""
            # Only the last one is held: it is asked for again at once, and a file may be large.
            self._texts = {(commit, path): [] if b"\0" in content[:8000] else lines_of(text_of(content))}
        return self._texts[(commit, path)]

    def explained(
        self,
        lines: Sequence[VersionLine | OpenLine],
        commit: AddingCommit,
        path: RepoPath,
        hunks: Sequence[tuple[CommitHunk, RemovedRun]],
    ) -> list[VersionLine]:
        """Lines that a commit (or the work tree) added, explained by everything that is known."""
        removed = [line for hunk, _ in hunks for line in hunk.removed]
        version = OpenVersion(lines, commit, self._rules, removed=removed, overwrote=self._overwrote)
        if version.is_closed or self.since_ns is None:
            return version.closed()  # nothing is open, or nothing was ever captured that could explain it
        donors = self._donors(version, commit, path)
        version.take_from(donors)
        version.take_whole(donors)
        if len(version.open_keys) > HUNK_LINES_MAX:
            self._note(f"more than {HUNK_LINES_MAX:,} new lines at once were compared line by line only")
            return version.closed()
        if not version.is_settled:
            version.take_moved(_all_removed(hunks))
        if not version.is_settled:
            version.take_words([hunk for hunk in hunks if hunk[1].is_known], donors)
            if self.liked is not None and commit.id is not None and version.likes:
                self.liked(commit.id, path, version.likes)
        # Only a line that some call once brought can have come from elsewhere.
        if not version.is_settled and self._voted(version):
            version.take_moved(self._removed_elsewhere(commit, path, version))
            version.take_from(self._donors_elsewhere(version, commit, path))
        version.follow()
        return version.closed()

    def as_captured(self, hunk: CommitHunk) -> CommitHunk:
        """A change with its secrets taken out, as captured texts are; as it is where none was ever taken out."""
        if not self._has_redacted:
            return hunk
        from custody.attribution.app.commit_texts import mask_secrets  # few stores hold anything redacted

        return replace(hunk, removed=mask_secrets(hunk.removed), added=mask_secrets(hunk.added))

    # --- what is kept -----------------------------------------------------------------------------------------------

    def _kept(
        self, commit: CommitSha, path: RepoPath, texts: Sequence[str], *, keyed: bool
    ) -> list[VersionLine] | None:
        memo = self._memo.get((commit, path))
        if memo is not None:
            return memo
        row = self._tables.version(path, commit, self._lineage.version)
        stale = row is not None and row[0] < self._newest
        unpacked = None if row is None else unpack_version(row[1], texts, keyed=keyed or stale)
        if row is None or unpacked is None:
            return None
        lines, commits, notes = unpacked
        if stale and not self._is_fresh(commit, path, row[0], lines):
            return None
        self.searched.commits += commits
        for note in notes:
            self._note(note)
        if keyed or stale:
            self._memo[(commit, path)] = lines
        return lines

    def _is_fresh(self, commit: CommitSha, path: RepoPath, seen: int, lines: Sequence[VersionLine]) -> bool:
        """Whether nothing that arrived since could explain a line that was not explained."""
        unknown = list(dict.fromkeys(line.key for line in lines if line.tells and line.origin.share < 1.0))
        if self._tables.has_newer(unknown, seen):
            return False
        return not self._tables.has_earlier(path, seen, self._made_ns(commit, lines))

    def _made_ns(self, commit: CommitSha, lines: Sequence[VersionLine]) -> int:
        """When a commit was made, or the latest one among its lines where clocks went backwards."""
        commits = {commit, *(sha for line in lines for sha in line.trail if sha is not None)}
        return max(_made_ns(found) for found in self._repository.log(sorted(commits), walk=Walk(count_max=1)))

    def save(self) -> None:
        """Keep the versions that were asked for, so that the next question starts from there."""
        for commit, path in sorted(self._asked):
            packed = pack_version(self._memo[(commit, path)], *self._read_for.get((commit, path), (0, ())))
            self._tables.put_version(path, commit, self._lineage.version, self._newest, packed)

    # --- the walk ---------------------------------------------------------------------------------------------------

    def _walked(self, commit: CommitSha, path: RepoPath, texts: Sequence[str]) -> list[VersionLine]:
        self._asked.add((commit, path))
        before, noted, self._noted = self.searched.commits, self._noted, []
        changes = self._changes(commit, path)
        for change in reversed(changes):
            if (change.commit.id, path) not in self._memo:
                self._memo[(change.commit.id, path)] = self._changed(change, path)
        self._read_for[(commit, path)] = (self.searched.commits - before, tuple(dict.fromkeys(self._noted)))
        self._noted = [*noted, *self._noted]
        if not changes:
            return base_version(texts)
        top = self._memo[(changes[0].commit.id, path)]
        # The walk and the commit must agree on what the file holds; where they do not, nothing is claimed.
        return top if len(top) == len(texts) else base_version(texts)

    def _changes(self, commit: CommitSha, path: RepoPath) -> list[_HistoryStep]:
        """The commits that changed a file since the horizon, newest first, each with its diffs against its parents."""
        if commit == self._touches_of and path in self._touches:
            touches = self._touches[path]
            self.searched.commits += len(touches)
            return [_touched(touch, older) for touch, older in zip(touches, [*touches[1:], None], strict=True)]
        walk = Walk(since_seconds=self._since_seconds, simplified=True)
        commits = list(self._repository.log([commit], [path], walk))
        self.searched.commits += len(commits)
        questions = [Comparison(c.id, parent) for c in commits for parent in (c.parents or (None,))]
        answers = list(self._repository.diffs(questions, [path]))
        changes, at = [], 0
        for changing_commit in commits:
            count = len(changing_commit.parents) or 1
            diffs = tuple(_of_path(answer.files, path) for answer in answers[at : at + count])
            changes.append(_HistoryStep(changing_commit, changing_commit.parents, diffs))
            at += count
        return changes

    @property
    def _since_seconds(self) -> int | None:
        return None if self.since_ns is None else max(0, self.since_ns // NS)

    def _changed(self, change: _HistoryStep, path: RepoPath) -> list[VersionLine]:
        """The version that a commit made."""
        commit = AddingCommit(change.commit.id, _made_ns(change.commit))
        if any(diff is not None and diff.change.kind is ChangeKind.DELETED for diff in change.diffs):
            return []
        if len(change.parents) <= 1 and _is_new(change.diffs[0]):
            return self._arrived(change.commit, commit, path)
        sides, hunks = [], []
        for parent, diff in zip(change.parents or (None,), change.diffs, strict=True):
            old = [] if parent is None else self._parent(parent, path)
            made = [] if diff is None else [self.as_captured(hunk_of(hunk)) for hunk in diff.hunks]
            sides.append(spliced(old, made))
            hunks.append([(hunk, removed_by(hunk, old)) for hunk in made])
        lines = join_merge_parents(sides) if len({len(side) for side in sides}) == 1 else sides[0]
        return self.explained(lines, commit, path, hunks[0])

    def _parent(self, parent: CommitSha, path: RepoPath) -> list[VersionLine]:
        found = self._memo.get((parent, path))
        if found is None:
            # Older than the horizon, or cut off: its text is known, nothing else.
            found = self._memo[(parent, path)] = base_version(self.texts(parent, path))
        return found

    def _arrived(self, git_commit: GitCommit, commit: AddingCommit, path: RepoPath) -> list[VersionLine]:
        """A file that a commit brought: under another name before, or all new."""
        diff = self._renamed(git_commit, path)
        if diff is None or diff.change.old is None:
            texts = self.texts(git_commit.id, path)
            hunk = self.as_captured(CommitHunk(0, (), 0, tuple(texts)))
            return self.explained(spliced([], [hunk]), commit, path, [(hunk, NO_LINES)])
        parent = self._first_parent(git_commit.id)
        old = [] if parent is None else self._elsewhere(parent, diff.change.old.path)
        made = [self.as_captured(hunk_of(hunk)) for hunk in diff.hunks]
        lines = spliced(old, made)
        return self.explained(lines, commit, path, [(hunk, removed_by(hunk, old)) for hunk in made])

    def _renamed(self, commit: GitCommit, path: RepoPath) -> FileDiff | None:
        """How a commit that brought ``path`` did so, when it renamed or copied a file to it."""
        old = self._renames_of(commit.id).get(path)
        if old is None:
            return None
        (diff,) = self._repository.diffs([Comparison(commit.id)], [old, path], renames=True)
        return _of_path(diff.files, path)

    def _renames_of(self, commit: CommitSha) -> Mapping[RepoPath, RepoPath]:
        """The old names of what a commit renamed, by the new ones; asked once, for a commit may bring many files."""
        if commit not in self._renames:
            (answer,) = self._repository.changes([Comparison(commit)])
            renamed = (file for file in answer.files if file.kind is ChangeKind.RENAMED and file.old is not None)
            self._renames[commit] = {file.path: file.old.path for file in renamed if file.old is not None}
        return self._renames[commit]

    def _elsewhere(self, commit: CommitSha, path: RepoPath) -> list[VersionLine]:
        """A file as of another place in history, followed as far as the rules allow."""
        if len(self._asked) >= FOLLOWED_FILES_MAX:
            self._note(f"moved lines were followed through {FOLLOWED_FILES_MAX} files only")
            return base_version(self.texts(commit, path))
        return self.version(commit, path)

    def _note(self, limit: str) -> None:
        self._noted.append(limit)
        if limit not in self.searched.limits:
            self.searched.limits.append(limit)

    # --- donors -----------------------------------------------------------------------------------------------------

    def _donors(self, version: OpenVersion, commit: AddingCommit, path: RepoPath) -> list[Donor]:
        """The captured states of this file that may explain open lines."""
        until = self._until_ns(commit)
        voted = [state for state in self._voted(version) if state.path == path and state.at_ns <= until]
        around = [self._tables.last_of(path, commit.at_ns), self._tables.last_of(path, until)]
        rows = {row.id: row for row in (*voted[:DONORS_MAX], *around) if row is not None}
        return [self._donor(row, commit) for row in rows.values()]

    def _donors_elsewhere(self, version: OpenVersion, commit: AddingCommit, path: RepoPath) -> list[Donor]:
        """States of other files that lines may have come from: only what those files no longer have."""
        until = self._until_ns(commit)
        rows = [state for state in self._voted(version) if state.path != path and state.at_ns <= until]
        return [self._donor(row, commit, self._absent_from(commit, row.path)) for row in rows[:DONORS_MAX]]

    def _until_ns(self, commit: AddingCommit) -> int:
        """Until when a call can have written what a commit holds; clocks may differ by as much as the time window."""
        return commit.at_ns + int(self._rules.window_hours_after * HOUR_NS)

    def _overwrote(self, state: int) -> int | None:
        """When a state's call wrote over a text that nobody captured; a hook captures it, so only claims can say so."""
        if state not in self._overwritten:
            told = self._tables.read_state_author(state)
            is_claim = told is not None and told.kind in (TRANSCRIPT, IMPORTED)
            rows = self._tables.states([state]) if is_claim else ()
            self._overwritten[state] = next((row.at_ns for row in rows if self._lineage.overwrites(row)), None)
        return self._overwritten[state]

    def _voted(self, version: OpenVersion) -> list[StateRow]:
        """The states that brought open lines, those that brought most first, the later of equals."""
        votes = self._tables.voted(version.open_keys)
        unread = [state for state in votes if state not in self._states]
        self._states.update({row.id: row for row in self._tables.states(unread)})
        found = [self._states[state] for state in votes if state in self._states]
        return sorted(found, key=lambda row: (-votes[row.id], -row.at_ns, -row.id))

    def _donor(self, row: StateRow, commit: AddingCommit, absent: Callable[[int], bool] | None = None) -> Donor:
        return Donor(
            state=row.id,
            at_ns=row.at_ns,
            keys=row.keys,
            origins=unpack_origins(row.origins),
            read=lambda: self._lineage.text_of_state(row),
            read_before=lambda: self._lineage.text_before_state(row),
            absent=absent,
            withheld=self._lineage.withheld(row, commit.id),
        )

    def _absent_from(self, commit: AddingCommit, path: RepoPath) -> Callable[[int], bool]:
        if commit.id is None:
            file = self._repository.work_file(path)
            content = getattr(file, "content", b"")
            there = set(keys_of(lines_of(text_of(content))))
        else:
            there = set(keys_of(self.texts(commit.id, path)))
        return lambda key: key not in there

    def _removed_elsewhere(self, commit: AddingCommit, path: RepoPath, version: OpenVersion) -> RemovedRun:
        """Lines that the same commit took out of other files, when some could be the open ones."""
        if commit.id is None or self.since_ns is None:
            return NO_LINES
        wanted = set(version.open_keys)
        found: list[tuple[str, VersionLine]] = []
        for taken in self._gone.by(commit.id):
            if taken.now == path or wanted.isdisjoint(taken.keys):
                continue
            parent = self._first_parent(commit.id)
            old = [] if parent is None else self._elsewhere(parent, taken.path)
            for hunk in taken.hunks:
                found.extend(zip(hunk.removed, old[hunk.old_first : hunk.old_first + len(hunk.removed)], strict=False))
        return removed_lines(found)

    def _first_parent(self, commit: CommitSha) -> CommitSha | None:
        found = self._objects.read(commit)
        parents = parse_commit(commit, found.content).parents if isinstance(found, Object) else ()
        return parents[0] if parents else None


def _of_path(files: Iterable[FileDiff], path: RepoPath) -> FileDiff | None:
    return next((diff for diff in files if diff.change.path == path), None)


def _touched(touch: Touch, older: Touch | None) -> _HistoryStep:
    """A commit of a file's history with the one before it as its parent, or its own where there is none."""
    parents = touch.commit.parents if older is None else (older.commit.id,)
    return _HistoryStep(touch.commit, parents, (touch.diff,))


def _is_new(diff: FileDiff | None) -> bool:
    return diff is not None and diff.change.old is None


def _all_removed(hunks: Iterable[tuple[CommitHunk, RemovedRun]]) -> RemovedRun:
    every = [removed for _, removed in hunks]
    known = TracedText(
        [line for removed in every for line in removed.known.lines],
        [origin for removed in every for origin in removed.known.origins],
    )
    return RemovedRun(known, [trail for removed in every for trail in removed.trails])


def _made_ns(commit: GitCommit) -> int:
    """When a commit was made, as far as it says so; git keeps whole seconds, and a call in its own came before it."""
    seconds = [person.at.seconds for person in (commit.author, commit.committer) if person.at is not None]
    return max(seconds, default=0) * NS + NS - 1
