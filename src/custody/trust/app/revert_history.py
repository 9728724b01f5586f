"""The commits that reverts are looked for in: what each says, what it descends from, and with what it landed."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

from custody.core.ids import CommitSha
from custody.git import Commit, Repository, Walk
from custody.trust.revert_words import Claim, claims_in, number_of
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
