"""Find the origins of a file's lines as of a commit: walk the commits that changed it, oldest first.

git reports the lines that each commit removed and added, and origins are carried along. Commits more than two days
older than the first captured edit are not read: their lines have no evidence.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from custody.attribution.app.commit_texts import RemovedLines, Touch, decode_hunk, read_file_history_touches
from custody.attribution.app.replay import Lineage
from custody.attribution.lineage import IMPORTED, TracedText
from custody.attribution.origin_search import (
    NO_LINES,
    AddingCommit,
    Donor,
    LineMatch,
    OpenLine,
    OpenVersion,
    RemovedRun,
    VersionLine,
    join_merge_parents,
    make_unknown_origin_lines,
    removed_run_from_hunk,
    removed_run_from_lines,
    splice_commit_hunks,
)
from custody.attribution.packing import pack_version_origins, unpack_line_origins, unpack_version_origins
from custody.attribution.queries.lineage import StateRow
from custody.attribution.text import decode_lineage_text, split_lineage_lines
from custody.core.ids import CommitSha
from custody.core.paths import Hunk, RepoPath
from custody.core.views import TRANSCRIPT
from custody.git import ChangeKind, Comparison, FileAt, FileDiff, Object, ObjectReader, Repository, Walk, parse_commit
from custody.git import Commit as GitCommit

NS = 1_000_000_000
HOUR_NS = 3_600 * NS
DAY_NS = 24 * HOUR_NS
TOGETHER_MIN = 8
"""Minimum files for which all commits are read at once instead of each file's own."""

HORIZON_DAYS = 2
"""Days before the first recorded edit from which on commits are read; clocks of machines differ by less."""
DONORS_MAX = 8
"""Maximum captured states that are aligned with the new lines of one commit; more hardly ever explain more."""
HUNK_LINES_MAX = 5_000
"""Maximum new lines at once that are compared by words; more are compared line by line, with a note."""
FOLLOWED_FILES_MAX = 64
"""Maximum versions of files that moved lines are followed through; beyond it the answer has a note."""


class SearchExtent(Struct):
    """The count of commits that were searched, and the limits that were reached."""

    commits: int = 0
    limits: list[str] = field(default_factory=list)


