"""Selection of changes: branches and pull requests by their refs, ranges, commits of main."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import matches_path_pattern
from custody.core.patterns import lazy_pattern
from custody.dupes.app.change_reader import COMMITS_READ_MAX, ChangeRef
from custody.dupes.model import NO_COMMIT, ChangeRow
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.git import NoObject, Repository, Walk
from custody.store import Store
from custody.workspace.workspace import Workspace

DIGITS_MIN = 4


class UnknownChange(InputError):
    """A name that fits no indexed change, or several."""


def find_change_by_name(workspace: Workspace, name: str) -> ChangeRow:
    """Return the indexed change with this name; see ``find_indexed_change``."""
    with workspace.reading() as store:
        return find_indexed_change(store, name)


def find_indexed_change(store: Store, typed: str) -> ChangeRow:
    """Return the newest indexed change with this ref, or the change whose head starts with these digits.

    ``#12`` and ``12`` name the pull request with this number.
    """
    number = typed.removeprefix("#")
    names = [typed, f"refs/heads/{typed}", f"refs/remotes/{typed}"]
    if number.isdecimal():
        names += [f"refs/pull/{number}/head", f"refs/merge-requests/{number}/head"]
    tables = DupesTables(store)
    for name in names:
        if rows := tables.list_changes_by_name(name):
            return rows[-1]
    rows = tables.list_changes_by_head(typed.lower()) if _is_head_prefix(typed) else []
    if not rows:
        raise UnknownChange(f"unknown change '{typed}'", hint="name an indexed ref, pull request or head commit")
    if len({row.head for row in rows}) > 1:
        raise UnknownChange(f"ambiguous change '{typed}': {len(rows)} changes match", hint="type more digits")
    return rows[-1]


def _is_head_prefix(typed: str) -> bool:
    return len(typed) >= DIGITS_MIN and set(typed.lower()) <= set("0123456789abcdef")


# Where branches forked from main: the base of every change that is known by its head only. Pure.


Graph = Mapping[CommitSha, Sequence[CommitSha]]
"""Commits with their parents."""


def order_main_line_commits(graph: Graph, tips: Iterable[CommitSha]) -> dict[CommitSha, int]:
    """Return the commits reachable from ``tips`` by first parents, each with its distance from the root."""
    order: dict[CommitSha, int] = {}
    for tip in tips:
        path: list[CommitSha] = []
        commit: CommitSha | None = tip
        while commit is not None and commit not in order:
            path.append(commit)
            commit = next(iter(graph.get(commit, ())), None)
        below = -1 if commit is None else order[commit]
        order.update((sha, below + distance) for distance, sha in enumerate(reversed(path), 1))
    return order


def find_change_fork(graph: Graph, line: Mapping[CommitSha, int], head: CommitSha) -> CommitSha | None:
    """Return the commit of the main line to compare ``head`` with; None if they share no history.

    It is the newest commit of the line where a path from ``head`` first meets it, so what was merged from main into a
    branch does not count as its change. A head on the line is compared with its parent.
    """
    if head in line:
        return next(iter(graph.get(head, ())), None)
    visited = {head}
    open_ends = [head]
    met: set[CommitSha] = set()
    while open_ends:
        for parent in graph.get(open_ends.pop(), ()):
            if parent in line:
                met.add(parent)
            elif parent not in visited:
                visited.add(parent)
                open_ends.append(parent)
    return max(met, key=lambda sha: (line[sha], sha), default=None)


def list_change_commits(graph: Graph, base: CommitSha, head: CommitSha, limit: int) -> list[CommitSha]:
    """Return the commits from ``head`` down to ``base`` by first parents, newest first, at most ``limit``."""
    commits: list[CommitSha] = []
    commit: CommitSha | None = head
    while commit is not None and commit != base and len(commits) < limit:
        commits.append(commit)
        commit = next(iter(graph.get(commit, ())), None)
    return commits


REFS = ("refs/heads/**", "refs/remotes/**", "refs/pull/*/head", "refs/merge-requests/*/head")
"""The refs that are indexed by default."""
_WILD = "*?"
_VERSION = lazy_pattern(r"v?\d+(?:\.(?:\d+|x))*")


class ChangeSelection(Struct, frozen=True):
    """Changes, oldest first as far as known, and the refs that could not be read, with the reasons."""

    changes: tuple[ChangeRef, ...]
    unread: tuple[tuple[str, str], ...]


class _Tip(Struct, frozen=True):
    name: str
    sha: CommitSha


def select_changes(
    repository: Repository, patterns: Sequence[str], rules: DedupeRules, *, commits: bool
) -> ChangeSelection:
    """Select every change that refs name, and with ``commits`` every commit of the main line."""
    tips, unread = _find_change_tips(repository, patterns)
    mains = _find_main_tips(repository, rules)
    graph = read_change_ancestry(repository, [tip.sha for tip in (*mains, *tips)])
    line = order_main_line_commits(graph, (tip.sha for tip in mains))
    merged = list(_select_merged_changes(repository, graph, mains)) if commits else []
    main_heads = {tip.sha for tip in mains}
    refs = (_change_ref_from_tip(tip, graph, line) for tip in tips if tip.sha not in main_heads)
    branches = [ref for ref in refs if ref is not None]
    return ChangeSelection((*merged, *branches), tuple(unread))


def resolve_change_refs(repository: Repository, ranges: Iterable[str]) -> tuple[ChangeRef, ...]:
    """Resolve changes given as ``BASE..HEAD``, or as a commit, which is compared with its parent."""
    return tuple(resolve_change_ref(repository, typed) for typed in ranges)


def resolve_change_ref(repository: Repository, typed: str) -> ChangeRef:
    """Resolve a change; two dots mean the same as three, so later commits of the base do not count."""
    base, dots, head = typed.partition("..")
    if not dots:
        sha = repository.resolve(typed)
        with repository.log([sha], walk=Walk(count_max=1)) as log:
            (commit,) = log
        return ChangeRef(base=next(iter(commit.parents), NO_COMMIT), head=sha, name=typed, commits=(sha,))
    if not base:
        raise InputError(f"missing base in '{typed}'", hint="write BASE..HEAD")
    start, end = repository.resolve(base), repository.resolve(head.removeprefix(".") or "HEAD")
    graph = read_change_ancestry(repository, [start, end])
    below = dict.fromkeys(_list_change_ancestors(graph, start), 0)
    line = below | order_main_line_commits(graph, [start])
    fork = start if end in line else find_change_fork(graph, line, end) or start
    commits = tuple(list_change_commits(graph, fork, end, COMMITS_READ_MAX))
    return ChangeRef(base=fork, head=end, name=typed, commits=commits, onto=start)


def read_change_commits(repository: Repository, base: CommitSha, head: CommitSha) -> tuple[CommitSha, ...]:
    """Return the commits of a change, newest first."""
    return tuple(list_change_commits(read_change_ancestry(repository, [head]), base, head, COMMITS_READ_MAX))


def _find_change_tips(repository: Repository, patterns: Sequence[str]) -> tuple[list[_Tip], list[tuple[str, str]]]:
    """Return the tips of the matching refs, each commit once, and the refs whose object is missing.

    A branch and its remote copy are one change.
    """
    by_sha: dict[CommitSha, _Tip] = {}
    for pattern in patterns:
        for name, sha in _match_change_refs(repository, pattern):
            by_sha.setdefault(sha, _Tip(name, sha))
    pairs = list(zip(by_sha.values(), repository.look_up(list(by_sha)), strict=True))
    tips = [tip for tip, info in pairs if not isinstance(info, NoObject) and info.kind == "commit"]
    missing = [(tip.name, info.reason) for tip, info in pairs if isinstance(info, NoObject)]
    return tips, missing


def _match_change_refs(repository: Repository, pattern: str) -> Iterator[tuple[str, CommitSha]]:
    if not pattern.startswith("refs/"):
        raise InputError(f"invalid ref pattern '{pattern}'", hint="write for example 'refs/pull/*/head'")
    fixed = pattern[: min((at for wildcard in _WILD if (at := pattern.find(wildcard)) >= 0), default=len(pattern))]
    with repository.refs(fixed[: fixed.rindex("/") + 1]) as refs:
        for ref in refs:
            name = ref.name.decode("utf-8", "surrogateescape")
            if matches_path_pattern(pattern, name):
                yield name, CommitSha(ref.id)


def find_main_branch_tip(repository: Repository, rules: DedupeRules) -> CommitSha | None:
    """Return the tip of the first main branch, preferably HEAD's; HEAD without one; None without commits."""
    tips = _find_main_tips(repository, rules)
    main = [tip for tip in tips if _is_main_branch(_branch_name_from_ref(tip.name), rules)]
    return next((tip.sha for tip in main or tips), None)


