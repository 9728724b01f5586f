"""Make the patch that undoes a session, a call or a prompt in the work tree, and list what it spares."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.session_edits import (
    CapturedEdit,
    OwnedLine,
    SessionEdits,
    align_carried_items,
    decode_lineage_text,
    is_informative_lineage_line,
    iterate_line_keys,
    split_lineage_lines,
)
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import ChangeKind, Comparison, FileAt, FileChange, NoWorkFile, Walk
from custody.undo.app.former import DAY_SECONDS, HORIZON_DAYS, NS, FormerTexts
from custody.undo.app.paths import PathGuard
from custody.undo.app.select import NamedWork, find_named_work
from custody.undo.patch import FilePatch, FileSide, split_raw_lines
from custody.undo.reverse import EditTexts, Reversal, SparedPlace, SparedReason, UndoLine, reverse_edit
from custody.workspace.workspace import Workspace

CERTAINTIES = frozenset(("certain", "strong"))
"""How certain ``blame`` must be of a line, unless imported evidence is allowed, too."""
LIKELY = "likely"
FILES_AT_ONCE = 200
"""Files whose history is in memory at a time."""
MOVED_FILES_MAX = 2_000
"""Maximum files without an edit of the work that are searched for its lines."""
PATCH_BYTES_MAX = 512 << 20
"""Maximum bytes of the changed files together."""
SHA_DIGITS = 7
REGULAR_MODE, EXECUTABLE_MODE = 0o100644, 0o100755
TEXT_BYTES_MAX = 8_000


class UndoRequest(Struct, frozen=True):
    """What to undo, where, and on what evidence."""

    name: str
    agent: str | None = None
    path: str | None = None
    imported: bool = False


class SparedLines(Struct, frozen=True):
    """Adjacent lines that were left as they are; ``lines`` is empty if only former lines do not come back."""

    path: RepoPath
    lines: range
    below: int
    former: int
    reason: SparedReason
    by: str | None
    detail: str | None = None


class FileOutcome(Struct, frozen=True):
    """What happens to one file; ``exact`` if it is again as it was before the work."""

    patch: FilePatch
    exact: bool


class UndoPlan(Struct, frozen=True):
    """The changes of the work tree that undo the work, and what is spared."""

    work: NamedWork
    root: Path
    base: CommitSha | None
    outcomes: Sequence[FileOutcome]
    spared: Sequence[SparedLines]
    notes: Sequence[str]
    is_clean: bool
    untracked: frozenset[RepoPath]


class _Tree(Struct, frozen=True):
    """How files were renamed and changed since the work began, up to the work tree."""

    renames: Mapping[RepoPath, RepoPath]
    moves: Mapping[RepoPath, RepoPath]
    deleted_modes: Mapping[RepoPath, int]
    changed: frozenset[RepoPath]
    is_clean: bool
    untracked: frozenset[RepoPath]
    tracked_modes: Mapping[RepoPath, int]


NameAuthor = Callable[[OwnedLine], str | None]
"""Returns who changed a line."""


class _Target(Struct):
    """One file to undo edits in: its path now, its path afterwards, and the edits."""

    now: RepoPath
    then: RepoPath
    edits: list[CapturedEdit]
    names: list[RepoPath]


class _Result(Struct):
    outcome: FileOutcome | None = None
    spared: list[SparedLines] = field(default_factory=list)


def plan_undo(workspace: Workspace, request: UndoRequest) -> UndoPlan:
    """Return what undoing the named work changes; nothing is written."""
    repository = workspace.repository
    if repository.work_tree is None:
        raise InputError(f"'{repository.git_dir}' has no work tree", hint="run inside a work tree, or name one with -C")
    where = None if request.path is None else repository.path(request.path, workspace.folder)
    with open_attribution(workspace, "lineage") as evidence:
        work = find_named_work(evidence.store, request.name, request.agent)
        planner = _Planner(evidence, work, PathGuard(repository.work_tree), imported=request.imported)
        return planner.plan(where, repository.work_tree)


class _Planner:
    def __init__(self, evidence: AttributionContext, work: NamedWork, guard: PathGuard, *, imported: bool) -> None:
        self._evidence = evidence
        self._work = work
        self._guard = guard
        self._imported = imported
        self._edits = SessionEdits(evidence, work.selection)
        self._notes: dict[str, None] = {}
        self._moves: Mapping[RepoPath, RepoPath] = {}
        """The paths in HEAD of files that were renamed without a commit."""
        self._deleted_modes: Mapping[RepoPath, int] = {}

    def plan(self, where: RepoPath | None, root: Path) -> UndoPlan:
        by_path = {path: self._edits.list_edits(path) for path in self._edits.paths}
        first_ns = min(
            (edit.at_ns for edits in by_path.values() for edit in edits), default=self._evidence.workspace.now_ns()
        )
        tree = self._read_tree(first_ns)
        self._moves, self._deleted_modes = tree.moves, tree.deleted_modes
        found = self._join_targets(self._list_targets(by_path, tree))
        targets = [target for target in found if _is_below(target, where)]
        progress = self._evidence.workspace.progress
        progress.start("undoing", len(targets))
        results: list[_Result] = []
        for start in range(0, len(targets), FILES_AT_ONCE):
            batch = targets[start : start + FILES_AT_ONCE]
            self._edits.prepare([target.now for target in batch if self._guard.exists(target.now)])
            for target in batch:
                results.append(self._undo_file(target))
                progress.step(1)
            self._edits.save_and_reset()
            _check_size(results)
        spared = [spared for result in results for spared in result.spared]
        spared += self._list_moved_lines(tree, {target.now for target in targets}, where)
        self._edits.save_and_reset()
        outcomes = [result.outcome for result in results if result.outcome is not None]
        self._note_modes(tree, outcomes)
        return UndoPlan(
            work=self._work,
            root=root,
            base=self._evidence.repository.head().commit,
            outcomes=outcomes,
            spared=sorted(spared, key=lambda lines: (lines.path, lines.lines.start or lines.below)),
            notes=list(self._notes),
            is_clean=tree.is_clean,
            untracked=tree.untracked,
        )

    # --- which files -------------------------------------------------------------------------------------------------

    def _read_tree(self, first_ns: int) -> _Tree:
        """Read how files were renamed and changed since shortly before the first edit."""
        repository = self._evidence.repository
        head = repository.head().commit
        since = max(0, first_ns // NS - HORIZON_DAYS * DAY_SECONDS)
        renames: dict[RepoPath, RepoPath] = {}
        changed: set[RepoPath] = set()
        modes: dict[RepoPath, int] = {}
        deleted: dict[RepoPath, int] = {}
        if head is not None:
            with repository.log([head], walk=Walk(since_seconds=since)) as log:
                commits = list(log)
            comparisons = [Comparison(commit.id) for commit in reversed(commits)]
            with repository.changes(comparisons) as changes:
                for commit in changes if comparisons else ():
                    _follow_changes(commit.files, renames, changed, modes)
                    deleted.update(_list_deleted_modes(commit.files))
        with repository.with_work_tree() as work:
            comparison = [Comparison(work.commit, head)] if head is not None else [Comparison(work.commit)]
            with work.repository.changes(comparison) as changes:
                files = [file for commit in changes for file in commit.files]
            uncommitted = {
                path for file in files for path in (file.path, *(() if file.old is None else (file.old.path,)))
            }
            _follow_changes(files, renames, changed, {})
            deleted.update(_list_deleted_modes(files))
            moves = {file.path: file.old.path for file in files if file.kind is ChangeKind.RENAMED and file.old}
            left_out = {file.path for file in work.left_out}
        tracked = repository.list_tracked_files(uncommitted) if uncommitted else frozenset()
        in_head = {file.old.path for file in files if file.old is not None}
        untracked = frozenset(path for path in uncommitted if path not in tracked and path not in in_head)
        is_clean = not (uncommitted - untracked) and not left_out
        return _Tree(renames, moves, deleted, frozenset(changed | uncommitted), is_clean, untracked, modes)

    def _list_targets(self, by_path: Mapping[RepoPath, list[CapturedEdit]], tree: _Tree) -> Iterator[_Target]:
        """Yield the files as they are named now; what the work itself renamed is one file."""
        renamed = self._find_own_renames(by_path)
        sources = set(renamed.values())
        renames = {**self._find_lost_renames(by_path), **tree.renames}
        for path, edits in by_path.items():
            if path in sources:
                continue
            names, chain, then = [path], [edits], path
            while then in renamed:
                then = renamed[then]
                names.append(then)
                chain.append(by_path[then])
            edits = _join_renamed(list(reversed(chain)))
            now = path
            seen = {path}
            while not self._guard.exists(now) and now in renames and renames[now] not in seen:
                now = renames[now]
                seen.add(now)
                names.append(now)
            if now != path:
                then = now if then == path else then
            yield _Target(now, then, edits, names)

    def _join_targets(self, targets: Iterable[_Target]) -> list[_Target]:
        """Return one target per file: somebody may have renamed it between two edits."""
        joined: dict[RepoPath, _Target] = {}
        for target in targets:
            known = joined.setdefault(target.now, target)
            if known is target:
                continue
            known.names += [name for name in target.names if name not in known.names]
            if known.then == known.now == target.then:
                known.edits = self._edits.list_edits(*known.names)
            else:
                known.edits = sorted((*known.edits, *target.edits), key=lambda edit: edit.at_ns)
                known.then = target.then if known.then == known.now else known.then
        return list(joined.values())

    def _find_own_renames(self, by_path: Mapping[RepoPath, list[CapturedEdit]]) -> dict[RepoPath, RepoPath]:
        """Return the former paths of files that the work renamed, by the new ones."""
        gone = {path: edits[-1] for path, edits in by_path.items() if edits and edits[-1].deletes and edits[-1].before}
        gone = {path: edit for path, edit in gone.items() if not self._guard.exists(path)}
        renamed: dict[RepoPath, RepoPath] = {}
        for path, edits in by_path.items():
            if not edits or not edits[0].creates or not edits[0].after:
                continue
            keys = set(self._edits.make_keys(edits[0].after))
            for source, edit in gone.items():
                former = set(self._edits.make_keys(edit.before))
                is_same_call = not edit.records.isdisjoint(edits[0].records)
                if (
                    source != path
                    and is_same_call
                    and len(keys & former) * 2 > len(former)
                    and source not in renamed.values()
                ):
                    renamed[path] = source
                    break
        return renamed

    def _find_lost_renames(self, by_path: Mapping[RepoPath, list[CapturedEdit]]) -> dict[RepoPath, RepoPath]:
        """Return the later paths of files that git cannot follow, as an amended commit emptied or rewrote them.

        The text that the work found at the later path is the one that it left at a path that is gone.
        """
        gone: dict[tuple[str, ...], list[RepoPath]] = {}
        for path, edits in by_path.items():
            if edits and edits[-1].after and not edits[-1].is_piece and not self._guard.exists(path):
                gone.setdefault(tuple(edits[-1].after), []).append(path)
        renames: dict[RepoPath, RepoPath] = {}
        for path, edits in by_path.items():
            if not edits or edits[0].creates or edits[0].is_piece:
                continue
            sources = [source for source in gone.get(tuple(edits[0].before), ()) if source != path]
            if len(sources) == 1 and by_path[sources[0]][-1].at_ns < edits[0].at_ns:
                renames.setdefault(sources[0], path)
        return renames

    # --- one file ----------------------------------------------------------------------------------------------------

    def _undo_file(self, target: _Target) -> _Result:
        if not target.edits:
            return self._spare_unread(target)
        for path in dict.fromkeys((target.now, target.then)):
            if (refusal := self._guard.refuse(path)) is not None:
                return _Result(spared=[_spare_file(path, refusal)])
        if not self._guard.exists(target.now):
            return self._restore_file(target)
        if target.then != target.now and self._guard.exists(target.then):
            return _Result(spared=[_spare_file(target.now, f"was '{target.then.display}', which exists again")])
        file = self._evidence.repository.work_file(target.now)
        if isinstance(file, NoWorkFile):
            return _Result(spared=[_spare_file(target.now, file.reason)])
        if b"\0" in file.content[:TEXT_BYTES_MAX]:
            return _Result(spared=[_spare_file(target.now, "is a binary file")])
        owned = self._edits.list_lines(target.now, self._moves.get(target.now))
        return _FileUndo(self._evidence, self._edits, target, file.content, owned, imported=self._imported).undo(
            self._guard.read_mode(target.now)
        )

    def _spare_unread(self, target: _Target) -> _Result:
        if not self._edits.count_withheld(target.now):
            return _Result()
        return _Result(
            spared=[SparedLines(target.now, range(0), 0, 0, SparedReason.NO_TEXT, None, "came without its text")]
        )

    def _restore_file(self, target: _Target) -> _Result:
        """Restore a file that the work deleted; one that somebody else deleted stays deleted."""
        if not target.edits[-1].deletes:
            return _Result()
        undo = _FileUndo(self._evidence, self._edits, target, None, [], imported=self._imported)
        return undo.undo(self._deleted_modes.get(target.now, REGULAR_MODE))

    def _list_moved_lines(self, tree: _Tree, done: set[RepoPath], where: RepoPath | None) -> Iterator[SparedLines]:
        """Yield lines of the work in files that it never edited: somebody moved them there."""
        keys = self._edits.find_added_keys()
        paths = [path for path in sorted(tree.changed - done) if where is None or _is_at_or_below(path, where)]
        if len(paths) > MOVED_FILES_MAX:
            self._note(f"only {MOVED_FILES_MAX:,} of {len(paths):,} other files were searched for moved lines")
        for path in paths[:MOVED_FILES_MAX] if keys else ():
            if self._guard.refuse(path) is not None or not self._guard.exists(path):
                continue
            file = self._evidence.repository.work_file(path)
            if isinstance(file, NoWorkFile) or b"\0" in file.content[:TEXT_BYTES_MAX]:
                continue
            if keys.isdisjoint(iterate_line_keys(self._edits, file.content)):
                continue
            owned = self._edits.list_lines(path)
            numbers = {n: SparedReason.MOVED for n, line in enumerate(owned, start=1) if line.is_selected}
            yield from _join_spared(path, numbers, owned, self._name_author)

    def _name_author(self, line: OwnedLine) -> str | None:
        return name_author(self._evidence, line)

    def _note(self, note: str) -> None:
        self._notes[note] = None

    def _note_modes(self, tree: _Tree, outcomes: Iterable[FileOutcome]) -> None:
        """Note changed modes: captures do not show who changed them."""
        for outcome in outcomes:
            side = outcome.patch.new
            before = None if side is None else tree.tracked_modes.get(side.path)
            if side is not None and before is not None and before != side.mode:
                self._note(f"the mode of '{side.path.display}' stays {side.mode:06o}; it was {before:06o} before")


class _FileUndo:
    """The undoing of the edits of one file."""

    def __init__(
        self,
        evidence: AttributionContext,
        edits: SessionEdits,
        target: _Target,
        content: bytes | None,
        owned: Sequence[OwnedLine],
        *,
        imported: bool,
    ) -> None:
        self._evidence = evidence
        self._edits = edits
        self._target = target
        self._content = content
        count = len(split_lineage_lines(decode_lineage_text(content or b"")))
        self._owned = owned if len(owned) == count else ()  # the file changed while it was read
        self._imported = imported
        names = list(dict.fromkeys(target.names))
        self._first_ns = min(edit.at_ns for edit in target.edits)
        self._former = FormerTexts(evidence, edits, names, self._first_ns)
        self._lines = split_raw_lines(content or b"")
        self._raw: dict[tuple[int, int], str] = {}
        """The text of lines that came back, by edit and line."""
        self._missing: frozenset[int] = frozenset()
        self._old_keys: frozenset[int] | None = None

    def undo(self, mode: int) -> _Result:
        texts = split_lineage_lines(decode_lineage_text(self._content or b""))
        current = self._number_lines(texts)
        places: list[SparedPlace] = []
        skipped = 0
        for index in range(len(self._target.edits) - 1, -1, -1):
            edit = self._target.edits[index]
            if not (edit.is_recorded or self._imported):
                skipped += 1
                continue
            reversal = self._reverse(index, edit, current)
            current = list(reversal.lines)
            places.extend(reversal.spared)
            self._missing |= reversal.missing
        first = self._target.edits[0]
        exact = not skipped and not places and not first.is_piece
        exact = exact and [line.text for line in current] == list(self._edits.normalize(first.before))
        spared_lines = [] if exact else self._list_spared(current, places)
        if skipped and self._content is None:
            former = len(self._target.edits[-1].before)
            spared_lines.append(SparedLines(self._target.now, range(0), 0, former, SparedReason.IMPORTED, None))
        return _Result(self._make_outcome(current, mode, exact=exact), spared_lines)

    def _number_lines(self, texts: Sequence[str]) -> list[UndoLine]:
        normal = self._edits.normalize(texts)
        keys = self._edits.make_keys(normal)
        if len(self._owned) != len(texts):
            return [
                UndoLine(text, key, n, is_own=False, is_informative=is_informative_lineage_line(text))
                for n, (text, key) in enumerate(zip(normal, keys, strict=True), 1)
            ]
        return [
            UndoLine(
                text,
                key,
                n,
                self._is_own(owned),
                is_informative_lineage_line(text),
                is_others=self._is_others(owned, key),
            )
            for n, (text, key, owned) in enumerate(zip(normal, keys, self._owned, strict=True), 1)
        ]

    def _is_others(self, line: OwnedLine, key: int) -> bool:
        """Return whether anything shows that a line is not of this work: an author, or a commit before it."""
        is_named = line.author is not None and not line.is_selected
        is_older = line.since_ns is not None and line.since_ns < self._first_ns and self._may_be_older(key)
        return is_named or line.is_contested or line.is_older or is_older

    def _may_be_older(self, key: int) -> bool:
        """Return whether the file may have had a line before the work; the commit below the work tells, if known."""
        revision = self._target.edits[0].revision
        if revision is not None and self._old_keys is None:
            texts = (self._former.read(FileAt(revision, path)) for path in self._target.names)
            found = [version.normal for version in texts if version is not None]
            self._old_keys = frozenset(key for lines in found for key in self._edits.make_keys(lines))
        return self._old_keys is None or key in self._old_keys

    def _is_own(self, line: OwnedLine) -> bool:
        is_sure = line.certainty in CERTAINTIES or (self._imported and line.certainty == LIKELY)
        return line.is_selected and line.is_whole and not line.is_contested and not line.is_older and is_sure

    def _reverse(self, index: int, edit: CapturedEdit, current: Sequence[UndoLine]) -> Reversal:
        texts = self._make_texts(index, edit, current)
        if texts is None:
            return Reversal(current, (SparedPlace(SparedReason.CHANGED, (), 0, 0),))
        matches = dict(align_carried_items([line.key for line in texts.after], [line.key for line in current]))

        def find_former(lines: range) -> Sequence[UndoLine] | None:
            known = [texts.before[i] for i in lines]
            sources = [line.source for line in known]
            captured = [source[1] for source in sources if source is not None]
            raw = self._former.find(edit, range(captured[0], captured[-1] + 1)) if captured else None
            if raw is None or len(raw) != len(known):
                return None
            for source, text in zip(sources, raw, strict=True):
                assert source is not None, "every changed line is from the edit"
                self._raw[source] = text
            return known

        return reverse_edit(current, texts, matches, find_former)

    def _make_texts(self, index: int, edit: CapturedEdit, current: Sequence[UndoLine]) -> EditTexts | None:
        """Return an edit with whole texts; None if the recorded piece is not in the text, or several times."""
        before = self._make_lines(index, edit, edit.before, own=edit.own)
        after = self._make_lines(index, edit, edit.after)
        if edit.is_piece:
            at = _find_piece([line.text for line in current], [line.text for line in after])
            if at is None:
                return None
            around = current[:at], current[at + len(after) :]
            before = [*around[0], *before, *around[1]]
            after = [*around[0], *after, *around[1]]
        pairs = align_carried_items([line.text for line in before], [line.text for line in after])
        return EditTexts(before, after, pairs)

    def _make_lines(
        self, index: int, edit: CapturedEdit, texts: Sequence[str], own: Sequence[bool] | None = None
    ) -> list[UndoLine]:
        normal = self._edits.normalize(texts)
        keys = self._edits.make_keys(normal)
        return [
            UndoLine(
                text,
                key,
                None,
                own is not None and i < len(own) and own[i],
                is_informative_lineage_line(text),
                None if own is None else (index, i),
            )
            for i, (text, key) in enumerate(zip(normal, keys, strict=True))
        ]

    # --- what is spared ----------------------------------------------------------------------------------------------

    def _list_spared(self, current: Sequence[UndoLine], places: Sequence[SparedPlace]) -> list[SparedLines]:
        left = {line.number for line in current if line.number is not None}
        reasons: dict[int, SparedReason] = {}
        for place in places:
            reasons.update((number, place.reason) for number in place.numbers if number in left)
        for number, owned in enumerate(self._owned, start=1):
            if number in left and owned.is_selected:
                reasons[number] = self._explain(owned, reasons.get(number))
        for line in current if self._owned else ():
            is_unknown = line.number is not None and self._owned[line.number - 1].author is None
            if line.number is not None and is_unknown and line.key in self._missing:
                reasons.setdefault(line.number, SparedReason.OTHERS)
        name = self._target.now
        spared = list(_join_spared(name, reasons, self._owned, lambda line: name_author(self._evidence, line)))
        spared += [
            SparedLines(name, range(0), place.below, place.former, place.reason, None)
            for place in places
            if place.former or not place.numbers
        ]
        return spared

    def _explain(self, line: OwnedLine, found: SparedReason | None) -> SparedReason:
        if line.is_contested:
            return SparedReason.CONTESTED
        if not line.is_whole:
            return SparedReason.MIXED
        if line.certainty == LIKELY and not self._imported:
            return SparedReason.IMPORTED
        if line.is_older or line.certainty not in (*CERTAINTIES, LIKELY):
            return SparedReason.WEAK
        return found or SparedReason.MOVED

    # --- the file afterwards -----------------------------------------------------------------------------------------

    def _make_outcome(self, current: Sequence[UndoLine], mode: int, *, exact: bool) -> FileOutcome | None:
        target = self._target
        content = self._find_exact_content(current) if exact else None
        if content is None:
            content = self._assemble(current)
        new: FileSide | None = FileSide(target.then, content, mode)
        if not current and self._is_created():
            new = None
        if self._content is None:
            if new is None or (not exact and not current):
                return None
            return FileOutcome(FilePatch(None, replace(new, path=target.then)), exact)
        old = FileSide(target.now, self._content, mode)
        if new is not None and (new.path, new.content) == (old.path, old.content):
            return None
        lines = split_raw_lines(old.content), split_raw_lines(new.content if new else b"")
        return FileOutcome(FilePatch(old, new, align_carried_items(*lines)), exact)

    def _is_created(self) -> bool:
        """Return whether the file was not there before the work: in no capture, and in no commit below it."""
        first = self._target.edits[0]
        return first.creates and not first.before and not self._former.has_version_before(first.revision)

    def _list_bases(self) -> list[CommitSha | None]:
        """Return the commits that the work in this file began from, as far as the lines show."""
        bases: list[CommitSha | None] = []
        firsts = dict.fromkeys(line.first_commit for line in self._owned if line.is_selected)
        for sha in firsts:
            commit = None if sha is None else self._evidence.commit(sha)
            if commit is not None:
                bases.extend(commit.parents)
        head = self._evidence.repository.head().commit
        is_committed = any(sha is not None for sha in firsts)
        return [*bases, *(edit.revision for edit in self._target.edits[:1]), *(() if is_committed else (head,))]

    def _find_exact_content(self, current: Sequence[UndoLine]) -> bytes | None:
        """Return the file's former bytes, with its line ends and the end of its last line, if they are known."""
        texts = [self._get_text(line) for line in current]
        head = self._evidence.repository.head().commit
        if not self._has_other_line_ends(head):
            found = self._former.find_whole(texts, [*self._list_bases(), head])
            if found is not None:
                return found
        first = self._target.edits[0]
        raw = first.raw_before
        if raw is None or split_lineage_lines(raw) != texts:
            return None
        content = raw.encode("utf-8", "surrogateescape")
        if b"\r\n" not in content and self._line_end == b"\r\n":
            content = content.replace(b"\n", b"\r\n")  # agents report line ends without the carriage return
        return content

    def _has_other_line_ends(self, head: CommitSha | None) -> bool:
        """Return whether git converts the line ends of the file, so that no blob has the bytes on disk."""
        blob = (
            None
            if head is None
            else self._former.find_whole(split_lineage_lines(decode_lineage_text(self._content or b"")), [head])
        )
        return self._content is not None and blob is not None and blob != self._content

    @property
    def _line_end(self) -> bytes:
        content = self._content or b""
        return b"\r\n" if content.count(b"\r\n") * 2 > content.count(b"\n") else b"\n"

    def _get_text(self, line: UndoLine) -> str:
        if line.number is not None:
            return decode_lineage_text(self._lines[line.number - 1].removesuffix(b"\n").removesuffix(b"\r"))
        return line.text if line.source is None else self._raw[line.source]

    def _assemble(self, current: Sequence[UndoLine]) -> bytes:
        raw = self._lines
        pieces = [
            raw[line.number - 1]
            if line.number is not None
            else self._get_text(line).encode("utf-8", "surrogateescape") + self._line_end
            for line in current
        ]
        is_ended = self._content is None or not raw or raw[-1].endswith(b"\n")
        ended = [piece if piece.endswith(b"\n") else piece + self._line_end for piece in pieces[:-1]]
        if pieces:
            last = pieces[-1]
            if is_ended:
                last = last if last.endswith(b"\n") else last + self._line_end
            elif current[-1].number is None or current[-1].number != len(raw):
                last = last.removesuffix(b"\n").removesuffix(b"\r")
            ended.append(last)
        return b"".join(ended)


