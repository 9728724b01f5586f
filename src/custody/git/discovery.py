"""Discovery of the repository around a folder; repositories whose files point elsewhere are rejected."""

import os
from pathlib import Path

from msgspec import Struct

from custody.core.errors import GitError, InputError
from custody.git.command import NEEDS, Git, ProcessLimits
from custody.git.environment import make_open_environment
from custody.git.refs import HEAD_OPTIONS, RepositoryHead, parse_head
from custody.git.work_tree_file import read_small_file

# rev-parse prints it unchanged. Absolute paths of git never contain "//", so that a folder with newlines in its name
# cannot look like two answers.
_SEPARATOR = "--//"
_COMMAND = (
    *("rev-parse", "--path-format=absolute", "--git-dir", _SEPARATOR, "--git-common-dir", _SEPARATOR, "--show-cdup"),
    *(_SEPARATOR, "--show-object-format", _SEPARATOR, *HEAD_OPTIONS),
)
_GIT_FILE_BYTES_MAX = 8192
_FORMATS = ("sha1", "sha256")


class RepositoryPlace(Struct, frozen=True):
    """The absolute paths of a repository, without symbolic links; ``work_tree`` is None for a bare repository.

    ``more_objects`` is a folder of ours with additional objects, if any.
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path | None
    object_format: str
    more_objects: Path | None = None
    head: RepositoryHead | None = None
    """HEAD at that time; None for an empty branch, and if a branch or tag is called HEAD."""


def locate_repository(folder: Path, limits: ProcessLimits) -> RepositoryPlace:
    """Locate the repository around ``folder`` with one git process."""
    here = _resolve_repository_folder(folder)
    place = parse_repository_place(
        Git(here, make_open_environment(os.environ), limits=limits.brief()).run(*_COMMAND), here
    )
    _reject_foreign_git_dir(place)
    return place


def parse_repository_place(answer: bytes, here: Path) -> RepositoryPlace:
    """Parse the output of rev-parse in the folder ``here``."""
    parts = answer.split(f"{_SEPARATOR}\n".encode())
    if len(parts) != 5 or answer.startswith(b"--path-format"):
        raise GitError("git is too old for custody", hint=NEEDS)
    git_dir, common_dir, up = (os.fsdecode(part.removesuffix(b"\n")) for part in parts[:3])
    object_format = parts[3].removesuffix(b"\n").decode("ascii", "replace")
    if object_format not in _FORMATS:
        raise GitError(f"unknown object format '{object_format}'")
    return RepositoryPlace(
        git_dir=Path(git_dir),
        common_dir=Path(common_dir),
        work_tree=_resolve_work_tree(here, up) if parts[2] else None,
        object_format=object_format,
        head=parse_head(parts[4]),
    )


def _resolve_repository_folder(folder: Path) -> Path:
    try:
        here = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot enter '{folder}': {error}", hint="name an existing folder") from error
    if not here.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="pass a folder in a repository")
    return here


def _resolve_work_tree(here: Path, up: str) -> Path:
    # "../../" from inside the work tree; elsewhere the absolute path that core.worktree names.
    return Path(os.path.normpath(here / up))


def _reject_foreign_git_dir(place: RepositoryPlace) -> None:
    """Reject a ``.git`` whose files lead into another folder: an archive may contain one, a clone never does."""
    linked = place.git_dir.parent == place.common_dir / "worktrees"
    if place.common_dir != place.git_dir and not linked:
        raise _make_foreign_repository_error(f"'{place.git_dir}' uses '{place.common_dir}', which does not contain it")
    if place.work_tree is None:
        return
    if place.git_dir.name == ".git" and place.git_dir.parent != place.work_tree:
        raise _make_foreign_repository_error(
            f"'{place.work_tree}' uses the repository of another folder, '{place.git_dir}'"
        )
    if _resolve_git_entry(place.work_tree / ".git") != place.git_dir:
        raise _make_foreign_repository_error(
            f"'{place.git_dir}' claims the work tree '{place.work_tree}', which does not belong to it"
        )


def _resolve_git_entry(entry: Path) -> Path | None:
    try:
        if entry.is_dir():
            return entry.resolve(strict=True)
        content = read_small_file(entry, _GIT_FILE_BYTES_MAX)
        if isinstance(content, str):
            return None
        target = content.removeprefix(b"gitdir: ").rstrip(b"\r\n")
        return (entry.parent / os.fsdecode(target)).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None  # git and the file system disagree, so the caller rejects it


def _make_foreign_repository_error(problem: str) -> InputError:
    return InputError(problem, hint="check core.worktree, commondir and the .git file before you trust it")