def _find_main_tips(repository: Repository, rules: DedupeRules) -> list[_Tip]:
    """Return HEAD first, then the main branches."""
    head = repository.head()
    first = [] if head.commit is None else [_Tip((head.branch or b"HEAD").decode("utf-8", "replace"), head.commit)]
    tips, _ = _find_change_tips(repository, ("refs/heads/**", "refs/remotes/**"))
    return first + [tip for tip in tips if _is_main_branch(_branch_name_from_ref(tip.name), rules)]


def _is_main_branch(branch: str, rules: DedupeRules) -> bool:
    return bool(_VERSION.fullmatch(branch)) or any(
        matches_path_pattern(pattern, branch) for pattern in rules.main_branches
    )


def _branch_name_from_ref(ref: str) -> str:
    """Return the name of a branch without ``refs/heads/`` or ``refs/remotes/NAME/``."""
    if ref.startswith("refs/remotes/"):
        return ref.split("/", 3)[-1]
    return ref.removeprefix("refs/heads/")


def read_change_ancestry(repository: Repository, tips: Iterable[CommitSha]) -> Graph:
    """Return every ancestor of ``tips``; if one has lost its history, walk each tip separately."""
    unique = list(dict.fromkeys(tips))
    try:
        with repository.parents(unique) as rows:
            return dict(rows)
    except GitError:
        graph: dict[CommitSha, Sequence[CommitSha]] = {}
        for tip in unique:
            graph.update(_walk_change_ancestry(repository, tip))
        return graph


