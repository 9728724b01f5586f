"""The history that is searched for reverts: messages, ancestry, and the merge that brought each commit."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

from msgspec import Struct, field

from custody.core.ids import CommitSha
from custody.git import (
    Commit,
    Comparison,
    FileAt,
    FileChange,
    FileDiff,
    HunkDetail,
    NoObject,
    Object,
    ObjectInfo,
    ObjectReader,
    PatchLimits,
    Repository,
    Walk,
)
from custody.trust.commit_words import Claim, parse_revert_claims, parse_revertible_pull_number
from custody.trust.undo_check import (
    UNDONE_NOTHING,
    LineCounts,
    States,
    UndoMeasure,
    count_revertible_lines,
    has_revertible_word,
    measure_reverted_file,
    measure_reverted_lines,
)
from custody.workspace.workspace import Progress

HistoryKey = TypeVar("HistoryKey")

PROGRESS_COMMITS = 500
"""The number of commits between two updates of the progress."""


class PastCommit(Struct, frozen=True):
    """One commit; ``place`` is its position in git's list, newest first."""

    id: CommitSha
    parents: tuple[CommitSha, ...]
    subject: str
    at_seconds: int | None
    place: int


class RevertHistory(Struct, frozen=True, dict=True):
    """The history of a tip, the newest first; ``in_range`` are the commits that are searched for reverts."""

    commits: Mapping[CommitSha, PastCommit]
    in_range: frozenset[CommitSha]
    claims: Mapping[CommitSha, tuple[Claim, ...]] = field(default_factory=dict)
    cuts: frozenset[CommitSha] = frozenset()

    def find_by_prefix(self, start: str) -> list[CommitSha]:
        """Return up to two commits whose ids begin with these digits."""
        place = bisect_left(self._sorted, start)
        return list(takewhile(lambda sha: sha.startswith(start), self._sorted[place : place + 2]))

    def find_by_title(self, title: str) -> Sequence[PastCommit]:
        """Return the commits with this subject, the newest first, with or without a pull request number at its end."""
        return self._by_title.get(title, ())

    def find_by_number(self, number: int) -> Sequence[PastCommit]:
        """Return the commits of this pull request, the newest first."""
        return self._by_number.get(number, ())

    @cached_property
    def merged_with(self) -> Mapping[CommitSha, CommitSha]:
        """Map each commit to the first-parent commit that brought it; first-parent commits map to themselves."""
        line = {sha: age for age, sha in enumerate(self._line())}
        brought = {sha: sha for sha in line}
        for past in self._children_first():
            if past.id in brought:
                self._bring(past, brought, line)
        return brought

    def _bring(self, past: PastCommit, brought: dict[CommitSha, CommitSha], line: Mapping[CommitSha, int]) -> None:
        """Map the parents of a commit to the same merge, unless an older merge brought them."""
        by = brought[past.id]
        for parent in past.parents:
            if parent not in line and (parent not in brought or line[brought[parent]] < line[by]):
                brought[parent] = by

    def _line(self) -> Iterator[CommitSha]:
        at = next(iter(self.commits), None)
        while at is not None and at in self.commits:
            yield at
            at = next(iter(self.commits[at].parents), None)

    def _children_first(self) -> Iterator[PastCommit]:
        """Yield every commit after all of its children: git lists by date, and dates can be wrong."""
        children: dict[CommitSha, int] = dict.fromkeys(self.commits, 0)
        for past in self.commits.values():
            for parent in past.parents:
                if parent in children:
                    children[parent] += 1
        free = [sha for sha, count in children.items() if not count]
        while free:
            past = self.commits[free.pop()]
            yield past
            for parent in past.parents:
                if parent in children:
                    children[parent] -= 1
                    if not children[parent]:
                        free.append(parent)

    @cached_property
    def _sorted(self) -> list[CommitSha]:
        return sorted(self.commits)

    @cached_property
    def _by_title(self) -> Mapping[str, list[PastCommit]]:
        return _group_revert_commits(
            (title, past) for past in self.commits.values() for title in _list_revertible_titles(past.subject)
        )

    @cached_property
    def _by_number(self) -> Mapping[int, list[PastCommit]]:
        numbers = ((parse_revertible_pull_number(past.subject), past) for past in self.commits.values())
        return _group_revert_commits((number, past) for number, past in numbers if number is not None)


def read_revert_history(
    repository: Repository, tip: CommitSha, base: CommitSha | None, progress: Progress
) -> RevertHistory:
    """Read the history of ``tip``; without ``base`` all of it is in range."""
    in_range = None if base is None else _list_revert_range(repository, tip, base)
    commits: dict[CommitSha, PastCommit] = {}
    claims: dict[CommitSha, tuple[Claim, ...]] = {}
    progress.start("reading messages", None)
    with repository.log([tip]) as log:
        for place, commit in enumerate(log):
            commits[commit.id] = _to_revert_history_commit(commit, place)
            if in_range is None or commit.id in in_range:
                commit_claims = parse_revert_claims(_decode_revert_text(commit.message))
                if commit_claims:
                    claims[commit.id] = commit_claims
            if place % PROGRESS_COMMITS == 0:
                progress.step(PROGRESS_COMMITS)
    return RevertHistory(
        commits, frozenset(commits) if in_range is None else in_range, claims, repository.list_shallow_commits()
    )