def name_author(evidence: AttributionContext, line: OwnedLine) -> str | None:
    """Return who changed a line, as far as that is known: an agent, a person or the author of a commit."""
    if line.author is not None and not line.is_selected:
        return line.author
    commit = None if line.commit is None else evidence.commit(line.commit)
    if commit is None:
        return "a change that is not committed" if line.commit is None and line.first_commit is None else None
    name = commit.author.name.decode("utf-8", "replace") if commit.author.name else "unknown"
    return f"{name} in {commit.id[:SHA_DIGITS]}"


def _follow_changes(
    files: Iterable[FileChange], renames: dict[RepoPath, RepoPath], changed: set[RepoPath], modes: dict[RepoPath, int]
) -> None:
    for file in files:
        changed.add(file.path)
        if file.kind is ChangeKind.RENAMED and file.old is not None:
            renames[file.old.path] = file.path
        if file.old is not None and file.new is not None and file.old.mode != file.new.mode:
            modes.setdefault(file.path, file.old.mode)


def _list_deleted_modes(files: Iterable[FileChange]) -> Iterator[tuple[RepoPath, int]]:
    for file in files:
        if file.old is not None and (file.new is None or file.new.path != file.old.path):
            yield file.old.path, file.old.mode if file.old.mode == EXECUTABLE_MODE else REGULAR_MODE


