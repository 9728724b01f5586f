"""Commits that undo an earlier one without a word: their diff is the earlier one's backwards, line for line."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.core.ids import CommitSha
from custody.git import Comparison, FileChange, FileDiff, HunkDetail, PatchLimits, Repository
from custody.trust.rules import TrustRules
from custody.trust.undo_check import has_word
from custody.workspace.workspace import Progress

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
