"""Sessions of this repository that agents have on disk and that are not recorded.

Of each transcript only the lines up to its session id are read.
"""

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from msgspec import Struct

from custody.capture import TRANSCRIPT_READERS, ChangedFile, TranscriptLine, TranscriptReader, read_transcript_lines
from custody.core.errors import CustodyError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.wire.report import BackFill
from custody.git import Comparison, ObjectInfo, Repository
from custody.intake.queries import has_imported_checkpoints, has_imported_traces
from custody.store import Store
from custody.workspace.workspace import Workspace

COMMITS_MAX = 200_000
PATHS_MAX = 1_000_000
REMEMBERED_MAX = 100_000
GIT_FILE_BYTES_MAX = 8192
ROOT_FILES_MIN = 2
"""Minimum files that make a folder a checkout of this repository."""

_INNER_TREE = lazy_pattern(r"(?:\.claude/worktrees|\.worktrees)/[^/]+/(.+)", re.DOTALL)
"""Where agents create work trees inside the work tree; they are gone by the time of the import."""
_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")


def list_backfill_work_trees(repository: Repository) -> list[str]:
    """Return the folders of this repository's work trees, linked ones too, as the repository's own files name them."""
    folders = [] if repository.work_tree is None else [repository.work_tree]
    if repository.common_dir.name == ".git":
        folders.append(repository.common_dir.parent)
    for link in sorted(repository.common_dir.glob("worktrees/*/gitdir")):
        try:
            with link.open("rb") as file:
                entry = Path(os.fsdecode(file.read(GIT_FILE_BYTES_MAX).rstrip(b"\n")))
        except OSError:
            continue  # being pruned: then its files are gone too
        if entry.is_absolute():
            folders.append(entry.parent)
    return list(dict.fromkeys(str(path) for path in folders))


class Paths:
    """Resolves names in a transcript to paths of this repository: by its work trees, else by its history."""

    def __init__(
        self,
        trees: Sequence[str],
        history: Callable[[], frozenset[str]],
        real: Callable[[str], str] = os.path.realpath,
    ) -> None:
        # The longest first: a linked work tree may lie inside another one.
        self._trees = sorted((tree.rstrip("/") for tree in trees), key=len, reverse=True)
        self._history = history
        self._real = real
        self._known: dict[ChangedFile, str | None] = {}

    def find(self, file: ChangedFile) -> str | None:
        """Return the path of ``file``; None if it is not in this repository."""
        if file not in self._known:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            self._known[file] = _check_backfill_path(self._resolve_transcript_path(file))
        return self._known[file]

    def find_roots(self, names: Iterable[str]) -> list[str]:
        """Return the folders above files with these names that hold several files of this repository, longest first.

        They are checkouts that are not here: another machine's, or a work tree that is gone.
        """
        ends_by_root: defaultdict[str, set[str]] = defaultdict(set)
        for name in {posixpath.normpath(_normalize_transcript_path(name)) for name in names}:
            end = self._match_history_path(name, None) if name.startswith("/") and self.tree_of(name) is None else None
            if end is not None:
                ends_by_root[name.removesuffix(end).rstrip("/")].add(end)
        roots = (root for root, ends in ends_by_root.items() if root and len(ends) >= ROOT_FILES_MIN)
        return sorted(roots, key=lambda root: (-len(root), root))

    def tree_of(self, folder: str | None) -> str | None:
        """Return the work tree that contains ``folder``."""
        return next((tree for tree in self._trees if folder is not None and _is_path_inside_tree(folder, tree)), None)

    def _resolve_transcript_path(self, file: ChangedFile) -> str | None:
        name = _normalize_transcript_path(file.name)
        cwd = None if file.cwd is None else _normalize_transcript_path(file.cwd)
        if not name.startswith("/"):
            if self.tree_of(cwd) is None and not (cwd or "").startswith("/"):
                return self._match_history_path(name, None)
            name = posixpath.join(cwd or "", name)
        name = self._resolve_linked_path(posixpath.normpath(name), cwd)
        tree = self.tree_of(name)
        if tree is not None:
            below = name[len(tree) + 1 :]
            inner = _INNER_TREE.fullmatch(below)
            return inner[1] if inner else below
        return self._match_history_path(name, cwd)

    def _resolve_linked_path(self, name: str, cwd: str | None) -> str:
        """Return ``name`` inside the work tree itself, if the agent's folder reached it through a link."""
        if cwd is None or not cwd.startswith("/") or self.tree_of(name) is not None:
            return name
        linked, real = cwd.rstrip("/"), self._real(cwd)
        tree = self.tree_of(real)
        if tree is None:
            return name
        below = real[len(tree) :]
        if linked.endswith(below):
            # The link is above the agent's folder, so its siblings are in the work tree too.
            linked, real = linked.removesuffix(below), tree
        return real + name[len(linked) :] if _is_path_inside_tree(name, linked) else name

    def _match_history_path(self, name: str, cwd: str | None) -> str | None:
        """Return the longest end of ``name`` that some commit has; a bare file name only inside its own folder."""
        parts = name.strip("/").split("/")
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            if end in self.history:
                root = name[: len(name) - len(end)].rstrip("/")
                # A README.md of any other project ends the same.
                alone = len(parts) - start == 1 and not (cwd is not None and root and _is_path_inside_tree(cwd, root))
                return None if alone else end
        return None

    @cached_property
    def history(self) -> frozenset[str]:
        """Return every path of every commit, read once and only when needed."""
        return self._history()