def _join_renamed(chain: Sequence[list[CapturedEdit]]) -> list[CapturedEdit]:
    """Return the edits of a file under all its names: the call that renamed it is one edit."""
    joined = list(chain[0])
    for edits in chain[1:]:
        gone, made = joined.pop(), edits[0]
        joined.append(
            replace(
                made,
                before=gone.before,
                own=gone.own,
                is_live=gone.is_live,
                is_recorded=gone.is_recorded and made.is_recorded,
                creates=gone.creates,
                revision=gone.revision,
                raw_before=gone.raw_before,
                at_ns=gone.at_ns,
                states=gone.states | made.states,
            )
        )
        joined.extend(edits[1:])
    return joined


def _find_piece(texts: Sequence[str], piece: Sequence[str]) -> int | None:
    """Return where a piece is in a text; None if nowhere or at several places."""
    if not piece:
        return None
    count = len(piece)
    found = [
        at
        for at in range(len(texts) - count + 1)
        if texts[at] == piece[0] and list(texts[at : at + count]) == list(piece)
    ]
    return found[0] if len(found) == 1 else None


def _join_spared(
    path: RepoPath, reasons: Mapping[int, SparedReason], owned: Sequence[OwnedLine], name: NameAuthor
) -> Iterator[SparedLines]:
    """Yield adjacent lines with the same reason and author as one block."""
    block: SparedLines | None = None
    for number in sorted(reasons):
        by = name(owned[number - 1]) if number <= len(owned) else None
        if block is not None and (block.lines.stop, block.reason, block.by) == (number, reasons[number], by):
            block = replace(block, lines=range(block.lines.start, number + 1))
            continue
        if block is not None:
            yield block
        block = SparedLines(path, range(number, number + 1), 0, 0, reasons[number], by)
    if block is not None:
        yield block


def _spare_file(path: RepoPath, why: str) -> SparedLines:
    return SparedLines(path, range(0), 0, 0, SparedReason.FILE, None, why)


def _is_below(target: _Target, where: RepoPath | None) -> bool:
    return where is None or any(_is_at_or_below(path, where) for path in (target.now, target.then, *target.names))


def _is_at_or_below(path: RepoPath, where: RepoPath) -> bool:
    return path == where or path.raw.startswith(where.raw + b"/")


def _check_size(results: Sequence[_Result]) -> None:
    sides = (
        side for result in results if result.outcome for side in (result.outcome.patch.old, result.outcome.patch.new)
    )
    if sum(len(side.content) for side in sides if side is not None) > PATCH_BYTES_MAX:
        raise InputError(
            f"the changed files have more than {PATCH_BYTES_MAX:,} bytes", hint="undo a part of it with --path"
        )
