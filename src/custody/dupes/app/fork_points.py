"""Where branches left the main lines: the base of every change that is only known by its head. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from custody.core.ids import CommitSha

Graph = Mapping[CommitSha, Sequence[CommitSha]]
"""Commits with their parents."""


def main_line(graph: Graph, tips: Iterable[CommitSha]) -> dict[CommitSha, int]:
    """The commits that are reached from ``tips`` by first parents, each with how far it is from the beginning."""
    found: dict[CommitSha, int] = {}
    for tip in tips:
        path: list[CommitSha] = []
        commit: CommitSha | None = tip
        while commit is not None and commit not in found:
            path.append(commit)
            commit = next(iter(graph.get(commit, ())), None)
        below = -1 if commit is None else found[commit]
        found.update((sha, below + place) for place, sha in enumerate(reversed(path), 1))
    return found


def fork_of(graph: Graph, line: Mapping[CommitSha, int], head: CommitSha) -> CommitSha | None:
    """The commit of the main line that ``head`` is compared with; None where they have nothing in common.

    It is the newest one that a way from ``head`` meets first: what was merged into a branch from the main line is no
    part of its change. A head that is itself on the line is compared with its parent.
    """
    if head in line:
        return next(iter(graph.get(head, ())), None)
    seen = {head}
    open_ends = [head]
    met: set[CommitSha] = set()
    while open_ends:
        for parent in graph.get(open_ends.pop(), ()):
            if parent in line:
                met.add(parent)
            elif parent not in seen:
                seen.add(parent)
                open_ends.append(parent)
    return max(met, key=lambda sha: (line[sha], sha), default=None)


def own_commits(graph: Graph, base: CommitSha, head: CommitSha, most: int) -> list[CommitSha]:
    """The commits from ``head`` down to ``base`` by first parents, at most so many, the newest first."""
    found: list[CommitSha] = []
    commit: CommitSha | None = head
    while commit is not None and commit != base and len(found) < most:
        found.append(commit)
        commit = next(iter(graph.get(commit, ())), None)
    return found
