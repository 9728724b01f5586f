"""The history of a repository: where changes left a main line, when they came to it, and which commits are theirs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from custody.core.ids import CommitSha

Graph = Mapping[CommitSha, Sequence[CommitSha]]
"""Commits with their parents, children first."""

_NEVER = float("inf")


class ChangeHistory:
    """Commits and the main lines among them.

    A main line is a tip with its first parents. Every other commit that a line reaches has *arrived* with the commit of
    the line that first reaches it: with the merge of a branch, all commits of the branch arrive.
    """

    def __init__(self, graph: Graph, tips: Iterable[CommitSha]) -> None:
        self._graph = graph
        self._line: dict[CommitSha, int] = {}
        self._arrived: dict[CommitSha, CommitSha] = {}
        self._owner: dict[CommitSha, CommitSha] = {}
        for tip in tips:
            path = _extend_main_line(graph, self._line, tip)
            self._owner.update(dict.fromkeys(path, tip))
            _find_arrivals(graph, path, self._line, self._arrived)

    @property
    def line(self) -> Mapping[CommitSha, int]:
        """The commits of the main lines, each with its distance from the root."""
        return self._line

    @cached_property
    def _places(self) -> Mapping[CommitSha, int]:
        return {sha: place for place, sha in enumerate(self._graph)}

    def find_arrival(self, commit: CommitSha) -> CommitSha | None:
        """Return the commit of a main line with which ``commit`` arrived; None if it has not arrived."""
        return commit if commit in self._line else self._arrived.get(commit)

    def find_line(self, commit: CommitSha) -> CommitSha | None:
        """Return the first tip that reaches ``commit``; None if there is none."""
        arrival = self.find_arrival(commit)
        return None if arrival is None else self._owner[arrival]

    def find_fork(self, head: CommitSha) -> CommitSha | None:
        """Return the commit to compare ``head`` with; None if it shares no history with a main line.

        It is the merge base: the newest commit below ``head`` that was on a main line when ``head`` arrived, or is now
        if it has not arrived. What was merged from main into a branch is not its change. A commit of a line is
        compared with its parent.
        """
        if head in self._line:
            return next(iter(self._graph.get(head, ())), None)
        is_below = self._make_below_test(head)
        met = {parent for sha in self._walk(head, is_below) for parent in self._graph.get(sha, ()) if is_below(parent)}
        on_line = max((sha for sha in met if sha in self._line), key=self._rank, default=None)
        beside = max((sha for sha in met if sha not in self._line), key=self._rank, default=None)
        if beside is None or (on_line is not None and self._arrival_order(beside) <= self._arrival_order(on_line)):
            return on_line
        # A branch that also merged main later: what main has must not count as its change.
        return beside if on_line is None or self._reaches(beside, on_line) else on_line

    def list_own_commits(self, head: CommitSha, limit: int) -> list[CommitSha]:
        """Return the commits of a change, newest first, at most ``limit``; the last one is its first commit."""
        if head in self._line:
            return [head]
        is_below = self._make_below_test(head)
        own = sorted(self._walk(head, is_below), key=lambda sha: self._places.get(sha, 0))
        return order_own_commits(self._graph, own, head, limit)

    def _make_below_test(self, head: CommitSha) -> Callable[[CommitSha], bool]:
        """Return the test of whether a commit was on main before ``head`` arrived."""
        until = self._arrival_order(head)
        return lambda sha: self._arrival_order(sha) < until

    def _arrival_order(self, commit: CommitSha) -> float:
        arrival = self.find_arrival(commit)
        return _NEVER if arrival is None else self._line[arrival]

    def _rank(self, commit: CommitSha) -> tuple[float, CommitSha]:
        return self._arrival_order(commit), commit

    def _walk(self, head: CommitSha, is_below: Callable[[CommitSha], bool]) -> Iterator[CommitSha]:
        visited, open_ends = {head}, [head]
        while open_ends:
            commit = open_ends.pop()
            yield commit
            fresh = [sha for sha in self._graph.get(commit, ()) if sha not in visited and not is_below(sha)]
            visited.update(fresh)
            open_ends.extend(fresh)

    def _reaches(self, start: CommitSha, target: CommitSha) -> bool:
        least = self._line[target]
        visited, open_ends = {start}, [start]
        while open_ends:
            commit = open_ends.pop()
            if commit == target:
                return True
            fresh = [
                sha for sha in self._graph.get(commit, ()) if sha not in visited and self._arrival_order(sha) >= least
            ]
            visited.update(fresh)
            open_ends.extend(fresh)
        return False


def order_own_commits(graph: Graph, own: Sequence[CommitSha], head: CommitSha, limit: int) -> list[CommitSha]:
    """Return ``own`` commits with ``head`` first and the first commit of the change last, at most ``limit``.

    The first commit is the oldest by first parents, merges left out: a merge from main has no title of its own. Of too
    many commits, those with the smallest ids are chosen, so that branches with common commits have some of them.
    """
    mine = set(own)
    first, commit = head, next(iter(graph.get(head, ())), None)
    while commit is not None and commit in mine:
        if len(graph.get(commit, ())) < 2:
            first = commit
        commit = next(iter(graph.get(commit, ())), None)
    between = [sha for sha in own if sha not in (head, first)]
    if len(between) > limit - 2:
        sample = set(sorted(between)[: max(0, limit - 2)])
        between = [sha for sha in between if sha in sample]
    return [*dict.fromkeys((head, *between, first))]


def _extend_main_line(graph: Graph, line: dict[CommitSha, int], tip: CommitSha) -> list[CommitSha]:
    """Add the first parents of ``tip`` to the lines, each with its distance from the root; return the new ones."""
    path: list[CommitSha] = []
    commit: CommitSha | None = tip
    while commit is not None and commit not in line:
        path.append(commit)
        commit = next(iter(graph.get(commit, ())), None)
    below = -1 if commit is None else line[commit]
    path.reverse()
    line.update((sha, below + distance) for distance, sha in enumerate(path, 1))
    return path


def _find_arrivals(
    graph: Graph, path: Iterable[CommitSha], line: Mapping[CommitSha, int], arrived: dict[CommitSha, CommitSha]
) -> None:
    """Add the commits beside a line with the commit of the line that first reaches each; ``path`` is oldest first."""
    for merge in path:
        open_ends = [sha for sha in graph.get(merge, ())[1:] if sha not in line and sha not in arrived]
        while open_ends:
            commit = open_ends.pop()
            if commit in arrived:
                continue
            arrived[commit] = merge
            open_ends.extend(sha for sha in graph.get(commit, ()) if sha not in line and sha not in arrived)
