"""The repositories of an editor's files: opened when a file of theirs is asked about, and closed when others are."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError
from custody.git import WorkFile, discover_repository
from custody.lsp.render import encode_buffer
from custody.why.warm import WarmWorkspace
from custody.workspace.workspace import CommandResources, Workspace

REPOSITORIES_OPEN_MAX = 4
FOLDERS_KNOWN_MAX = 1_000

MakeWorkspace = Callable[[Path, CommandResources], Workspace]


class EditorFile(Struct, frozen=True):
    """A file of a work tree as an editor shows it; ``text`` is None if the editor does not have it open."""

    root: Path
    name: str
    text: str | None


class OpenRepositories:
    """The open work trees of one thread, a few at a time."""

    def __init__(self, make: MakeWorkspace) -> None:
        self._make = make
        self._open: OrderedDict[Path, WarmWorkspace] = OrderedDict()
        self._roots: dict[Path, Path] = {}

    def find_file(self, file: Path, text: str | None) -> EditorFile:
        """Return a file with the work tree around it; an ``InputError`` outside of a repository."""
        folder = file.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return EditorFile(self._find_root(folder), str(folder.resolve() / file.relative_to(folder)), text)

    def open_workspace(self, root: Path) -> WarmWorkspace:
        """Return the work tree at ``root``, open; the one asked longest ago is closed if too many are."""
        warm = self._open.pop(root, None)
        if warm is None:
            while len(self._open) >= REPOSITORIES_OPEN_MAX:
                self._open.popitem(last=False)[1].close()
            warm = WarmWorkspace(lambda resources: self._make(root, resources))
        self._open[root] = warm
        return warm

    def read_buffer(self, file: EditorFile) -> bytes | None:
        """Return the bytes of what the editor shows; None for the file on disk."""
        if file.text is None:
            return None
        text = file.text

        def read(workspace: Workspace) -> bytes:
            repository = workspace.repository
            disk = repository.work_file(repository.path(file.name, workspace.folder))
            return encode_buffer(text, disk.content if isinstance(disk, WorkFile) else None)

        return self.open_workspace(file.root).ask(read)

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].close()

    def _find_root(self, folder: Path) -> Path:
        root = self._roots.get(folder)
        if root is not None and (root / ".git").exists() and not (folder != root and (folder / ".git").exists()):
            return root
        found = discover_repository(folder).work_tree
        if found is None:
            raise InputError(f"'{folder}' is in no work tree", hint="open a file of a work tree")
        if len(self._roots) >= FOLDERS_KNOWN_MAX:
            self._roots.clear()
        self._roots[folder] = found
        return found
