"""Which changes are to be indexed: branches and pull requests by their refs, ranges as typed, landed commits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import matches
from custody.dupes.app.change_reader import COMMITS_READ_MAX, NO_COMMIT, ChangeRef
from custody.dupes.model import ChangeRow
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.git import NoObject, Repository, Walk
from custody.store import Store
from custody.workspace.workspace import Workspace

# Find an indexed change by its ref, the number of its pull request, or its head.


DIGITS_MIN = 4


class UnknownChange(InputError):
    """A name that no indexed change has, or more than one."""


def find_change(workspace: Workspace, typed: str) -> ChangeRow:
    """The indexed change with this name; see ``find_indexed_change``."""
    with workspace.reading() as store:
        return find_indexed_change(store, typed)


def find_indexed_change(store: Store, typed: str) -> ChangeRow:
    """The indexed change with this name, or whose head starts with these digits; the newest of several with a name.

    ``#12`` and ``12`` stand for the pull request with this number.
    """
    number = typed.removeprefix("#")
    names = [typed, f"refs/heads/{typed}", f"refs/remotes/{typed}"]
    if number.isdecimal():
        names += [f"refs/pull/{number}/head", f"refs/merge-requests/{number}/head"]
    tables = DupesTables(store)
    for name in names:
        if rows := tables.by_name(name):
            return rows[-1]
    rows = tables.by_head(typed.lower()) if _is_start(typed) else []
    if not rows:
        raise UnknownChange(
            f"no indexed change is called '{typed}'", hint="name a ref, a pull request or its head commit"
        )
    if len({row.head for row in rows}) > 1:
        raise UnknownChange(f"'{typed}' fits {len(rows)} changes", hint="give more digits")
    return rows[-1]


def _is_start(typed: str) -> bool:
    return len(typed) >= DIGITS_MIN and set(typed.lower()) <= set("0123456789abcdef")


# Where branches left the main lines: the base of every change that is only known by its head. Pure.


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


REFS = ("refs/heads/**", "refs/remotes/**", "refs/pull/*/head", "refs/merge-requests/*/head")
"""Where changes are known from, unless the caller names others."""
_WILD = "*?"
_VERSION = re.compile(r"v?\d+(?:\.(?:\d+|x))*")


@dataclass(frozen=True, slots=True)
class ChangeSelection:
    """The changes, oldest first as far as their order is known, and the refs that name none."""

    asked: tuple[ChangeRef, ...]
    unread: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Tip:
    name: str
    sha: CommitSha


def changes_in(
    repository: Repository, patterns: Sequence[str], rules: DedupeRules, *, commits: bool
) -> ChangeSelection:
    """Every change that refs name, and with ``commits`` every commit that landed on the main line."""
    tips, unread = _tips(repository, patterns)
    mains = _main_tips(repository, rules)
    graph = graph_of(repository, [tip.sha for tip in (*mains, *tips)])
    line = main_line(graph, (tip.sha for tip in mains))
    landed = list(_landed(repository, graph, mains)) if commits else []
    names = {tip.sha for tip in mains}
    branches = [asked for tip in tips if tip.sha not in names and (asked := _branch(tip, graph, line)) is not None]
    return ChangeSelection((*landed, *branches), tuple(unread))


def typed_changes(repository: Repository, ranges: Iterable[str]) -> tuple[ChangeRef, ...]:
    """Changes as they are typed: ``BASE..HEAD``, or a commit, which is compared with its parent."""
    return tuple(typed_change(repository, typed) for typed in ranges)


def typed_change(repository: Repository, typed: str) -> ChangeRef:
    """One such change; two dots mean the same as three: what the base got meanwhile is no part of it."""
    base, dots, head = typed.partition("..")
    if not dots:
        sha = repository.resolve(typed)
        with repository.log([sha], walk=Walk(count_max=1)) as commits:
            (commit,) = commits
        return ChangeRef(base=next(iter(commit.parents), NO_COMMIT), head=sha, name=typed, commits=(sha,))
    if not base:
        raise InputError(f"'{typed}' has no base", hint="say where the change starts: BASE..HEAD")
    start, end = repository.resolve(base), repository.resolve(head.removeprefix(".") or "HEAD")
    graph = graph_of(repository, [start, end])
    below = dict.fromkeys(_reached(graph, start), 0)
    line = below | main_line(graph, [start])
    fork = start if end in line else fork_of(graph, line, end) or start
    own = tuple(own_commits(graph, fork, end, COMMITS_READ_MAX))
    return ChangeRef(base=fork, head=end, name=typed, commits=own, onto=start)


def own_commits_of(repository: Repository, base: CommitSha, head: CommitSha) -> tuple[CommitSha, ...]:
    """The commits of a change, the newest first."""
    return tuple(own_commits(graph_of(repository, [head]), base, head, COMMITS_READ_MAX))


def _tips(repository: Repository, patterns: Sequence[str]) -> tuple[list[_Tip], list[tuple[str, str]]]:
    """The refs that match, each commit once: a branch and its remote copy are one change."""
    found: dict[CommitSha, _Tip] = {}
    for pattern in patterns:
        for name, sha in _refs(repository, pattern):
            found.setdefault(sha, _Tip(name, sha))
    named = list(found.values())
    here = list(repository.look_up([tip.sha for tip in named]))
    tips = [
        tip for tip, info in zip(named, here, strict=True) if not isinstance(info, NoObject) and info.kind == "commit"
    ]
    gone = [(tip.name, info.reason) for tip, info in zip(named, here, strict=True) if isinstance(info, NoObject)]
    return tips, gone


def _refs(repository: Repository, pattern: str) -> Iterator[tuple[str, CommitSha]]:
    if not pattern.startswith("refs/"):
        raise InputError(f"'{pattern}' is no pattern of refs", hint="for example 'refs/pull/*/head'")
    fixed = pattern[: min((at for sign in _WILD if (at := pattern.find(sign)) >= 0), default=len(pattern))]
    with repository.refs(fixed[: fixed.rindex("/") + 1]) as refs:
        for ref in refs:
            name = ref.name.decode("utf-8", "surrogateescape")
            if matches(pattern, name):
                yield name, CommitSha(ref.id)


def landing_tip(repository: Repository, rules: DedupeRules) -> CommitSha | None:
    """The tip of the line that changes land on: HEAD's if that is such a line, else the first branch that is one."""
    tips = _main_tips(repository, rules)
    named = [tip for tip in tips if _is_main(_branch_name(tip.name), rules)]
    return next((tip.sha for tip in named or tips), None)


