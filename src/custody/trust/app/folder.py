"""Where trust works: a repository with its store, or a folder as document 001 has it, with its own store and file."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from custody.capture.spool import Spool
from custody.config import FILE_BYTES_MAX
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.git import NoWorkFile, read_work_file
from custody.trust.rules import TrustRules
from custody.workspace.rules_in_force import load_rules, read_rules
from custody.workspace.workspace import Workspace

CONFIG = "config.yaml"
DOCUMENTS_CONFIG = f".ai-git/{CONFIG}"
"""Under this name the document's file is known; beside another folder's store it is the same file."""


@dataclass(frozen=True)
class FolderWorkspace(Workspace):
    """A workspace whose store lies in its folder, whether or not there is a repository around it."""

    @cached_property
    def home(self) -> Path:
        """The folder itself."""
        return self.folder

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """No hook writes into a folder of this kind."""
        return ()


def folder_workspace(folder: str | os.PathLike[str], now_ns: Callable[[], int] | None = None) -> FolderWorkspace:
    """The workspace of ``folder``, which is made when something is recorded."""
    path = Path(os.path.abspath(folder))  # the working directory may change between two calls
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is not a folder", hint="name a folder; it is made when it is not there")
    return FolderWorkspace(path) if now_ns is None else FolderWorkspace(path, now_ns=now_ns)


def trust_rules(
    workspace: Workspace, environment: Mapping[str, str] = os.environ, policy: str | None = None
) -> TrustRules:
    """Return the rules in force, perhaps with a policy; a folder of the document's has the document's profile."""
    if not isinstance(workspace, FolderWorkspace):
        return load_rules(workspace, environment, policy)[0].of(TrustRules)
    effective, _ = read_rules(lambda path: _beside(workspace.folder, path), environment, policy)
    return replace(effective.of(TrustRules), profile="document")


def _beside(folder: Path, path: RepoPath) -> bytes | None:
    if str(path) != DOCUMENTS_CONFIG or not os.path.lexists(folder / CONFIG):
        return None
    file = read_work_file(folder, RepoPath.of(CONFIG), FILE_BYTES_MAX)
    if isinstance(file, NoWorkFile):
        raise InputError(f"'{folder / CONFIG}' {file.reason}", hint="rules are read from regular files")
    return file.content
