"""Find the origins of a file's lines as of a commit: walk the commits that changed it, oldest first.

git reports the lines that each commit removed and added, and origins are carried along. Commits more than two days
older than the first captured edit are not read: their lines have no evidence.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from custody.attribution.app.commit_texts import (
    RemovedLines,
    Touch,
    decode_hunk,
    read_file_history_touches,
    read_last_touches,
)
from custody.attribution.app.replay import Lineage
from custody.attribution.lineage import IMPORTED, TracedText
from custody.attribution.origin_search import (
    NO_LINES,
    SHARED_LINES_MIN,
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
from custody.attribution.packing import (
    pack_version_origins,
    round_stored_share,
    unpack_line_origins,
    unpack_version_origins,
)
from custody.attribution.queries.lineage import DonorPlace, StateRow, VersionRow
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
    """The count of commits that were searched, and the limits that were reached.

    ``versions`` has each version of a file that was read, with the commits that only it needed.
    """

    commits: int = 0
    limits: list[str] = field(default_factory=list)
    versions: dict[tuple[CommitSha, RepoPath], int] = field(default_factory=dict)

    def close_version(self, commit: CommitSha, path: RepoPath) -> None:
        """Count what no other version accounts for as that of one version."""
        self.versions[commit, path] = self.commits - sum(self.versions.values())

    def include(self, other: "SearchExtent") -> None:
        """Add what another search read, each version once."""
        new = {name: count for name, count in other.versions.items() if name not in self.versions}
        self.versions.update(new)
        self.commits += sum(new.values())
        self.limits.extend(limit for limit in other.limits if limit not in self.limits)

    def copy(self) -> "SearchExtent":
        """Return the same extent, which grows by itself."""
        return SearchExtent(self.commits, list(self.limits), dict(self.versions))


class _HistoryStep(Struct, frozen=True):
    """One commit of a file's history with the diffs of the file against each parent of the walk."""

    commit: GitCommit
    parents: tuple[CommitSha, ...]
    diffs: tuple[FileDiff | None, ...] | None = None
    """None until they are read."""

    @property
    def blob(self) -> str:
        """The file's content after the commit; empty if it was deleted."""
        sides = (diff.change.new for diff in self.diffs or () if diff is not None)
        return next((side.blob for side in sides if side is not None), "")


class _FileWalk(Struct):
    """The history of one file: its commits, how many commits of other files each needed, and notes so far."""

    path: RepoPath
    steps: dict[CommitSha, _HistoryStep]
    commits: dict[CommitSha, int] = field(default_factory=dict)
    notes: dict[CommitSha, list[str]] = field(default_factory=dict)
    _reach: tuple[CommitSha, set[CommitSha]] | None = None

    def find_reach(self, commit: CommitSha) -> set[CommitSha]:
        """Return the commits of the file up to ``commit``; the caller changes nothing in it."""
        parents = self.steps[commit].parents
        if self._reach is not None and len(parents) == 1 and parents[0] == self._reach[0]:
            self._reach[1].add(commit)
            self._reach = commit, self._reach[1]
        elif self._reach is None or self._reach[0] != commit:
            reach: set[CommitSha] = set()
            pending = [commit]
            while pending:
                sha = pending.pop()
                if sha in self.steps and sha not in reach:
                    reach.add(sha)
                    pending.extend(self.steps[sha].parents)
            self._reach = commit, reach
        return self._reach[1]


class _VersionBasis(Struct):
    """What a version is computed from: added lines that no state of the file explained, and other versions."""

    keys: tuple[int, ...] = ()
    uses: dict[tuple[CommitSha, RepoPath], None] = field(default_factory=dict)


class _CommittedText(Struct, frozen=True):
    """The lines of a file in a commit, and its object id; empty if the file is missing."""

    blob: str
    lines: list[str]