def _main_tips(repository: Repository, rules: DedupeRules) -> list[_Tip]:
    """HEAD's branch first, then the others that changes land on."""
    head = repository.head()
    first = [] if head.commit is None else [_Tip((head.branch or b"HEAD").decode("utf-8", "replace"), head.commit)]
    tips, _ = _tips(repository, ("refs/heads/**", "refs/remotes/**"))
    return first + [tip for tip in tips if _is_main(_branch_name(tip.name), rules)]


def _is_main(branch: str, rules: DedupeRules) -> bool:
    return bool(_VERSION.fullmatch(branch)) or any(matches(pattern, branch) for pattern in rules.main_branches)


def _branch_name(ref: str) -> str:
    """What a branch is called where it lives: without ``refs/heads/`` or ``refs/remotes/NAME/``."""
    if ref.startswith("refs/remotes/"):
        return ref.split("/", 3)[-1]
    return ref.removeprefix("refs/heads/")


def graph_of(repository: Repository, tips: Iterable[CommitSha]) -> Graph:
    """Every commit below ``tips``; where one of them has lost its history, each is walked by itself."""
    wanted = list(dict.fromkeys(tips))
    try:
        with repository.parents(wanted) as answers:
            return dict(answers)
    except GitError:
        graph: dict[CommitSha, Sequence[CommitSha]] = {}
        for tip in wanted:
            graph.update(_walked(repository, tip))
        return graph


def _walked(repository: Repository, tip: CommitSha) -> dict[CommitSha, Sequence[CommitSha]]:
    found: dict[CommitSha, Sequence[CommitSha]] = {}
    try:
        with repository.parents([tip]) as answers:
            for sha, parents in answers:
                found[sha] = parents  # noqa: PERF403 - what was walked before an error is kept
    except GitError:
        pass  # what was walked until then is what there is
    return found


def _reached(graph: Graph, start: CommitSha) -> Iterator[CommitSha]:
    seen = {start}
    open_ends = [start]
    while open_ends:
        commit = open_ends.pop()
        yield commit
        fresh = [parent for parent in graph.get(commit, ()) if parent not in seen]
        seen.update(fresh)
        open_ends.extend(fresh)


def _landed(repository: Repository, graph: Graph, mains: Sequence[_Tip]) -> Iterator[ChangeRef]:
    """The commits of the first main line, oldest first."""
    line = main_line(graph, [tip.sha for tip in mains[:1]])
    for sha in sorted(line, key=lambda commit_sha: line[commit_sha]):
        base = next(iter(graph.get(sha, ())), NO_COMMIT)
        yield ChangeRef(base=base, head=sha, commits=(sha,), on_main=True)


def _branch(tip: _Tip, graph: Graph, line: Mapping[CommitSha, int]) -> ChangeRef | None:
    fork = fork_of(graph, line, tip.sha)
    if fork is None:
        return None
    commits = tuple(own_commits(graph, fork, tip.sha, COMMITS_READ_MAX))
    return ChangeRef(base=fork, head=tip.sha, name=tip.name, commits=commits or (tip.sha,), on_main=tip.sha in line)
