"""Finding the repository around a folder, and refusing one whose own files point somewhere else."""

import os
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError, InputError
from custody.git.command import NEEDS, Git, ProcessLimits
from custody.git.environment import open_environment
from custody.git.work_tree_file import read_small_file

# Printed by rev-parse as it is. A path that git has made absolute never holds "//", so that a folder with newlines in
# its name cannot be taken for two answers.
_BETWEEN = "--//"
_QUESTIONS = (
    *("rev-parse", "--path-format=absolute", "--git-dir", _BETWEEN, "--git-common-dir", _BETWEEN, "--show-cdup"),
    *(_BETWEEN, "--show-object-format"),
)
_GIT_FILE_BYTES_MAX = 8192
_FORMATS = ("sha1", "sha256")


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """Where a repository is: absolute, without symbolic links. ``work_tree`` is None for a bare repository.

    ``more_objects`` is a folder of ours with further objects, if any.
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path | None
    object_format: str
    more_objects: Path | None = None


def find_place(folder: Path, limits: ProcessLimits) -> RepositoryPlace:
    """The repository around ``folder``, by one git process."""
    here = _real_folder(folder)
    place = parse_place(Git(here, open_environment(os.environ), limits=limits.brief()).run(*_QUESTIONS), here)
    _refuse_strange(place)
    return place


def parse_place(answer: bytes, here: Path) -> RepositoryPlace:
    """Read rev-parse's answer, given in the folder ``here``."""
    parts = answer.split(f"{_BETWEEN}\n".encode())
    if len(parts) != 4 or answer.startswith(b"--path-format"):
        raise GitError("git is too old for custody", hint=NEEDS)
    git_dir, common_dir, up = (os.fsdecode(part.removesuffix(b"\n")) for part in parts[:3])
    object_format = parts[3].removesuffix(b"\n").decode("ascii", "replace")
    if object_format not in _FORMATS:
        raise GitError(f"the repository's objects are of an unknown format: '{object_format}'")
    return RepositoryPlace(
        git_dir=Path(git_dir),
        common_dir=Path(common_dir),
        work_tree=_above(here, up) if parts[2] else None,
        object_format=object_format,
    )


def _real_folder(folder: Path) -> Path:
    try:
        here = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot enter '{folder}': {error}", hint="name a folder that exists") from error
    if not here.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="name the folder of a repository")
    return here


def _above(here: Path, up: str) -> Path:
    # "../../" from inside the work tree; elsewhere the absolute path that core.worktree names.
    return Path(os.path.normpath(here / up))


def _refuse_strange(place: RepositoryPlace) -> None:
    """Refuse a ``.git`` whose files lead into another folder: such a one comes in an archive, never by a clone."""
    linked = place.git_dir.parent == place.common_dir / "worktrees"
    if place.common_dir != place.git_dir and not linked:
        raise _strange(f"'{place.git_dir}' shares '{place.common_dir}', which is not around it")
    if place.work_tree is None:
        return
    if place.git_dir.name == ".git" and place.git_dir.parent != place.work_tree:
        raise _strange(f"the repository of '{place.work_tree}' is that of another folder, '{place.git_dir}'")
    if _leads_to(place.work_tree / ".git") != place.git_dir:
        raise _strange(f"'{place.git_dir}' claims the work tree '{place.work_tree}', which knows nothing of it")


def _leads_to(entry: Path) -> Path | None:
    try:
        if entry.is_dir():
            return entry.resolve(strict=True)
        said = read_small_file(entry, _GIT_FILE_BYTES_MAX)
        if isinstance(said, str):
            return None
        named = said.removeprefix(b"gitdir: ").rstrip(b"\r\n")
        return (entry.parent / os.fsdecode(named)).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None  # the caller refuses: git and the file system disagree about this entry


def _strange(problem: str) -> InputError:
    return InputError(problem, hint="look at core.worktree, commondir and the .git file before you trust it")