def list_history_paths(repository: Repository) -> frozenset[str]:
    """Return every path that some commit reachable from a reference has added or changed, up to a bound."""
    with repository.refs() as refs:
        targets = sorted({ref.id for ref in refs})
    infos = zip(targets, repository.look_up(targets), strict=True)
    tips = [CommitSha(sha) for sha, info in infos if isinstance(info, ObjectInfo) and info.kind == "commit"]
    head = repository.head().commit
    paths: set[str] = set()
    with repository.log(tips if head is None else [*tips, head]) as commits:
        comparisons = (Comparison(commit.id) for n, commit in enumerate(commits) if n < COMMITS_MAX)
        with repository.changes(comparisons, renames=False) as changes:
            for change in changes:
                paths.update(str(file.path) for file in change.files)
                if len(paths) > PATHS_MAX:
                    break
    return frozenset(paths)


def _normalize_transcript_path(name: str) -> str:
    """Return a Windows path without its drive and with forward slashes; other paths as they are."""
    return name[2:].replace("\\", "/") if _DRIVE.match(name) else name


def _is_path_inside_tree(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _check_backfill_path(path: str | None) -> str | None:
    try:
        return None if path is None else str(RepoPath.of(path))
    except InputError:
        return None  # it leaves the repository, or is the folder itself


_CHECKPOINTS = lazy_pattern(rb"refs/((heads|remotes/[^/]+)/)?entire/checkpoints/.+")
_CHECKPOINT_PLACES = ("refs/heads/entire/", "refs/remotes/", "refs/entire/checkpoints/")
_NOTES = lazy_pattern(rb"refs/notes/ai(-remote/.+)?")
TRACE_FOLDER = ".agent-trace"


def find_unimported_tools(workspace: Workspace, store: Store) -> list[str]:
    """Return the argument of ``custody import`` for each attribution tool with evidence in this repository.

    Left out are the tools with imported evidence.
    """
    repository = workspace.repository
    tools = find_tool_references(repository)
    found = []
    if "entire" in tools and not has_imported_checkpoints(store):
        found.append("entire")
    tree = repository.work_tree
    with_notes = "git-ai" in tools
    with_traces = tree is not None and (tree / TRACE_FOLDER).is_dir()
    if (with_notes or with_traces) and not has_imported_traces(store):
        found += [name for name, is_here in (("git-ai", with_notes), (TRACE_FOLDER, with_traces)) if is_here]
    return found


def find_tool_references(repository: Repository) -> frozenset[str]:
    """Return the argument of ``custody import`` for each attribution tool with references in this repository."""
    entire = _has_reference(repository, _CHECKPOINTS, _CHECKPOINT_PLACES)
    git_ai = _has_reference(repository, _NOTES, ("refs/notes/",))
    return frozenset(name for name, is_here in (("entire", entire), ("git-ai", git_ai)) if is_here)


def _has_reference(repository: Repository, name: re.Pattern[bytes], places: Sequence[str]) -> bool:
    return any(name.fullmatch(ref.name) for place in places for ref in list(repository.refs(place)))


PREVIEW_FILES_MAX = 500
"""Transcripts of an agent that are checked, the newest first."""
PREVIEW_LINES_MAX = 200
"""Lines of a transcript that are read to find its session."""


def preview_agent_backfill(workspace: Workspace, agent: str, known: set[tuple[str, str]]) -> BackFill | None:
    """Return what ``custody import`` would add for this repository; None for an agent whose transcripts we cannot read.

    Sessions in ``known`` are not counted.
    """
    reader = TRANSCRIPT_READERS.get(agent)
    if reader is None:
        return None
    scan = _BackfillScan(reader, known)
    try:
        files = reader.of_trees(reader.home(os.environ), list_backfill_work_trees(workspace.repository))
    except (OSError, CustodyError) as error:
        reason = error.message if isinstance(error, CustodyError) else error.strerror or str(error)
        return BackFill(transcripts=0, new_sessions=0, looked_at=0, trouble=reason)
    newest = files[-PREVIEW_FILES_MAX:]
    new_sessions = {session for file in newest for session in scan.sessions(file)}
    return BackFill(transcripts=len(files), new_sessions=len(new_sessions), looked_at=len(newest), trouble=scan.trouble)


def has_agent_transcripts(workspace: Workspace, agent: str) -> bool:
    """Return whether the agent has sessions of this repository on disk; those that cannot be listed do not count."""
    reader = TRANSCRIPT_READERS.get(agent)
    try:
        return reader is not None and bool(
            reader.of_trees(reader.home(os.environ), list_backfill_work_trees(workspace.repository))
        )
    except (OSError, CustodyError):
        return False  # 'custody doctor' reports the reason


class _BackfillScan(Struct):
    reader: TranscriptReader
    known: set[tuple[str, str]]
    trouble: str | None = None

    def sessions(self, file: Path) -> Iterator[str]:
        """Yield the session of a transcript, if it is not known."""
        try:
            lines = islice(read_transcript_lines(self.reader, file), PREVIEW_LINES_MAX)
            entries = (entry for entry in self.reader.read(file, lines, {}) if isinstance(entry, TranscriptLine))
            first = next(entries, None)
        except (OSError, InputError) as error:
            self.trouble = error.message if isinstance(error, InputError) else f"'{file}': {error.strerror}"
            return
        if first is not None and (str(self.reader.agent), first.session) not in self.known:
            yield first.session
