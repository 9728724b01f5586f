"""What an agent left on disk of this repository that nothing is recorded of.

Looked at lightly: of each transcript only as much as it takes to know its session.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from custody.capture import TRANSCRIPT_READERS, ChangedFile, TranscriptLine, TranscriptReader, lines_for
from custody.core.errors import CustodyError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.wire.report import BackFill
from custody.git import Comparison, ObjectInfo, Repository
from custody.workspace.workspace import Workspace

# Which file of this repository a transcript means: by its work trees, else by the paths that its history knows.


COMMITS_MAX = 200_000
PATHS_MAX = 1_000_000
REMEMBERED_MAX = 100_000
GIT_FILE_BYTES_MAX = 8192

_INNER_TREE = re.compile(r"(?:\.claude/worktrees|\.worktrees)/[^/]+/(.+)", re.DOTALL)
"""Where agents put work trees inside the work tree; they are gone by the time of the import."""
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def work_trees(repository: Repository) -> list[str]:
    """The folders of this repository's work trees, linked ones too, as the repository's own files name them."""
    found = [] if repository.work_tree is None else [repository.work_tree]
    if repository.common_dir.name == ".git":
        found.append(repository.common_dir.parent)
    for named in sorted(repository.common_dir.glob("worktrees/*/gitdir")):
        try:
            with named.open("rb") as file:
                entry = Path(os.fsdecode(file.read(GIT_FILE_BYTES_MAX).rstrip(b"\n")))
        except OSError:
            continue  # being pruned: then its files are gone too
        if entry.is_absolute():
            found.append(entry.parent)
    return list(dict.fromkeys(str(path) for path in found))


class Paths:
    """Names in a transcript and the repository's paths that they stand for."""

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

    def find(self, named: ChangedFile) -> str | None:
        """The path that ``named`` stands for; None when it is none of this repository's."""
        if named not in self._known:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            self._known[named] = _checked(self._found(named))
        return self._known[named]

    def tree_of(self, folder: str | None) -> str | None:
        """The work tree in which ``folder`` is."""
        return next((tree for tree in self._trees if folder is not None and _is_in(folder, tree)), None)

    def _found(self, named: ChangedFile) -> str | None:
        name, cwd = _slashed(named.name), None if named.cwd is None else _slashed(named.cwd)
        if not name.startswith("/"):
            if self.tree_of(cwd) is None and not (cwd or "").startswith("/"):
                return self._by_history(name, None)
            name = posixpath.join(cwd or "", name)
        name = self._unlinked(posixpath.normpath(name), cwd)
        tree = self.tree_of(name)
        if tree is not None:
            below = name[len(tree) + 1 :]
            inner = _INNER_TREE.fullmatch(below)
            return inner[1] if inner else below
        return self._by_history(name, cwd)

    def _unlinked(self, name: str, cwd: str | None) -> str:
        """``name`` below the work tree itself, where the agent's folder reached that through a link."""
        if cwd is None or not cwd.startswith("/") or self.tree_of(name) is not None:
            return name
        linked, real = cwd.rstrip("/"), self._real(cwd)
        tree = self.tree_of(real)
        if tree is None:
            return name
        below = real[len(tree) :]
        if linked.endswith(below):
            # The link lies above: what is beside the agent's folder is in the work tree too.
            linked, real = linked.removesuffix(below), tree
        return real + name[len(linked) :] if _is_in(name, linked) else name

    def _by_history(self, name: str, cwd: str | None) -> str | None:
        """The longest end of ``name`` that some commit has; a bare file name only from the folder that it stands in."""
        parts = name.strip("/").split("/")
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            if end in self.history:
                root = name[: len(name) - len(end)].rstrip("/")
                # A README.md of any other project ends the same.
                alone = len(parts) - start == 1 and not (cwd is not None and root and _is_in(cwd, root))
                return None if alone else end
        return None

    @cached_property
    def history(self) -> frozenset[str]:
        """Every path of every commit, read once and only when it is asked for."""
        return self._history()


def paths_of_history(repository: Repository) -> frozenset[str]:
    """Every path that some commit reachable from a reference has added or changed, up to a bound."""
    with repository.refs() as refs:
        named = sorted({ref.id for ref in refs})
    infos = zip(named, repository.look_up(named), strict=True)
    tips = [CommitSha(sha) for sha, info in infos if isinstance(info, ObjectInfo) and info.kind == "commit"]
    head = repository.head().commit
    found: set[str] = set()
    with repository.log(tips if head is None else [*tips, head]) as commits:
        asked = (Comparison(commit.id) for n, commit in enumerate(commits) if n < COMMITS_MAX)
        with repository.changes(asked, renames=False) as changes:
            for change in changes:
                found.update(str(file.path) for file in change.files)
                if len(found) > PATHS_MAX:
                    break
    return frozenset(found)


def _slashed(name: str) -> str:
    """A Windows path without its drive, with the slashes of all others."""
    return name[2:].replace("\\", "/") if _DRIVE.match(name) else name


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _checked(path: str | None) -> str | None:
    try:
        return None if path is None else str(RepoPath.of(path))
    except InputError:
        return None  # it leaves the repository, or is the folder itself


FILES_LOOKED_AT_MAX = 500
"""Of an agent's transcripts, the newest."""
LINES_LOOKED_AT_MAX = 200
"""Of a transcript, to find its session."""


def back_fill(workspace: Workspace, agent: str, known: set[tuple[str, str]]) -> BackFill | None:
    """What ``custody import`` would find of this repository; None for an agent without transcripts that we read."""
    reader = TRANSCRIPT_READERS.get(agent)
    if reader is None:
        return None
    looking = _BackfillScan(reader, known)
    try:
        files = reader.of_trees(reader.home(os.environ), work_trees(workspace.repository))
    except (OSError, CustodyError) as error:
        why = error.message if isinstance(error, CustodyError) else error.strerror or str(error)
        return BackFill(transcripts=0, new_sessions=0, looked_at=0, trouble=why)
    newest = files[-FILES_LOOKED_AT_MAX:]
    fresh = {session for file in newest for session in looking.sessions(file)}
    return BackFill(transcripts=len(files), new_sessions=len(fresh), looked_at=len(newest), trouble=looking.trouble)


@dataclass
class _BackfillScan:
    reader: TranscriptReader
    known: set[tuple[str, str]]
    trouble: str | None = None

    def sessions(self, file: Path) -> Iterator[str]:
        """The session of a transcript, where nothing is known of it."""
        try:
            lines = islice(lines_for(self.reader, file), LINES_LOOKED_AT_MAX)
            seen = (entry for entry in self.reader.read(file, lines, {}) if isinstance(entry, TranscriptLine))
            first = next(seen, None)
        except (OSError, InputError) as error:
            self.trouble = error.message if isinstance(error, InputError) else f"'{file}': {error.strerror}"
            return
        if first is not None and (str(self.reader.agent), first.session) not in self.known:
            yield first.session
