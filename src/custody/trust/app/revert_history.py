"""The commits that reverts are looked for in: what each says, what it descends from, and with what it landed."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

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
from custody.trust.commit_words import Claim, claims_in, number_of
from custody.trust.rules import TrustRules
from custody.trust.undo_check import (
    UNDONE_NOTHING,
    LineCounts,
    States,
    UndoMeasure,
    has_word,
    lines_of,
    undone_lines,
    undone_whole,
)
from custody.workspace.workspace import Progress

HistoryKey = TypeVar("HistoryKey")

PROGRESS_COMMITS = 500
"""How many commits are read before that is told."""


@dataclass(frozen=True, slots=True)
class PastCommit:
    """One commit; ``place`` grows with age, in the order in which git lists them."""

    id: CommitSha
    parents: tuple[CommitSha, ...]
    subject: str
    at_seconds: int | None
    place: int


@dataclass(frozen=True)
class RevertHistory:
    """Every commit that a tip descends from, the newest first; ``asked`` are those that were asked about."""

    commits: Mapping[CommitSha, PastCommit]
    asked: frozenset[CommitSha]
    claims: Mapping[CommitSha, tuple[Claim, ...]] = field(default_factory=dict)
    cuts: frozenset[CommitSha] = frozenset()

    def named(self, start: str) -> list[CommitSha]:
        """The commits whose ids begin with these digits."""
        place = bisect_left(self._sorted, start)
        return list(takewhile(lambda sha: sha.startswith(start), self._sorted[place : place + 2]))

    def titled(self, title: str) -> Sequence[PastCommit]:
        """The commits with this subject, the newest first, with or without the number of a pull request behind it."""
        return self._by_title.get(title, ())

    def numbered(self, number: int) -> Sequence[PastCommit]:
        """The commits that say they are this pull request, the newest first."""
        return self._by_number.get(number, ())

    @cached_property
    def landed_with(self) -> Mapping[CommitSha, CommitSha]:
        """For each commit the one of the line of first parents that brought it; those of the line bring themselves."""
        line = {sha: age for age, sha in enumerate(self._line())}
        brought = {sha: sha for sha in line}
        for past in self._children_first():
            if past.id in brought:
                self._bring(past, brought, line)
        return brought

    def _bring(self, past: PastCommit, brought: dict[CommitSha, CommitSha], line: Mapping[CommitSha, int]) -> None:
        """A commit's parents came with it, unless an older one of the line had brought them before."""
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
        """Every commit after all of its children: git lists by date, and dates can be wrong."""
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
        return _grouped((title, past) for past in self.commits.values() for title in _titles(past.subject))

    @cached_property
    def _by_number(self) -> Mapping[int, list[PastCommit]]:
        numbers = ((number_of(past.subject), past) for past in self.commits.values())
        return _grouped((number, past) for number, past in numbers if number is not None)


def history_of(repository: Repository, tip: CommitSha, base: CommitSha | None, progress: Progress) -> RevertHistory:
    """Everything that ``tip`` descends from; asked about is what ``base`` does not descend from, or all of it."""
    asked = None if base is None else _ids(repository, tip, base)
    commits: dict[CommitSha, PastCommit] = {}
    claims: dict[CommitSha, tuple[Claim, ...]] = {}
    progress.start("reading messages", None)
    with repository.log([tip]) as log:
        for place, commit in enumerate(log):
            commits[commit.id] = _past(commit, place)
            if asked is None or commit.id in asked:
                said = claims_in(_text(commit.message))
                if said:
                    claims[commit.id] = said
            if place % PROGRESS_COMMITS == 0:
                progress.step(PROGRESS_COMMITS)
    return RevertHistory(commits, frozenset(commits) if asked is None else asked, claims, repository.cuts())


def _ids(repository: Repository, tip: CommitSha, base: CommitSha) -> frozenset[CommitSha]:
    with repository.log([tip], walk=Walk(without=[base])) as log:
        return frozenset(commit.id for commit in log)