class KnownTouches:
    """The last commits that changed files, as far as they were read in this command."""

    def __init__(self) -> None:
        self._touches: dict[CommitSha, dict[RepoPath, CommitSha | None]] = {}
        self._whole: dict[CommitSha, Mapping[RepoPath, CommitSha]] = {}

    def find(self, commit: CommitSha, path: RepoPath) -> tuple[CommitSha | None] | None:
        """Return the last commit that changed a file as of ``commit``, if any, in a tuple; None if not read."""
        if commit in self._whole:
            return (self._whole[commit].get(path),)
        touches = self._touches.get(commit, {})
        return (touches[path],) if path in touches else None

    def add(self, commit: CommitSha, path: RepoPath, touched: CommitSha | None) -> None:
        """Add the last commit that changed a file as of ``commit``."""
        self._touches.setdefault(commit, {})[path] = touched

    def add_all(self, commit: CommitSha, touches: Mapping[RepoPath, CommitSha]) -> None:
        """Add the last commits that changed any file as of ``commit``; no commit changed the others."""
        self._whole[commit] = touches


class History:
    """Versions of files along the commits of one repository."""

    def __init__(
        self,
        repository: Repository,
        objects: ObjectReader[Object],
        lineage: Lineage,
        gone: RemovedLines | None = None,
        known_touches: KnownTouches | None = None,
    ) -> None:
        self._repository = repository
        self._gone = gone or RemovedLines(repository)
        self._objects = objects
        self._lineage = lineage
        self._tables = lineage.tables
        self._rules = lineage.rules
        self._newest = self._tables.newest()
        self._memo: dict[tuple[CommitSha, RepoPath], list[VersionLine]] = {}
        self._made: dict[tuple[CommitSha, RepoPath], VersionRow] = {}
        self._rows: dict[RepoPath, Mapping[CommitSha, VersionRow]] = {}
        self._current: dict[tuple[CommitSha, RepoPath], bool] = {}
        self._bases: list[_VersionBasis] = []
        """What the versions that are being computed were computed from so far, the innermost last."""
        self._logs: dict[tuple[CommitSha, RepoPath], list[GitCommit]] = {}
        self._known_touches = known_touches or KnownTouches()
        self._new_touches: dict[tuple[CommitSha, RepoPath], CommitSha | None] = {}
        self._notes: list[str] = []
        self._walked: set[tuple[CommitSha, RepoPath]] = set()
        self._states: dict[int, StateRow] = {}
        self._overwritten: dict[int, int | None] = {}
        self._texts: dict[tuple[CommitSha, RepoPath], _CommittedText] = {}
        self._has_redacted = self._tables.has_redacted()
        self._renames: dict[CommitSha, Mapping[RepoPath, RepoPath]] = {}
        self._touches: Mapping[RepoPath, list[Touch]] = {}
        self._touches_of: CommitSha | None = None
        self.searched = SearchExtent()
        """The scope of the search for the current question; whoever asks several sets it for each."""
        self._extents: dict[tuple[CommitSha, RepoPath], SearchExtent] = {}
        self.on_matches: Callable[[CommitSha, RepoPath, Sequence[LineMatch]], None] | None = None
        """Called with the lines of commits that are similar to captured states."""
        earliest = min((at for at in (self._tables.earliest_ns(), self._tables.first_traced_ns()) if at), default=None)
        before = HORIZON_DAYS * DAY_NS
        self.since_ns = None if earliest is None else earliest - before
        self._stored_for = f"{lineage.version}:{self._since_seconds}"
        """The rules, and the time from which on commits are read: versions stored for others do not apply."""
        self._window_ns = int(self._rules.window_hours_after * HOUR_NS)

    def use_repository(self, repository: Repository) -> None:
        """Read files of the work tree from ``repository``, which may hold other texts of an editor."""
        self._repository = repository

    def version(self, commit: CommitSha, path: RepoPath, *, keyed: bool = True) -> list[VersionLine]:
        """Return every line of ``path`` as of ``commit`` with its origin; empty without such a file.

        Without ``keyed`` the lines may have no keys, which cost more than everything else in a stored version.
        """
        texts = self.texts(commit, path)
        if self.since_ns is None:
            return make_unknown_origin_lines(texts)
        touched = self._find_touch(commit, path)
        if touched is not None and self._bases:
            self._bases[-1].uses[touched, path] = None
        memo = self._memo.get((commit, path))
        if memo is not None:
            self.searched.include(self._extents.get((commit, path), SearchExtent()))
            return memo
        outer, self.searched = self.searched, SearchExtent()
        try:
            lines = self._read_version(commit, path, touched, texts, keyed=keyed)
            self.searched.close_version(commit, path)
            self._extents[commit, path] = self.searched
        finally:
            outer.include(self.searched)
            self.searched = outer
        return lines

    def _read_version(
        self, commit: CommitSha, path: RepoPath, touched: CommitSha | None, texts: list[str], *, keyed: bool
    ) -> list[VersionLine]:
        """Return a version that is not in memory: the stored one, or by its history."""
        text = _CommittedText(self._texts[(commit, path)].blob, texts)
        stored = None if touched is None else self._read_stored_version(touched, path, text, keyed=keyed)
        if stored is not None:
            if keyed:
                self._memo[(commit, path)] = stored
            return stored
        self._walked.add((commit, path))
        lines = make_unknown_origin_lines(texts) if touched is None else self._walk_file_versions(touched, path, texts)
        self._memo[(commit, path)] = lines
        return lines

    def prepare(self, commit: CommitSha, paths: Collection[RepoPath]) -> None:
        """Read the history of several files at once, as far as it is not stored; answers are the same."""
        if self.since_ns is None:
            return
        known = {path: self._tables.find_touch(path, commit, self._stored_for) for path in paths}
        if sum(touch is None for touch in known.values()) >= TOGETHER_MIN:
            touches = read_last_touches(self._repository, commit, self._since_seconds)
            known = {path: (touches.get(path),) for path in paths}
            self._known_touches.add_all(commit, touches)
            self._new_touches.update(((commit, path), touch[0]) for path, touch in known.items() if touch is not None)
        unread = [path for path, touch in known.items() if self._is_unread(path, touch)]
        if len(unread) >= TOGETHER_MIN:
            self._touches = read_file_history_touches(self._repository, commit, unread, self._since_seconds)
            self._touches_of = commit

    def _is_unread(self, path: RepoPath, touch: tuple[CommitSha | None] | None) -> bool:
        """Return whether a file's version is not stored, for the last commit that changed it."""
        if touch is None:
            return True
        return touch[0] is not None and self._tables.version(path, touch[0], self._stored_for) is None

    def walk_file(self, commit: CommitSha, path: RepoPath) -> None:
        """Read the history of a file up to a commit, ignoring stored versions."""
        if self.since_ns is None:
            return
        touched = self._find_touch(commit, path)
        if touched is not None:
            self._walked.add((commit, path))
            self._walk_file_versions(touched, path, self.texts(commit, path), is_stored_ignored=True)

    def find_touch_ns(self, commit: CommitSha, path: RepoPath) -> int:
        """Return the time of the last commit that changed a file as of ``commit``; 0 for none since the horizon."""
        touched = None if self.since_ns is None else self._find_touch(commit, path)
        git_object = None if touched is None else self._objects.read(touched)
        if touched is None or not isinstance(git_object, Object):
            return 0
        return compute_adding_commit_ns(parse_commit(touched, git_object.content))

    def hold(self, commit: CommitSha, path: RepoPath, texts: list[str], blob: str) -> None:
        """Cache a file's lines and their object id, which the caller has just read."""
        self._texts = {(commit, path): _CommittedText(blob, texts)}

    def texts(self, commit: CommitSha, path: RepoPath) -> list[str]:
        """Return the file's lines in a commit; none if it is missing or binary."""
        if (commit, path) not in self._texts:
            # Only the last text is cached: it is often needed again at once, and a file may be large.
            self._texts = {(commit, path): self._read_text(commit, path)}
        return self._texts[(commit, path)].lines

    def _read_text(self, commit: CommitSha, path: RepoPath) -> "_CommittedText":
        blob = self._objects.read(FileAt(commit, path))
        if not isinstance(blob, Object) or blob.info.kind != "blob":
            return _CommittedText("", [])
        is_binary = b"\0" in blob.content[:8000]
        return _CommittedText(blob.info.id, [] if is_binary else split_lineage_lines(decode_lineage_text(blob.content)))

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
        if self._bases:
            self._bases[-1].keys = tuple(version.open_keys)
        # Only a line that some call once added can have come from another file.
        if not version.is_settled and self._rank_donor_states(version):
            version.take_moved(self._removed_elsewhere(commit, path, version), lines_min=SHARED_LINES_MIN)
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
        self, commit: CommitSha, path: RepoPath, text: "_CommittedText", *, keyed: bool
    ) -> list[VersionLine] | None:
        """Return the stored version that a commit made, if no later record could change it."""
        row = self._tables.version(path, commit, self._stored_for)
        if row is None or row.blob != text.blob or not self._is_current(row, path):
            return None
        lines = self._mask_texts(text.lines) if keyed else text.lines
        unpacked = unpack_version_origins(row.origins, lines, keyed=keyed)
        if unpacked is None:
            return None
        self.searched.commits += unpacked.commits
        for note in unpacked.notes:
            self._note(note)
        return unpacked.lines

    def _mask_texts(self, texts: Sequence[str]) -> Sequence[str]:
        """Return lines as their keys are computed: without secrets."""
        return self.mask_hunk(Hunk.at_index(0, 0, (), tuple(texts))).added if self._has_redacted else texts

    def _is_current(self, row: VersionRow, path: RepoPath) -> bool:
        """Return whether no state that was replayed later could change a version, or one that it was computed from."""
        if row.seen >= self._newest:
            return True
        pending = [(row.commit, path)]
        while pending:
            name = pending[-1]
            used = row if name == (row.commit, path) else self._rows_of(name[1]).get(name[0])
            if name not in self._current:
                # A damaged table may have a circle, which is then not current.
                self._current[name] = False
                if used is not None and not self._could_change(used, name[1]):
                    pending.extend(use for use in self._list_uses(used) if use not in self._current)
                continue
            pending.pop()
            if used is not None and not self._current[name] and not self._could_change(used, name[1]):
                self._current[name] = all(self._current[use] for use in self._list_uses(used))
        return self._current[row.commit, path]

    def _list_uses(self, row: VersionRow) -> Sequence[tuple[CommitSha, RepoPath]]:
        """Return the versions that a version was computed from, unless they were current when it was computed."""
        return row.uses if row.seen < self._newest else ()

    def _could_change(self, row: VersionRow, path: RepoPath) -> bool:
        """Return whether a later state could explain lines of a version: one of the file, or one with the same line."""
        if row.seen >= self._newest:
            return False
        later = self._lineage.read_later_states(row.seen)
        until_ns = row.at_ns + self._window_ns
        if any(state > row.seen and at_ns <= until_ns for state, at_ns in later.files.get(path, ())):
            return True
        return any(later.lines.get(key, 0) > row.seen for key in row.keys)

    def _rows_of(self, path: RepoPath) -> Mapping[CommitSha, VersionRow]:
        if path not in self._rows:
            self._rows[path] = self._tables.versions(path, self._stored_for)
        return self._rows[path]

    def save(self) -> None:
        """Store the computed versions, so that the next question starts from there."""
        for (commit, path), touched in sorted(self._new_touches.items()):
            self._tables.put_touch(path, commit, self._stored_for, touched)
        for (_, path), row in sorted(self._made.items(), key=lambda made: made[0]):
            self._tables.put_version(path, self._stored_for, row)
        self._new_touches.clear()
        self._made.clear()

    @property
    def is_saved(self) -> bool:
        """Whether nothing was computed that is not stored."""
        return not self._made and not self._new_touches

    # --- the walk ---------------------------------------------------------------------------------------------------

    def _find_touch(self, commit: CommitSha, path: RepoPath) -> CommitSha | None:
        """Return the last commit that changed a file as of ``commit``, if any since the horizon."""
        if commit == self._touches_of and path in self._touches:
            touches = self._touches[path]
            touched = touches[0].commit.id if touches else None
            self._new_touches[commit, path] = touched
            return touched
        known = self._known_touches.find(commit, path)
        if known is None:
            known = self._tables.find_touch(path, commit, self._stored_for)
        if known is None:
            known = (self._read_touch(commit, path),)
            self._new_touches[commit, path] = known[0]
            self._known_touches.add(commit, path, known[0])
        return known[0]

    def _read_touch(self, commit: CommitSha, path: RepoPath) -> CommitSha | None:
        if not self._rows_of(path):
            # The whole history will be needed.
            commits = self._read_log(commit, path)
            return commits[0].id if commits else None
        walk = Walk(count_max=1, since_seconds=self._since_seconds)
        return next((git_commit.id for git_commit in self._repository.log([commit], [path], walk)), None)

    def _read_log(self, commit: CommitSha, path: RepoPath) -> list[GitCommit]:
        """Return the commits that changed a file since the horizon, newest first, with the next ones as parents."""
        if (commit, path) not in self._logs:
            walk = Walk(since_seconds=self._since_seconds, simplified=True)
            commits = list(self._repository.log([commit], [path], walk))
            self._logs = {(commit, path): commits}
            if commits:
                self._logs[commits[0].id, path] = commits
        return self._logs[commit, path]

    def _walk_file_versions(
        self, commit: CommitSha, path: RepoPath, texts: Sequence[str], *, is_stored_ignored: bool = False
    ) -> list[VersionLine]:
        """Return the version that a commit made, from the last stored versions on."""
        steps = self._list_steps(commit, path)
        walk = _FileWalk(path, {step.commit.id: step for step in steps})
        missing = self._find_missing_steps(walk, commit, is_stored_ignored=is_stored_ignored)
        self._read_step_diffs(walk, missing)
        for step in reversed(steps):
            if step.commit.id in missing:
                self._make_version(walk, step.commit.id)
        if not steps:
            return make_unknown_origin_lines(texts)
        reach = walk.find_reach(commit)
        self.searched.commits += len(reach) + sum(walk.commits[sha] for sha in reach - missing)
        for note in walk.notes.get(commit, ()):
            self._note(note)
        top = self._memo[(commit, path)]
        # If the walk and the commit disagree on the file's text, no origin is known.
        return top if len(top) == len(texts) else make_unknown_origin_lines(texts)

    def _list_steps(self, commit: CommitSha, path: RepoPath) -> list["_HistoryStep"]:
        """Return the commits that changed a file since the horizon, newest first; diffs are not read yet."""
        touches = self._touches.get(path, ())
        if touches and touches[0].commit.id == commit:
            return [
                _history_step_from_touch(touch, older)
                for touch, older in zip(touches, [*touches[1:], None], strict=True)
            ]
        return [_HistoryStep(git_commit, git_commit.parents) for git_commit in self._read_log(commit, path)]

    def _find_missing_steps(self, walk: "_FileWalk", top: CommitSha, *, is_stored_ignored: bool) -> set[CommitSha]:
        """Return the commits whose versions must be computed, and load the stored versions below them."""
        missing: set[CommitSha] = set()
        pending = [top]
        while pending:
            commit = pending.pop()
            if commit in missing or commit not in walk.steps:
                continue
            if (commit, walk.path) not in self._memo and (
                is_stored_ignored or not self._load_stored_step(walk, commit)
            ):
                missing.add(commit)
                pending.extend(walk.steps[commit].parents)
        for commit in walk.steps.keys() - missing:
            row = self._made.get((commit, walk.path)) or self._rows_of(walk.path).get(commit)
            walk.commits[commit] = 0 if row is None else row.commits
        return missing

    def _load_stored_step(self, walk: "_FileWalk", commit: CommitSha) -> bool:
        row = self._rows_of(walk.path).get(commit)
        if row is None or not self._is_current(row, walk.path):
            return False
        text = self._read_text(commit, walk.path)
        unpacked = unpack_version_origins(row.origins, self._mask_texts(text.lines))
        if unpacked is None or text.blob != row.blob:
            return False
        self._memo[commit, walk.path] = unpacked.lines
        self._known_touches.add(commit, walk.path, commit)
        walk.notes[commit] = unpacked.notes
        return True

    def _read_step_diffs(self, walk: "_FileWalk", missing: Collection[CommitSha]) -> None:
        unread = [step for sha, step in walk.steps.items() if sha in missing and step.diffs is None]
        if not unread:
            return
        comparisons = [Comparison(step.commit.id, parent) for step in unread for parent in (step.parents or (None,))]
        diffs = [_find_history_diff(diff.files, walk.path) for diff in self._repository.diffs(comparisons, [walk.path])]
        at = 0
        for step in unread:
            count = len(step.parents) or 1
            walk.steps[step.commit.id] = replace(step, diffs=tuple(diffs[at : at + count]))
            at += count

    def _make_version(self, walk: "_FileWalk", commit: CommitSha) -> None:
        """Compute the version that a commit made, and what it was computed from."""
        step, name = walk.steps[commit], (commit, walk.path)
        basis = _VersionBasis()
        self._bases.append(basis)
        before, earlier_notes, self._notes = self.searched.commits, self._notes, []
        lines = [_round_version_line(line) for line in self._build_changed_version(step, walk.path)]
        self._bases.pop()
        parents = [parent for parent in step.parents if parent in walk.steps]
        notes = [*(note for parent in parents for note in walk.notes.get(parent, ())), *self._notes]
        walk.notes[commit] = list(dict.fromkeys(notes))
        self._notes = [*earlier_notes, *self._notes]
        walk.commits[commit] = self.searched.commits - before
        self._memo[name] = lines
        self._known_touches.add(commit, walk.path, commit)
        reach = walk.find_reach(commit)
        total = len(reach) + sum(walk.commits[sha] for sha in reach)
        basis.uses.update(dict.fromkeys((parent, walk.path) for parent in parents))
        self._made[name] = VersionRow(
            commit=commit,
            blob=step.blob,
            seen=self._newest,
            at_ns=compute_adding_commit_ns(step.commit),
            commits=walk.commits[commit],
            keys=basis.keys,
            uses=tuple(basis.uses),
            origins=pack_version_origins(lines, total, walk.notes[commit]),
        )

    @property
    def _since_seconds(self) -> int | None:
        return None if self.since_ns is None else max(0, self.since_ns // NS)

    def _build_changed_version(self, change: _HistoryStep, path: RepoPath) -> list[VersionLine]:
        """Return the version that a commit made."""
        commit = AddingCommit(change.commit.id, compute_adding_commit_ns(change.commit))
        diffs = change.diffs or ()
        if any(diff is not None and diff.change.kind is ChangeKind.DELETED for diff in diffs):
            return []
        if len(change.parents) <= 1 and _is_file_added_in_history(diffs[0]):
            return self._build_added_version(change.commit, commit, path)
        sides, hunks = [], []
        for parent, diff in zip(change.parents or (None,), diffs, strict=True):
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
        rows = {row.id: row for row in map(self._read_state, ranked[:DONORS_MAX])}
        latest = [self._tables.last_of(path, commit.at_ns), self._tables.last_of(path, until)]
        rows.update((row.id, row) for row in latest if row is not None and row.id not in rows)
        return [self._donor(row, commit) for row in rows.values()]

    def _donors_elsewhere(self, version: OpenVersion, commit: AddingCommit, path: RepoPath) -> list[Donor]:
        """Return states of other files that open lines may have moved from, for lines that those files lost.

        Another session's text must be later than the commit before: from then on no commit had it, and it moved since.
        Older text that a commit had disappears by a commit, which shows the move.
        """
        until = self._until_ns(commit)
        states = [state for state in self._rank_donor_states(version) if state.path != path and state.at_ns <= until]
        rows = list(map(self._read_state, states[:DONORS_MAX]))
        sessions = self._tables.list_sessions_of(path) if rows else frozenset()
        common = self._lineage.find_common_lines(version.open_keys) if rows else frozenset()
        since = self._find_parent_ns(commit) if rows else 0
        donors = []
        for row in rows:
            is_shared = (row.author.agent, row.author.session) in sessions
            if is_shared or row.at_ns > since:
                donor = self._donor(row, commit, self._absent_from(commit, row.path))
                donors.append(replace(donor, is_shared=is_shared, common=common))
        return donors

    def _find_parent_ns(self, commit: AddingCommit) -> int:
        """Return the author time of a commit's parent, or of HEAD for the work tree; 0 without one.

        A rebase changes only the committer's time. git stores whole seconds: the parent was made within that second.
        """
        parent = self._repository.head().commit if commit.id is None else self._first_parent(commit.id)
        git_object = None if parent is None else self._objects.read(parent)
        if parent is None or not isinstance(git_object, Object):
            return 0
        author = parse_commit(parent, git_object.content).author
        return 0 if author.at is None else author.at.seconds * NS

    def _read_state(self, place: DonorPlace) -> StateRow:
        if place.id not in self._states:
            (self._states[place.id],) = self._tables.states([place.id])
        return self._states[place.id]

    def _until_ns(self, commit: AddingCommit) -> int:
        """Return the latest time of a call that wrote lines of a commit; clocks differ up to the time window."""
        return commit.at_ns + self._window_ns

    def _find_overwrite_ns(self, state: int) -> int | None:
        """Return the time at which a state's call overwrote an uncaptured text; hooks capture it, so only in claims."""
        if state not in self._overwritten:
            author = self._tables.read_state_author(state)
            is_claim = author is not None and author.kind in (TRANSCRIPT, IMPORTED)
            rows = self._tables.states([state]) if is_claim else ()
            self._overwritten[state] = next((row.at_ns for row in rows if self._lineage.overwrites(row)), None)
        return self._overwritten[state]

    def _rank_donor_states(self, version: OpenVersion) -> list[DonorPlace]:
        """Return the states that added open lines, those that added most first, the later of equals."""
        votes = self._lineage.count_line_votes(version.open_keys)
        places = self._lineage.list_state_places(votes)
        return sorted(places, key=lambda place: (-votes[place.id], -place.at_ns, -place.id))

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
            is_outlived=lambda: row.at_ns < self._find_parent_ns(commit) + NS,
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


def _round_version_line(line: VersionLine) -> VersionLine:
    """Return a line with its share as it is stored, so that stored and computed versions give the same answers."""
    share = round_stored_share(line.origin.share)
    return line if share == line.origin.share else line._replace(origin=line.origin._replace(share=share))


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


def compute_adding_commit_ns(commit: GitCommit) -> int:
    """Return the end of the second in which a commit was made: a call in the same second came before it."""
    seconds = [person.at.seconds for person in (commit.author, commit.committer) if person.at is not None]
    return max(seconds, default=0) * NS + NS - 1
