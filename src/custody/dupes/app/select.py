"""Selection of changes: branches and pull requests by their refs, ranges, commits of main."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import matches_path_pattern
from custody.core.patterns import lazy_pattern
from custody.core.structs import hash_struct
from custody.dupes.app.change_reader import COMMITS_READ_MAX, OWN, ChangeRef
from custody.dupes.history import ChangeHistory, Graph, order_own_commits
from custody.dupes.model import NO_COMMIT, ChangeRow
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.git import Ancestry, NoObject, Repository, Walk
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
        if rows := tables.find_named(OWN, name) or tables.list_changes_by_name(name):
            return rows[-1]
    rows = tables.list_changes_by_head(typed.lower()) if _is_head_prefix(typed) else []
    if not rows:
        raise UnknownChange(f"unknown change '{typed}'", hint="name an indexed ref, pull request or head commit")
    if len({row.head for row in rows}) > 1:
        raise UnknownChange(f"ambiguous change '{typed}': {len(rows)} changes match", hint="type more digits")
    return rows[-1]


def _is_head_prefix(typed: str) -> bool:
    return len(typed) >= DIGITS_MIN and set(typed.lower()) <= set("0123456789abcdef")


REFS = ("refs/heads/**", "refs/remotes/**", "refs/pull/*/head", "refs/merge-requests/*/head")
"""The refs that are indexed by default."""
_WILD = "*?"
_VERSION = lazy_pattern(r"v?\d+(?:\.(?:\d+|x))*")


class ChangeSelection(Struct, frozen=True):
    """Changes, oldest first as far as known, with their names, and the refs that could not be read, with the reasons.

    ``names`` has the head of every ref that names a change: several refs may name the same change. ``merges`` has the
    commit of main that merged each head. ``patterns`` are those of the refs, ``unmatched`` those without any ref.
    """

    changes: tuple[ChangeRef, ...]
    unread: tuple[tuple[str, str], ...] = ()
    unmatched: tuple[str, ...] = ()
    names: Mapping[str, CommitSha] = MappingProxyType({})
    merges: Mapping[CommitSha, CommitSha] = MappingProxyType({})
    patterns: tuple[str, ...] = ()

    def covers(self, ref: str) -> bool:
        """Return whether a ref with this name would have been selected."""
        return any(matches_path_pattern(pattern, ref) for pattern in self.patterns)

    def __hash__(self) -> int:
        return hash_struct(self, but=("names", "merges"))


class _Tip(Struct, frozen=True):
    name: str
    sha: CommitSha


def select_changes(
    repository: Repository, patterns: Sequence[str], rules: DedupeRules, *, commits: bool
) -> ChangeSelection:
    """Select every change that refs name, and with ``commits`` every commit of the main line."""
    tips, unread = _find_change_tips(repository, patterns)
    mains = _find_main_tips(repository, rules)
    unique = list(dict.fromkeys(tip.sha for tip in tips))
    history = ChangeHistory(
        read_change_ancestry(repository, [*(tip.sha for tip in mains), *unique]), (t.sha for t in mains)
    )
    merged = list(_select_merged_changes(history, repository, mains)) if commits else []
    main_names = {tip.name for tip in mains}
    seen = {*(tip.name for tip in tips), *(name for name, _ in unread)}
    names = {tip.name: tip.sha for tip in tips if tip.name not in main_names}
    branches_by_tip = _name_main_branches(mains)
    refs = {
        sha: _change_ref_from_tip(_Tip(name, sha), history, branches_by_tip) for name, sha in reversed(names.items())
    }
    branches = [ref for sha in unique if (ref := refs.get(sha)) is not None]
    found = {ref.head for ref in branches}
    return ChangeSelection(
        (*merged, *branches),
        tuple(unread),
        tuple(pattern for pattern in patterns if not any(matches_path_pattern(pattern, name) for name in seen)),
        {name: sha for name, sha in names.items() if sha in found},
        {ref.head: ref.merged for ref in branches if ref.merged},
        tuple(patterns),
    )


def resolve_change_refs(repository: Repository, ranges: Iterable[str]) -> tuple[ChangeRef, ...]:
    """Resolve changes given as ``BASE..HEAD``, or as a commit, which is compared with its parent."""
    return tuple(resolve_change_ref(repository, typed) for typed in ranges)


def resolve_change_ref(repository: Repository, typed: str) -> ChangeRef:
    """Resolve a change; two dots mean the same as three, so later commits of the base do not count.

    A head that the base already contains is compared with its base at the time when it was merged.
    """
    base, dots, head = typed.partition("..")
    if not dots:
        sha = repository.resolve(typed)
        with repository.log([sha], walk=Walk(count_max=1)) as log:
            (commit,) = log
        return ChangeRef(base=next(iter(commit.parents), NO_COMMIT), head=sha, name=typed, commits=(sha,))
    if not base:
        raise InputError(f"missing base in '{typed}'", hint="write BASE..HEAD")
    start, end = repository.resolve(base), repository.resolve(head.removeprefix(".") or "HEAD")
    if start == end:
        return ChangeRef(base=start, head=end, name=typed, commits=(end,), onto=start)
    own = _read_own_parents(repository, start, end)
    outside = {parent for parents in own.values() for parent in parents if parent not in own}
    if own and (start in outside or len(outside) <= 1):
        fork = start if start in outside else next(iter(outside), start)
        commits = order_own_commits(own, list(own), end, COMMITS_READ_MAX)
    else:
        history = ChangeHistory(read_change_ancestry(repository, [start, end]), [start])
        fork = history.find_fork(end) or start
        commits = history.list_own_commits(end, COMMITS_READ_MAX)
    return ChangeRef(base=fork, head=end, name=typed, commits=tuple(commits), onto=start)


def read_change_commits(repository: Repository, base: CommitSha, head: CommitSha) -> tuple[CommitSha, ...]:
    """Return the commits of a change, newest first; the last one is its first commit."""
    own = _read_own_parents(repository, base, head)
    return tuple(order_own_commits(own, list(own), head, COMMITS_READ_MAX)) if own else (head,)


def _read_own_parents(repository: Repository, base: CommitSha, head: CommitSha) -> dict[CommitSha, Sequence[CommitSha]]:
    """Return the commits that ``head`` has and ``base`` lacks, with their parents; as far as they can be read."""
    own: dict[CommitSha, Sequence[CommitSha]] = {}
    try:
        with repository.log([head], walk=Walk(without=[base] if base else ())) as log:
            for commit in log:
                own[commit.id] = commit.parents
    except GitError:
        pass  # a lost history has the commits above the damage
    return own


def list_names_at(repository: Repository, head: CommitSha) -> frozenset[str]:
    """Return the refs that name a commit."""
    with repository.refs() as refs:
        return frozenset(_decode_ref(ref.name) for ref in refs if ref.id == head)


def _find_change_tips(repository: Repository, patterns: Sequence[str]) -> tuple[list[_Tip], list[tuple[str, str]]]:
    """Return the matching refs with their commits, and the refs whose object is missing."""
    refs = _read_change_refs(repository, patterns)
    found: dict[str, CommitSha] = {}
    for pattern in patterns:
        found.update((name, sha) for name, sha in refs.items() if matches_path_pattern(pattern, name))
    tips = [_Tip(name, sha) for name, sha in found.items()]
    pairs = list(zip(tips, repository.look_up([tip.sha for tip in tips]), strict=True))
    commits = [tip for tip, info in pairs if not isinstance(info, NoObject) and info.kind == "commit"]
    missing = [(tip.name, info.reason) for tip, info in pairs if isinstance(info, NoObject)]
    return commits, missing


def _read_change_refs(repository: Repository, patterns: Sequence[str]) -> dict[str, CommitSha]:
    """Return the refs that may match one of these patterns, by name."""
    prefixes = sorted({_fixed_ref_prefix(pattern) for pattern in patterns})
    if not prefixes:
        return {}
    with repository.refs(*prefixes) as refs:
        return {_decode_ref(ref.name): CommitSha(ref.id) for ref in refs}


def _fixed_ref_prefix(pattern: str) -> str:
    if not pattern.startswith("refs/"):
        raise InputError(f"invalid ref pattern '{pattern}'", hint="write for example 'refs/pull/*/head'")
    fixed = pattern[: min((at for wildcard in _WILD if (at := pattern.find(wildcard)) >= 0), default=len(pattern))]
    return fixed[: fixed.rindex("/") + 1]


def _decode_ref(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


class MainBranches(Struct, frozen=True):
    """The main branches by name with their tips, the default branch first."""

    tips: Mapping[str, CommitSha]

    @property
    def trunk(self) -> str:
        """The name of the default branch; empty without commits."""
        return next(iter(self.tips), "")

    def find_targets(self, repository: Repository, points: Iterable[CommitSha]) -> dict[CommitSha, str]:
        """Return the branch that each point belongs to: the branch with this tip, else the first that has it."""
        points = list(points)
        pairs = {Ancestry(point, tip) for point in points for tip in self.tips.values() if point != tip}
        ancestries = repository.ancestries(pairs) if pairs else frozenset()
        return {
            point: self.name_of(point, [name for name, tip in self.tips.items() if Ancestry(point, tip) in ancestries])
            for point in points
        }

    def name_of(self, point: CommitSha, having: Sequence[str]) -> str:
        """Return the branch with this tip, else the first branch that has it; empty without one."""
        return next((name for name, tip in self.tips.items() if tip == point), next(iter(having), ""))

    def __hash__(self) -> int:
        return hash_struct(self, but=("tips",))


def read_main_branches(repository: Repository, rules: DedupeRules) -> MainBranches:
    """Return the main branches of a repository."""
    return _name_main_branches(_find_main_tips(repository, rules))


def _name_main_branches(mains: Iterable[_Tip]) -> MainBranches:
    tips: dict[str, CommitSha] = {}
    for tip in mains:
        tips.setdefault(branch_name_from_ref(tip.name), tip.sha)
    return MainBranches(tips)


def find_main_branch_tip(repository: Repository, rules: DedupeRules) -> CommitSha | None:
    """Return the tip of the first main branch; HEAD without one; None without commits."""
    return next((tip.sha for tip in _find_main_tips(repository, rules)), None)


def _find_main_tips(repository: Repository, rules: DedupeRules) -> list[_Tip]:
    """Return the tips of the main branches, the default branch first; HEAD without a main branch.

    A branch that is checked out is not a main branch for that reason, except in a bare repository.
    """
    head = repository.head()
    branch = "" if head.branch is None else branch_name_from_ref(head.branch.decode("utf-8", "replace"))
    is_bare = repository.work_tree is None
    tips, _ = _find_change_tips(repository, ("refs/heads/**", "refs/remotes/**"))
    mains = [
        tip
        for tip in tips
        if _is_main_branch(name := branch_name_from_ref(tip.name), rules) or (is_bare and name == branch)
    ]
    if not mains:
        return [] if head.commit is None else [_Tip(f"refs/heads/{branch}" if branch else "HEAD", head.commit)]
    places = {tip.name: _rank_main_branch(branch_name_from_ref(tip.name), branch, rules) for tip in mains}
    if is_bare:
        places |= {name: -1 for name in places if branch_name_from_ref(name) == branch}
    return sorted(mains, key=lambda tip: (places[tip.name], tip.name))


def _rank_main_branch(name: str, checked_out: str, rules: DedupeRules) -> int:
    """Return the place of a main branch: the trunk that is checked out, other trunks, then releases and versions."""
    patterns = rules.main_branches
    place = next((at for at, pattern in enumerate(patterns) if matches_path_pattern(pattern, name)), len(patterns))
    is_trunk = place < len(patterns) and not set(patterns[place]) & set(_WILD)
    return -1 if is_trunk and name == checked_out else place


def _is_main_branch(branch: str, rules: DedupeRules) -> bool:
    return bool(_VERSION.fullmatch(branch)) or any(
        matches_path_pattern(pattern, branch) for pattern in rules.main_branches
    )


def branch_name_from_ref(ref: str) -> str:
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


def _select_merged_changes(
    history: ChangeHistory, repository: Repository, mains: Sequence[_Tip]
) -> Iterator[ChangeRef]:
    """Yield the commits of the default branch, oldest first; its copy of a remote may be ahead."""
    name = branch_name_from_ref(mains[0].name) if mains else ""
    tips = [tip.sha for tip in mains if branch_name_from_ref(tip.name) == name]
    graph = read_change_ancestry(repository, tips)
    line = ChangeHistory(graph, tips).line
    for sha in sorted(line, key=lambda commit_sha: (line[commit_sha], commit_sha)):
        base = next(iter(graph.get(sha, ())), NO_COMMIT)
        yield ChangeRef(base=base, head=sha, commits=(sha,), on_main=True, target=name, merged=sha)


def _change_ref_from_tip(tip: _Tip, history: ChangeHistory, mains: MainBranches) -> ChangeRef | None:
    fork = history.find_fork(tip.sha)
    if fork is None:
        return None
    commits = tuple(history.list_own_commits(tip.sha, COMMITS_READ_MAX))
    line = history.find_line(fork)
    return ChangeRef(
        base=fork,
        head=tip.sha,
        name=tip.name,
        commits=commits,
        on_main=tip.sha in history.line,
        target=mains.name_of(fork, [name for name, main in mains.tips.items() if main == line]),
        merged=history.find_arrival(tip.sha) or NO_COMMIT,
    )