def _past(commit: Commit, place: int) -> PastCommit:
    at = commit.committer.at
    return PastCommit(commit.id, commit.parents, _text(commit.subject), None if at is None else at.seconds, place)


def _titles(subject: str) -> Iterable[str]:
    """A subject as it is, and as it was before it was squashed: without the number at its end."""
    bare = subject.rpartition(" (#")[0] if number_of(subject) is not None and subject.endswith(")") else ""
    return (subject, bare) if bare else (subject,)


def _grouped(pairs: Iterable[tuple[HistoryKey, PastCommit]]) -> dict[HistoryKey, list[PastCommit]]:
    found: dict[HistoryKey, list[PastCommit]] = {}
    for key, past in pairs:
        found.setdefault(key, []).append(past)
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# Commits that undo an earlier one without a word: their diff is the earlier one's backwards, line for line.


LIMITS = PatchLimits(file_bytes_max=1 << 20, commit_bytes_max=4 << 20)
"""What is larger is compared by the names of its contents."""

WINDOW_COMMITS = 1000
"""How many commits back an undone one is searched: time and memory grow with it, and reverts come sooner."""

CommitShape = tuple[tuple[bytes, str], ...]
"""Which files a commit changed, and whether each was added, changed or deleted."""
_BACKWARDS = {"A": "D", "D": "A"}


@dataclass(frozen=True, slots=True)
class _Diff:
    """A diff and the same backwards, by their digests, and how many of its lines have a word in them."""

    forwards: bytes
    backwards: bytes
    lines: int


def silent_reverts(
    repository: Repository,
    commits: Sequence[CommitSha],
    asked: frozenset[CommitSha],
    rules: TrustRules,
    progress: Progress,
) -> Iterator[tuple[CommitSha, CommitSha]]:
    """Pairs (later, earlier) of which the later one is among ``asked``; ``commits`` are the oldest first, no merges.

    The nearest earlier one counts. Only commits that change the same files are read line by line.
    """
    diffs = _diffs(repository, list(_alike(repository, commits, progress)), progress)
    last: dict[bytes, int] = {}
    for place, commit in enumerate(commits):
        diff = diffs.get(commit)
        if diff is None or diff.lines < rules.revert_lines_min:
            continue
        earlier = last.get(diff.backwards)
        if commit in asked and earlier is not None and place - earlier <= WINDOW_COMMITS:
            yield commit, commits[earlier]
        last[diff.forwards] = place


def _alike(repository: Repository, commits: Sequence[CommitSha], progress: Progress) -> Iterable[CommitSha]:
    """The commits that have an earlier or a later one near them with the same files, turned around."""
    last: dict[CommitShape, int] = {}
    found: dict[CommitSha, None] = {}
    progress.start("comparing files", len(commits))
    with repository.changes([Comparison(commit) for commit in commits], renames=False) as answers:
        for place, answer in enumerate(answers):
            progress.step(1)
            shape = _shape(answer.files)
            turned = tuple((path, _BACKWARDS.get(kind, kind)) for path, kind in shape)
            earlier = last.get(turned)
            if shape and earlier is not None and place - earlier <= WINDOW_COMMITS:
                found[commits[earlier]] = found[answer.commit] = None
            last[shape] = place
    return found


def _shape(files: Iterable[FileChange]) -> CommitShape:
    return tuple(sorted((file.path.raw, file.kind.value) for file in files))


def _diffs(repository: Repository, commits: Sequence[CommitSha], progress: Progress) -> Mapping[CommitSha, _Diff]:
    progress.start("comparing lines", len(commits))
    found: dict[CommitSha, _Diff] = {}
    with repository.diffs([Comparison(commit) for commit in commits], limits=LIMITS) as answers:
        for answer in answers:
            progress.step(1)
            found[answer.commit] = _Diff(
                _digest(_signs(answer.files, forwards=True)),
                _digest(_signs(answer.files, forwards=False)),
                sum(
                    has_word(line)
                    for file in answer.files
                    for hunk in file.hunks
                    for line in (*hunk.removed, *hunk.added)
                ),
            )
    return found