def _list_revert_range(repository: Repository, tip: CommitSha, base: CommitSha) -> frozenset[CommitSha]:
    with repository.log([tip], walk=Walk(without=[base])) as log:
        return frozenset(commit.id for commit in log)


def _to_revert_history_commit(commit: Commit, place: int) -> PastCommit:
    at = commit.committer.at
    return PastCommit(
        commit.id, commit.parents, _decode_revert_text(commit.subject), None if at is None else at.seconds, place
    )


def _list_revertible_titles(subject: str) -> Iterable[str]:
    """Return a subject, and the same without the pull request number of a squash."""
    bare = (
        subject.rpartition(" (#")[0]
        if parse_revertible_pull_number(subject) is not None and subject.endswith(")")
        else ""
    )
    return (subject, bare) if bare else (subject,)


def _group_revert_commits(pairs: Iterable[tuple[HistoryKey, PastCommit]]) -> dict[HistoryKey, list[PastCommit]]:
    groups: dict[HistoryKey, list[PastCommit]] = {}
    for key, past in pairs:
        groups.setdefault(key, []).append(past)
    return groups


def _decode_revert_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# Reverts that no message mentions: the diff is the exact reverse of an earlier one.


LIMITS = PatchLimits(file_bytes_max=1 << 20, commit_bytes_max=4 << 20)
"""Larger files are compared by their blob ids."""

REVERT_LINES_MIN = 5
"""The least lines for a revert that no message mentions: fewer lines match by coincidence."""
WINDOW_COMMITS = 1000
"""How many commits back the reverted one is searched: time and memory grow with it."""

CommitShape = tuple[tuple[bytes, str], ...]
"""Which files a commit changed, and whether each was added, changed or deleted."""
_BACKWARDS = {"A": "D", "D": "A"}


class _Diff(Struct, frozen=True):
    """The digests of a diff and its reverse, and how many of its lines have a word."""

    forwards: bytes
    backwards: bytes
    lines: int


def find_silent_reverts(
    repository: Repository,
    commits: Sequence[CommitSha],
    in_range: frozenset[CommitSha],
    progress: Progress,
) -> Iterator[tuple[CommitSha, CommitSha]]:
    """Yield pairs (later, earlier) with the later commit in ``in_range``; ``commits`` are oldest first, no merges.

    The nearest earlier commit counts. Only commits that change the same files are compared by line.
    """
    diffs = _digest_revert_diffs(repository, list(_find_revert_candidates(repository, commits, progress)), progress)
    last: dict[bytes, int] = {}
    for place, commit in enumerate(commits):
        diff = diffs.get(commit)
        if diff is None or diff.lines < REVERT_LINES_MIN:
            continue
        earlier = last.get(diff.backwards)
        if commit in in_range and earlier is not None and place - earlier <= WINDOW_COMMITS:
            yield commit, commits[earlier]
        last[diff.forwards] = place


def _find_revert_candidates(
    repository: Repository, commits: Sequence[CommitSha], progress: Progress
) -> Iterable[CommitSha]:
    """Return the commits with a nearby commit that changes the same files in reverse."""
    last: dict[CommitShape, int] = {}
    candidates: dict[CommitSha, None] = {}
    progress.start("comparing files", len(commits))
    with repository.changes([Comparison(commit) for commit in commits], renames=False) as answers:
        for place, answer in enumerate(answers):
            progress.step(1)
            shape = _revert_shape_from_files(answer.files)
            reverse = tuple((path, _BACKWARDS.get(kind, kind)) for path, kind in shape)
            earlier = last.get(reverse)
            if shape and earlier is not None and place - earlier <= WINDOW_COMMITS:
                candidates[commits[earlier]] = candidates[answer.commit] = None
            last[shape] = place
    return candidates


def _revert_shape_from_files(files: Iterable[FileChange]) -> CommitShape:
    return tuple(sorted((file.path.raw, file.kind.value) for file in files))


def _digest_revert_diffs(
    repository: Repository, commits: Sequence[CommitSha], progress: Progress
) -> Mapping[CommitSha, _Diff]:
    progress.start("comparing lines", len(commits))
    diffs: dict[CommitSha, _Diff] = {}
    with repository.diffs([Comparison(commit) for commit in commits], limits=LIMITS) as answers:
        for answer in answers:
            progress.step(1)
            diffs[answer.commit] = _Diff(
                _digest_revert_parts(_encode_revert_diff(answer.files, forwards=True)),
                _digest_revert_parts(_encode_revert_diff(answer.files, forwards=False)),
                sum(
                    has_revertible_word(line)
                    for file in answer.files
                    for hunk in file.hunks
                    for line in (*hunk.removed, *hunk.added)
                ),
            )
    return diffs