class _HistoryStep(Struct, frozen=True):
    """One commit of a file's history with the diffs of the file against each parent of the walk."""

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
        self._notes: list[str] = []
        self._walked: set[tuple[CommitSha, RepoPath]] = set()
        self._states: dict[int, StateRow] = {}
        self._overwritten: dict[int, int | None] = {}
        self._texts: dict[tuple[CommitSha, RepoPath], list[str]] = {}
        self._has_redacted = self._tables.has_redacted()
        self._renames: dict[CommitSha, Mapping[RepoPath, RepoPath]] = {}
        self._touches: Mapping[RepoPath, list[Touch]] = {}
        self._touches_of: CommitSha | None = None
        self.searched = SearchExtent()
        self.on_matches: Callable[[CommitSha, RepoPath, Sequence[LineMatch]], None] | None = None
        """Called with the lines of commits that are similar to captured states."""
        earliest = min((at for at in (self._tables.earliest_ns(), self._tables.first_traced_ns()) if at), default=None)
        before = HORIZON_DAYS * DAY_NS
        self.since_ns = None if earliest is None else earliest - before

    def version(self, commit: CommitSha, path: RepoPath, *, keyed: bool = True) -> list[VersionLine]:
        """Return every line of ``path`` as of ``commit`` with its origin; empty without such a file.

        Without ``keyed`` the lines may have no keys, which cost more than everything else in a stored version.
        """
        texts = self.texts(commit, path)
        if self.since_ns is None:
            return make_unknown_origin_lines(texts)
        stored = self._read_stored_version(commit, path, texts, keyed=keyed)
        if stored is not None:
            return stored
        lines = self._walk_file_versions(commit, path, texts)
        self._memo[(commit, path)] = lines
        return lines

    def prepare(self, commit: CommitSha, paths: Collection[RepoPath]) -> None:
        """Read the history of several files at once, as far as it is not stored; answers are the same."""
        if self.since_ns is None:
            return
        unread = [path for path in paths if self._tables.version(path, commit, self._lineage.version) is None]
        if len(unread) >= TOGETHER_MIN:
            self._touches = read_file_history_touches(self._repository, commit, unread, self._since_seconds)
            self._touches_of = commit

    def walk_file(self, commit: CommitSha, path: RepoPath) -> None:
        """Read the history of a file up to a commit, ignoring stored versions."""
        if self.since_ns is not None:
            self._walk_file_versions(commit, path, self.texts(commit, path))

    def hold(self, commit: CommitSha, path: RepoPath, texts: list[str]) -> None:
        """Cache a file's lines that the caller has just read."""
        self._texts = {(commit, path): texts}

    def texts(self, commit: CommitSha, path: RepoPath) -> list[str]:
        """Return the file's lines in a commit; none if it is missing or binary."""
        if (commit, path) not in self._texts:
            blob = self._objects.read(FileAt(commit, path))
            content = blob.content if isinstance(blob, Object) and blob.info.kind == "blob" else b""
            # Only the last text is cached: it is often needed again at once, and a file may be large.
            self._texts = {
                (commit, path): [] if b"\0" in content[:8000] else split_lineage_lines(decode_lineage_text(content))
            }
        return self._texts[(commit, path)]

    def explain_lines(
        self,
        lines: Sequence[VersionLine | OpenLine],
        commit: AddingCommit,
        path: RepoPath,
        hunks: Sequence[tuple[Hunk[str], RemovedRun]],
    ) -> list[VersionLine]:
        """Return the version after a commit (or of the work tree) with the origins of its added lines."""
        removed = [line for hunk, _ in hunks for line in hunk.removed]
        version = OpenVersion(lines, commit, self._rules, removed=removed, overwrote=self._find_overwrite_ns)
        if version.is_closed or self.since_ns is None:
            return version.closed()
        donors = self._donors(version, commit, path)
        version.take_from(donors)
        version.take_whole(donors)
        if len(version.open_keys) > HUNK_LINES_MAX:
            self._note(f"more than {HUNK_LINES_MAX:,} new lines at once were compared line by line only")
            return version.closed()
        if not version.is_settled:
            version.take_moved(_join_removed_runs(hunks))
        if not version.is_settled:
            version.take_words([hunk for hunk in hunks if hunk[1].is_known], donors)
            if self.on_matches is not None and commit.id is not None and version.matches:
                self.on_matches(commit.id, path, version.matches)
        # Only a line that some call once added can have come from another file.
        if not version.is_settled and self._rank_donor_states(version):
            version.take_moved(self._removed_elsewhere(commit, path, version))
            version.take_from(self._donors_elsewhere(version, commit, path))
        version.follow()
        return version.closed()

    def mask_hunk(self, hunk: Hunk[str]) -> Hunk[str]:
        """Return a change without its secrets, as captured texts are; unchanged if the store has no redacted text."""
        if not self._has_redacted:
            return hunk
        from custody.attribution.app.commit_texts import mask_hunk_secrets  # few stores hold anything redacted

        return replace(hunk, removed=mask_hunk_secrets(hunk.removed), added=mask_hunk_secrets(hunk.added))

    # --- stored versions --------------------------------------------------------------------------------------------

    def _read_stored_version(
        self, commit: CommitSha, path: RepoPath, texts: Sequence[str], *, keyed: bool
    ) -> list[VersionLine] | None:
        memo = self._memo.get((commit, path))
        if memo is not None:
            return memo
        row = self._tables.version(path, commit, self._lineage.version)
        stale = row is not None and row[0] < self._newest
        unpacked = None if row is None else unpack_version_origins(row[1], texts, keyed=keyed or stale)
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

    def _is_fresh(self, commit: CommitSha, path: RepoPath, newest: int, lines: Sequence[VersionLine]) -> bool:
        """Return whether no state after ``newest`` could explain an unexplained line."""
        unknown = list(dict.fromkeys(line.key for line in lines if line.is_informative and line.origin.share < 1.0))
        if self._tables.has_newer(unknown, newest):
            return False
        return not self._tables.has_earlier(path, newest, self._made_ns(commit, lines))

    def _made_ns(self, commit: CommitSha, lines: Sequence[VersionLine]) -> int:
        """Return the time of a commit, or the latest one of its lines if clocks went backwards."""
        commits = {commit, *(sha for line in lines for sha in line.trail if sha is not None)}
        return max(
            _compute_adding_commit_ns(git_commit)
            for git_commit in self._repository.log(sorted(commits), walk=Walk(count_max=1))
        )

    def save(self) -> None:
        """Store the computed versions, so that the next question starts from there."""
        for commit, path in sorted(self._walked):
            packed = pack_version_origins(self._memo[(commit, path)], *self._read_for.get((commit, path), (0, ())))
            self._tables.put_version(path, commit, self._lineage.version, self._newest, packed)

    # --- the walk ---------------------------------------------------------------------------------------------------

    def _walk_file_versions(self, commit: CommitSha, path: RepoPath, texts: Sequence[str]) -> list[VersionLine]:
        self._walked.add((commit, path))
        before, earlier_notes, self._notes = self.searched.commits, self._notes, []
        changes = self._changes(commit, path)
        for change in reversed(changes):
            if (change.commit.id, path) not in self._memo:
                self._memo[(change.commit.id, path)] = self._build_changed_version(change, path)
        self._read_for[(commit, path)] = (self.searched.commits - before, tuple(dict.fromkeys(self._notes)))
        self._notes = [*earlier_notes, *self._notes]
        if not changes:
            return make_unknown_origin_lines(texts)
        top = self._memo[(changes[0].commit.id, path)]
        # If the walk and the commit disagree on the file's text, no origin is known.
        return top if len(top) == len(texts) else make_unknown_origin_lines(texts)

    def _changes(self, commit: CommitSha, path: RepoPath) -> list[_HistoryStep]:
        """Return the commits that changed a file since the horizon, newest first, with their diffs."""
        if commit == self._touches_of and path in self._touches:
            touches = self._touches[path]
            self.searched.commits += len(touches)
            return [
                _history_step_from_touch(touch, older)
                for touch, older in zip(touches, [*touches[1:], None], strict=True)
            ]
        walk = Walk(since_seconds=self._since_seconds, simplified=True)
        commits = list(self._repository.log([commit], [path], walk))
        self.searched.commits += len(commits)
        comparisons = [
            Comparison(git_commit.id, parent) for git_commit in commits for parent in (git_commit.parents or (None,))
        ]
        commit_diffs = list(self._repository.diffs(comparisons, [path]))
        changes, at = [], 0
        for git_commit in commits:
            count = len(git_commit.parents) or 1
            diffs = tuple(_find_history_diff(commit_diff.files, path) for commit_diff in commit_diffs[at : at + count])
            changes.append(_HistoryStep(git_commit, git_commit.parents, diffs))
            at += count
        return changes

    @property
    def _since_seconds(self) -> int | None:
        return None if self.since_ns is None else max(0, self.since_ns // NS)

    def _build_changed_version(self, change: _HistoryStep, path: RepoPath) -> list[VersionLine]:
        """Return the version that a commit made."""
        commit = AddingCommit(change.commit.id, _compute_adding_commit_ns(change.commit))
        if any(diff is not None and diff.change.kind is ChangeKind.DELETED for diff in change.diffs):
            return []
        if len(change.parents) <= 1 and _is_file_added_in_history(change.diffs[0]):
            return self._build_added_version(change.commit, commit, path)
        sides, hunks = [], []
        for parent, diff in zip(change.parents or (None,), change.diffs, strict=True):
            old = [] if parent is None else self._parent(parent, path)
            masked = [] if diff is None else [self.mask_hunk(decode_hunk(hunk)) for hunk in diff.hunks]
            sides.append(splice_commit_hunks(old, masked))
            hunks.append([(hunk, removed_run_from_hunk(hunk, old)) for hunk in masked])
        lines = join_merge_parents(sides) if len({len(side) for side in sides}) == 1 else sides[0]
        return self.explain_lines(lines, commit, path, hunks[0])

    def _parent(self, parent: CommitSha, path: RepoPath) -> list[VersionLine]:
        lines = self._memo.get((parent, path))
        if lines is None:
            # Older than the horizon, or cut off by a shallow clone: only its text is known.
            lines = self._memo[(parent, path)] = make_unknown_origin_lines(self.texts(parent, path))
        return lines

    def _build_added_version(self, git_commit: GitCommit, commit: AddingCommit, path: RepoPath) -> list[VersionLine]:
        """Return the version of a file that a commit added or renamed."""
        diff = self._find_rename_diff(git_commit, path)
        if diff is None or diff.change.old is None:
            texts = self.texts(git_commit.id, path)
            hunk = self.mask_hunk(Hunk.at_index(0, 0, (), tuple(texts)))
            return self.explain_lines(splice_commit_hunks([], [hunk]), commit, path, [(hunk, NO_LINES)])
        parent = self._first_parent(git_commit.id)
        old = [] if parent is None else self._read_version_elsewhere(parent, diff.change.old.path)
        hunks = [self.mask_hunk(decode_hunk(hunk)) for hunk in diff.hunks]
        lines = splice_commit_hunks(old, hunks)
        return self.explain_lines(lines, commit, path, [(hunk, removed_run_from_hunk(hunk, old)) for hunk in hunks])

    def _find_rename_diff(self, commit: GitCommit, path: RepoPath) -> FileDiff | None:
        """Return the diff of ``path`` against its old name if a commit renamed it."""
        old = self._renames_of(commit.id).get(path)
        if old is None:
            return None
        (diff,) = self._repository.diffs([Comparison(commit.id)], [old, path], renames=True)
        return _find_history_diff(diff.files, path)

    def _renames_of(self, commit: CommitSha) -> Mapping[RepoPath, RepoPath]:
        """Return the old paths of files that a commit renamed, by the new ones; read once per commit."""
        if commit not in self._renames:
            (change,) = self._repository.changes([Comparison(commit)])
            renamed = (file for file in change.files if file.kind is ChangeKind.RENAMED and file.old is not None)
            self._renames[commit] = {file.path: file.old.path for file in renamed if file.old is not None}
        return self._renames[commit]

    def _read_version_elsewhere(self, commit: CommitSha, path: RepoPath) -> list[VersionLine]:
        """Return a file elsewhere in history, without origins once ``FOLLOWED_FILES_MAX`` is reached."""
        if len(self._walked) >= FOLLOWED_FILES_MAX:
            self._note(f"moved lines were followed through {FOLLOWED_FILES_MAX} files only")
            return make_unknown_origin_lines(self.texts(commit, path))
        return self.version(commit, path)

    def _note(self, limit: str) -> None:
        self._notes.append(limit)
        if limit not in self.searched.limits:
            self.searched.limits.append(limit)

    # --- donors -----------------------------------------------------------------------------------------------------

    def _donors(self, version: OpenVersion, commit: AddingCommit, path: RepoPath) -> list[Donor]:
        """Return the captured states of this file that may explain open lines."""
        until = self._until_ns(commit)
        ranked = [state for state in self._rank_donor_states(version) if state.path == path and state.at_ns <= until]
        latest = [self._tables.last_of(path, commit.at_ns), self._tables.last_of(path, until)]
        rows = {row.id: row for row in (*ranked[:DONORS_MAX], *latest) if row is not None}
        return [self._donor(row, commit) for row in rows.values()]

    def _donors_elsewhere(self, version: OpenVersion, commit: AddingCommit, path: RepoPath) -> list[Donor]:
        """Return states of other files that open lines may have moved from, for lines that those files lost."""
        until = self._until_ns(commit)
        rows = [state for state in self._rank_donor_states(version) if state.path != path and state.at_ns <= until]
        return [self._donor(row, commit, self._absent_from(commit, row.path)) for row in rows[:DONORS_MAX]]

    def _until_ns(self, commit: AddingCommit) -> int:
        """Return the latest time of a call that wrote lines of a commit; clocks differ up to the time window."""
        return commit.at_ns + int(self._rules.window_hours_after * HOUR_NS)

    def _find_overwrite_ns(self, state: int) -> int | None:
        """Return the time at which a state's call overwrote an uncaptured text; hooks capture it, so only in claims."""
        if state not in self._overwritten:
            author = self._tables.read_state_author(state)
            is_claim = author is not None and author.kind in (TRANSCRIPT, IMPORTED)
            rows = self._tables.states([state]) if is_claim else ()
            self._overwritten[state] = next((row.at_ns for row in rows if self._lineage.overwrites(row)), None)
        return self._overwritten[state]

    def _rank_donor_states(self, version: OpenVersion) -> list[StateRow]:
        """Return the states that added open lines, those that added most first, the later of equals."""
        votes = self._tables.count_line_votes(version.open_keys)
        unread = [state for state in votes if state not in self._states]
        self._states.update({row.id: row for row in self._tables.states(unread)})
        rows = [self._states[state] for state in votes if state in self._states]
        return sorted(rows, key=lambda row: (-votes[row.id], -row.at_ns, -row.id))

    def _donor(self, row: StateRow, commit: AddingCommit, absent: Callable[[int], bool] | None = None) -> Donor:
        return Donor(
            state=row.id,
            at_ns=row.at_ns,
            keys=row.keys,
            origins=unpack_line_origins(row.origins),
            read=lambda: self._lineage.text_of_state(row),
            read_before=lambda: self._lineage.text_before_state(row),
            absent=absent,
            withheld=self._lineage.withheld(row, commit.id),
        )

    def _absent_from(self, commit: AddingCommit, path: RepoPath) -> Callable[[int], bool]:
        if commit.id is None:
            file = self._repository.work_file(path)
            texts = split_lineage_lines(decode_lineage_text(getattr(file, "content", b"")))
        else:
            texts = self.texts(commit.id, path)
        present = set(self._lineage.make_keys(texts))
        return lambda key: key not in present

    def _removed_elsewhere(self, commit: AddingCommit, path: RepoPath, version: OpenVersion) -> RemovedRun:
        """Return lines that the same commit removed from other files with a line that is open here."""
        if commit.id is None or self.since_ns is None:
            return NO_LINES
        open_keys = set(version.open_keys)
        removed: list[tuple[str, VersionLine]] = []
        for removal in self._gone.by(commit.id):
            if removal.now == path or open_keys.isdisjoint(removal.keys):
                continue
            parent = self._first_parent(commit.id)
            old = [] if parent is None else self._read_version_elsewhere(parent, removal.path)
            for hunk in removal.hunks:
                known = old[hunk.old_index : hunk.old_index + len(hunk.removed)]
                removed.extend(zip(hunk.removed, known, strict=False))
        return removed_run_from_lines(removed)

    def _first_parent(self, commit: CommitSha) -> CommitSha | None:
        git_object = self._objects.read(commit)
        parents = parse_commit(commit, git_object.content).parents if isinstance(git_object, Object) else ()
        return parents[0] if parents else None


def _find_history_diff(files: Iterable[FileDiff], path: RepoPath) -> FileDiff | None:
    return next((diff for diff in files if diff.change.path == path), None)


def _history_step_from_touch(touch: Touch, older: Touch | None) -> _HistoryStep:
    """Return a commit of a file's history with the next older one as its parent, or its own parents for the last."""
    parents = touch.commit.parents if older is None else (older.commit.id,)
    return _HistoryStep(touch.commit, parents, (touch.diff,))


def _is_file_added_in_history(diff: FileDiff | None) -> bool:
    return diff is not None and diff.change.old is None


def _join_removed_runs(hunks: Iterable[tuple[Hunk[str], RemovedRun]]) -> RemovedRun:
    runs = [removed for _, removed in hunks]
    known = TracedText(
        [line for run in runs for line in run.known.lines],
        [origin for run in runs for origin in run.known.origins],
    )
    return RemovedRun(known, [trail for run in runs for trail in run.trails])


def _compute_adding_commit_ns(commit: GitCommit) -> int:
    """Return the end of the second in which a commit was made: a call in the same second came before it."""
    seconds = [person.at.seconds for person in (commit.author, commit.committer) if person.at is not None]
    return max(seconds, default=0) * NS + NS - 1
