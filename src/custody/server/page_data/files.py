"""The files of a commit, to browse: folder by folder, or by a part of their names.

A path that is no UTF-8 stands in an address as it is shown; ``resolve_file`` finds the file again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, TracedFile
from custody.git import Repository
from custody.ledger.queries.edits import paths_in
from custody.server.app.questions import require_repository
from custody.workspace.workspace import Workspace

EDITED = (FileEdit, TracedFile)
"""The views that say that an agent wrote in a file."""
FOLDER, FILE = "0", "1"
"""Folders stand before files."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file, or a folder with how many files are in it and how many of those agents wrote in."""

    path: str
    """As an address says it."""
    name: str
    """As it is shown, below the folder that is looked at."""
    is_folder: bool
    files: int
    edited: int

    @property
    def key(self) -> str:
        """Where it stands in the list."""
        return (FOLDER if self.is_folder else FILE) + self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilter:
    """Which files: of which folder, with what in their names, only those that agents wrote in; how many from where."""

    folder: str | None = None
    revision: str = "HEAD"
    part: str | None = None
    edited: bool = False
    after: str = ""
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListing:
    """The entries of one page; ``more`` is where the next page begins, ``total`` counts those on every page."""

    folder: str | None
    shown: str | None
    commit: CommitSha
    entries: Sequence[FileEntry]
    total: int
    files: int
    edited: int
    more: str | None


def files_listed(workspace: Workspace, wish: FileFilter) -> FileListing:
    """The folder's entries: its own, or every file below it where names or agents are asked for."""
    repository = require_repository(workspace).repository
    commit = repository.resolve(wish.revision)
    folder = None if wish.folder is None else resolve_file(repository, commit, wish.folder)
    files = _files(repository, commit, folder)
    if folder is not None and (not files or files == [folder]):
        raise InputError(
            f"'{folder.display}' is no folder with files in {commit[:12]}", hint="choose one from the list above it"
        )
    edited = edited_files(workspace)
    start = 0 if folder is None else len(folder.raw) + 1
    if wish.part is None and not wish.edited:
        found = _children(files, edited, start)
    else:
        part = (wish.part or "").casefold()
        wanted = (path for path in files if not wish.edited or path in edited)
        found = [_file(path, edited, start) for path in wanted if part in _shown(path, start).casefold()]
    ordered = sorted(found, key=lambda entry: entry.key)
    rest = [entry for entry in ordered if entry.key > wish.after]
    return FileListing(
        folder=None if folder is None else format_path(folder),
        shown=None if folder is None else folder.display,
        commit=commit,
        entries=rest[: wish.most],
        total=len(ordered),
        files=len(files),
        edited=sum(path in edited for path in files),
        more=rest[wish.most - 1].key if len(rest) > wish.most else None,
    )


def edited_files(workspace: Workspace) -> frozenset[RepoPath]:
    """The files that agents are known to have written in, under the names that they had then."""
    with workspace.reading() as store:
        return frozenset(paths_in(store, EDITED))


def format_path(path: RepoPath) -> str:
    r"""A path as an address says it: as it is, or where that is no UTF-8, as it is shown.

    >>> format_path(RepoPath(b"a\xff")), format_path(RepoPath("ä".encode()))
    ('a\\xff', 'ä')
    """
    try:
        return path.raw.decode()
    except UnicodeDecodeError:
        return path.display


def resolve_file(repository: Repository, commit: CommitSha, said: str) -> RepoPath:
    """The file or folder that an address names: of that name, else the one in ``commit`` that is shown so."""
    path = RepoPath.of(said)
    if "\\" not in said:
        return path
    with repository.tree(commit) as entries:
        paths = [entry.path for entry in entries]
    if any(tree_path == path or tree_path.raw.startswith(path.raw + b"/") for tree_path in paths):
        return path
    deep = said.count("/") + 1
    for tree_path in paths:
        if tree_path.display == said or tree_path.display.startswith(f"{said}/"):
            return RepoPath(b"/".join(tree_path.raw.split(b"/")[:deep]))
    return path


def _files(repository: Repository, commit: CommitSha, folder: RepoPath | None) -> list[RepoPath]:
    with repository.tree(commit, [] if folder is None else [folder]) as entries:
        return [entry.path for entry in entries if entry.kind == "blob"]


def _children(files: Iterable[RepoPath], edited: frozenset[RepoPath], start: int) -> list[FileEntry]:
    """What is in a folder itself: its files, and the folders below it with what is in them."""
    folders: dict[bytes, tuple[int, int]] = {}
    found: list[FileEntry] = []
    for path in files:
        slash = path.raw.find(b"/", start)
        if slash < 0:
            found.append(_file(path, edited, start))
        else:
            count, by_agents = folders.get(path.raw[:slash], (0, 0))
            folders[path.raw[:slash]] = (count + 1, by_agents + (path in edited))
    for raw, (count, by_agents) in folders.items():
        below = RepoPath(raw)
        found.append(FileEntry(format_path(below), _shown(below, start), is_folder=True, files=count, edited=by_agents))
    return found


def _file(path: RepoPath, edited: frozenset[RepoPath], start: int) -> FileEntry:
    return FileEntry(format_path(path), _shown(path, start), is_folder=False, files=1, edited=int(path in edited))


def _shown(path: RepoPath, start: int) -> str:
    return RepoPath(path.raw[start:]).display