def _signs(files: Iterable[FileDiff], *, forwards: bool) -> Iterator[bytes]:
    """What a diff says, with lengths where two could run into each other."""
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


def _digest(signs: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for sign in signs:
        digest.update(b"%d " % len(sign))
        digest.update(sign)
    return digest.digest()


# Read from git what commits took back of earlier ones: four states of every file that the earlier one changed.


FILES_MAX = 2000
"""Of a commit that changed more files only so many are looked at."""
FILE_BYTES_MAX = 1 << 20
"""A larger file is compared as a whole."""
BINARY_BYTES = 8000
"""A zero byte among the first of them makes a file binary, as it does for git."""


@dataclass(frozen=True, slots=True)
class RevertPair:
    """A commit and the parent that it is compared with, and a later one that may have taken it back."""

    target: CommitSha
    parent: CommitSha | None
    by: CommitSha
    by_parent: CommitSha


def undone_by(repository: Repository, pairs: Sequence[RevertPair], progress: Progress) -> Iterator[UndoMeasure]:
    """What each pair's later commit took back of the earlier one, in their order."""
    progress.start("comparing commits", len(pairs))
    changed = _changed(repository, pairs)
    looked = [(pair, changed[pair.target, pair.parent]) for pair in pairs]
    found = repository.look_up(_names(looked))
    with repository.objects(FILE_BYTES_MAX) as objects:
        for _, changes in looked:
            yield sum((_undone(objects, file) for file in _files(changes, found)), UNDONE_NOTHING)
            progress.step(1)


def _changed(
    repository: Repository, pairs: Sequence[RevertPair]
) -> dict[tuple[CommitSha, CommitSha | None], tuple[FileChange, ...]]:
    wanted = list(dict.fromkeys((pair.target, pair.parent) for pair in pairs))
    with repository.changes([Comparison(*commits) for commits in wanted], renames=False) as answers:
        return {commits: answer.files[:FILES_MAX] for commits, answer in zip(wanted, answers, strict=True)}


def _names(looked: Iterable[tuple[RevertPair, Sequence[FileChange]]]) -> Iterator[FileAt]:
    """Every file of every pair before and after the later commit."""
    for pair, changes in looked:
        for change in changes:
            yield FileAt(pair.by_parent, change.path)
            yield FileAt(pair.by, change.path)


def _files(changes: Sequence[FileChange], infos: Iterator[ObjectInfo | NoObject]) -> Iterator[States[str | None]]:
    """The names of each file's four states; None where there is no file."""
    for change in changes:
        then, now = (None if isinstance(info, NoObject) else info.id for info in (next(infos), next(infos)))
        old, new = (None if side is None else side.blob for side in (change.old, change.new))
        yield States(old, new, then, now)


def _undone(objects: ObjectReader[Object], file: States[str | None]) -> UndoMeasure:
    texts = {name: _lines(objects, name) for name in set(file)}
    old, new, then, now = (texts[name] for name in file)
    if old is None or new is None or then is None or now is None:
        return undone_whole(file)
    # Lines that only changed places, or the space before them, are the same lines: then the whole file is compared.
    by_lines = undone_lines(States(old, new, then, now))
    return by_lines if by_lines.changed else undone_whole(file)


def _lines(objects: ObjectReader[Object], name: str | None) -> LineCounts | None:
    """The lines of a file; none of one that is not there, None of what has no lines."""
    if name is None:
        return {}
    found = objects.read(name)
    if isinstance(found, NoObject) or found.info.kind != "blob" or b"\0" in found.content[:BINARY_BYTES]:
        return None
    return lines_of(found.content)