def _walk_change_ancestry(repository: Repository, tip: CommitSha) -> dict[CommitSha, Sequence[CommitSha]]:
    graph: dict[CommitSha, Sequence[CommitSha]] = {}
    try:
        with repository.parents([tip]) as rows:
            for sha, parents in rows:
                graph[sha] = parents  # noqa: PERF403 - keeps the commits that were walked before an error
    except GitError:
        pass  # the history up to the damage is still useful
    return graph


def _list_change_ancestors(graph: Graph, start: CommitSha) -> Iterator[CommitSha]:
    visited = {start}
    open_ends = [start]
    while open_ends:
        commit = open_ends.pop()
        yield commit
        fresh = [parent for parent in graph.get(commit, ()) if parent not in visited]
        visited.update(fresh)
        open_ends.extend(fresh)


def _select_merged_changes(repository: Repository, graph: Graph, mains: Sequence[_Tip]) -> Iterator[ChangeRef]:
    """Yield the commits of the first main line, oldest first."""
    line = order_main_line_commits(graph, [tip.sha for tip in mains[:1]])
    for sha in sorted(line, key=lambda commit_sha: line[commit_sha]):
        base = next(iter(graph.get(sha, ())), NO_COMMIT)
        yield ChangeRef(base=base, head=sha, commits=(sha,), on_main=True)


def _change_ref_from_tip(tip: _Tip, graph: Graph, line: Mapping[CommitSha, int]) -> ChangeRef | None:
    fork = find_change_fork(graph, line, tip.sha)
    if fork is None:
        return None
    commits = tuple(list_change_commits(graph, fork, tip.sha, COMMITS_READ_MAX))
    return ChangeRef(base=fork, head=tip.sha, name=tip.name, commits=commits or (tip.sha,), on_main=tip.sha in line)