def _encode_revert_diff(files: Iterable[FileDiff], *, forwards: bool) -> Iterator[bytes]:
    """Yield the parts of a diff, with lengths where two parts could run together."""
    for file in files:
        yield b"file %d %s" % (len(file.change.path.raw), file.change.path.raw)
        sides = (file.change.old, file.change.new)
        old, new = sides if forwards else sides[::-1]
        yield b"%o %o" % (0 if old is None else old.mode, 0 if new is None else new.mode)
        if file.shown is not HunkDetail.WHOLE:
            yield b"%s %s" % tuple(b"" if side is None else side.blob.encode() for side in (old, new))
        for hunk in file.hunks:
            removed, added = (hunk.removed, hunk.added) if forwards else (hunk.added, hunk.removed)
            yield b"hunk %d %d" % (len(removed), len(added))
            yield from removed
            yield from added


def _digest_revert_parts(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d " % len(part))
        digest.update(part)
    return digest.digest()


# Measure reverts by four states of every file that the earlier commit changed.


FILES_MAX = 2000
"""The most files compared for one commit."""
FILE_BYTES_MAX = 1 << 20
"""A larger file is compared as a whole."""
BINARY_BYTES = 8000
"""A zero byte in the first of them makes a file binary, as in git."""


class RevertPair(Struct, frozen=True):
    """A commit with the parent that it is compared with, and a later commit that may revert it."""

    target: CommitSha
    parent: CommitSha | None
    by: CommitSha
    by_parent: CommitSha


def measure_reverts(repository: Repository, pairs: Sequence[RevertPair], progress: Progress) -> Iterator[UndoMeasure]:
    """Yield what the later commit of each pair reverts of the earlier one, in order."""
    progress.start("comparing commits", len(pairs))
    changed = _read_reverted_changes(repository, pairs)
    with_changes = [(pair, changed[pair.target, pair.parent]) for pair in pairs]
    infos = repository.look_up(_list_revert_files(with_changes))
    with repository.objects(FILE_BYTES_MAX) as objects:
        for _, changes in with_changes:
            yield sum(
                (_measure_file_revert(objects, file) for file in _revert_states_from_changes(changes, infos)),
                UNDONE_NOTHING,
            )
            progress.step(1)


def _read_reverted_changes(
    repository: Repository, pairs: Sequence[RevertPair]
) -> dict[tuple[CommitSha, CommitSha | None], tuple[FileChange, ...]]:
    targets = list(dict.fromkeys((pair.target, pair.parent) for pair in pairs))
    with repository.changes([Comparison(*commits) for commits in targets], renames=False) as answers:
        return {commits: answer.files[:FILES_MAX] for commits, answer in zip(targets, answers, strict=True)}


def _list_revert_files(with_changes: Iterable[tuple[RevertPair, Sequence[FileChange]]]) -> Iterator[FileAt]:
    """Yield every file of every pair before and after the later commit."""
    for pair, changes in with_changes:
        for change in changes:
            yield FileAt(pair.by_parent, change.path)
            yield FileAt(pair.by, change.path)


def _revert_states_from_changes(
    changes: Sequence[FileChange], infos: Iterator[ObjectInfo | NoObject]
) -> Iterator[States[str | None]]:
    """Yield the blob ids of each file's four states; None for a missing file."""
    for change in changes:
        then, now = (None if isinstance(info, NoObject) else info.id for info in (next(infos), next(infos)))
        old, new = (None if side is None else side.blob for side in (change.old, change.new))
        yield States(old, new, then, now)


def _measure_file_revert(objects: ObjectReader[Object], file: States[str | None]) -> UndoMeasure:
    texts = {name: _read_revertible_lines(objects, name) for name in set(file)}
    old, new, then, now = (texts[name] for name in file)
    if old is None or new is None or then is None or now is None:
        return measure_reverted_file(file)
    # Moved or reindented lines are equal lines: then the whole file is compared.
    by_lines = measure_reverted_lines(States(old, new, then, now))
    return by_lines if by_lines.changed else measure_reverted_file(file)


def _read_revertible_lines(objects: ObjectReader[Object], name: str | None) -> LineCounts | None:
    """Return the lines of a file; none for a missing file, None for a file without lines."""
    if name is None:
        return {}
    blob = objects.read(name)
    if isinstance(blob, NoObject) or blob.info.kind != "blob" or b"\0" in blob.content[:BINARY_BYTES]:
        return None
    return count_revertible_lines(blob.content)
