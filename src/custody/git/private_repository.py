"""A temporary repository of our own beside the user's, to describe the work tree.

It is in a temporary folder that only this user may enter, and has copies of the index and of the patterns that apply
to the work tree, and the new objects. Nothing in it belongs to the user, so git may write there.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from custody.core.errors import GitError, WorldError
from custody.git.command import Git, ProcessLimits
from custody.git.discovery import RepositoryPlace
from custody.git.environment import find_sealed_repository_file, make_private_environment
from custody.git.objects import compress_loose_object, compute_object_id
from custody.git.work_tree_file import read_small_file
from custody.git.work_tree_settings import WorkSettings

PREFIX = "custody-work-"
INDEX_BYTES_MAX = 2 << 30

_BOOLEANS = ("false", "true")
_SPACE = "free space, or set TMPDIR to another folder"


class WorkTreePatterns(Struct, frozen=True):
    """Patterns for the whole work tree: ignored names and attributes, of the user and of the repository."""

    user_ignores: bytes
    ignores: bytes
    user_attributes: bytes
    attributes: bytes


class PrivateRepository(Struct, frozen=True):
    """A private repository; ``index_ns`` is when the user's index was written, 0 without one."""

    folder: Path
    object_format: str
    index_ns: int

    @property
    def git_dir(self) -> Path:
        """The git directory."""
        return self.folder / "git"

    @property
    def objects(self) -> Path:
        """The folder of new objects."""
        return self.folder / "objects"

    @property
    def ignores(self) -> tuple[str, ...]:
        """Options that make git skip ignored files; the last one has precedence."""
        names = ("user-ignores", "ignores")
        return ("--exclude-per-directory=.gitignore", *(f"--exclude-from={self.folder / name}" for name in names))

    def write(self, kind: str, content: bytes, known: str | None = None) -> str:
        """Write an object, unless it is the ``known`` one, and return its id."""
        sha = self.compute_id(kind, content)
        path = self.objects / sha[:2] / sha[2:]
        if sha != known and not path.exists():
            _write_repository_file(path, compress_loose_object(kind, content))
        return sha

    def compute_id(self, kind: str, content: bytes) -> str:
        """Return the id of an object."""
        return compute_object_id(self.object_format, kind, content)

    def git(self, place: RepositoryPlace, work_tree: Path, settings: WorkSettings, limits: ProcessLimits) -> Git:
        """Return a git with this git directory and ``work_tree``."""
        environment = make_private_environment(os.environ, self.git_dir, self.objects, place.common_dir, work_tree)
        values = {
            "core.attributesFile": os.fspath(self.folder / "user-attributes"),
            "core.ignoreCase": _BOOLEANS[settings.ignores_case],
            "core.precomposeUnicode": _BOOLEANS[settings.composes_names],
            "core.untrackedCache": "false",
        }
        options = tuple(option for name, value in values.items() for option in ("-c", f"{name}={value}"))
        return Git(work_tree, environment, place.common_dir, limits, options)


@contextmanager
def open_private_repository(
    place: RepositoryPlace, work_tree: Path, patterns: WorkTreePatterns
) -> Iterator[PrivateRepository]:
    """Yield a private repository with the index of ``place``; it is deleted at the end of the block."""
    with _make_private_folder(_choose_temporary_folder(work_tree, place.common_dir)) as name:
        folder = Path(name)
        for part in ("HEAD", "config", "refs/.keep"):
            _write_repository_file(
                folder / "git" / part, find_sealed_repository_file(place.object_format, part).read_bytes()
            )
        _write_repository_file(folder / "objects" / ".keep", b"")
        _write_repository_file(folder / "user-ignores", patterns.user_ignores)
        _write_repository_file(folder / "ignores", patterns.ignores)
        _write_repository_file(folder / "user-attributes", patterns.user_attributes)
        _write_repository_file(folder / "git" / "info" / "attributes", patterns.attributes)
        yield PrivateRepository(folder, place.object_format, _copy_git_index(place.git_dir, folder / "git"))


def _make_private_folder(folder: str) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix=PREFIX, dir=folder)
    except OSError as error:
        raise WorldError(f"cannot create a folder in '{folder}': {error.strerror}", hint=_SPACE) from error


def _choose_temporary_folder(*folders: Path) -> str:
    """Return the temporary folder; raises ``WorldError`` if it is inside one of ``folders``."""
    try:
        temporary = os.path.realpath(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise WorldError("cannot find a temporary folder", hint=_SPACE) from error
    for folder in folders:
        if Path(temporary).is_relative_to(folder):
            raise WorldError(f"the temporary folder is inside '{folder}'", hint="set TMPDIR to another folder")
    return temporary


def _copy_git_index(source: Path, target: Path) -> int:
    """Copy the index and its shared parts; return when it was written, in nanoseconds."""
    written_ns = _copy_index_file(source / "index", target / "index")
    # Shared parts are copied last: git writes a new part before it names it, and keeps old parts for days.
    for shared in sorted(source.glob("sharedindex.*")):
        _copy_index_file(shared, target / shared.name)
    return written_ns


def _copy_index_file(source: Path, target: Path) -> int:
    try:
        written_ns = source.stat().st_mtime_ns
        content = read_small_file(source, INDEX_BYTES_MAX)
    except FileNotFoundError:
        return 0  # no file was ever added
    except OSError as error:
        raise GitError(f"cannot read the index: {error.strerror}") from error
    if isinstance(content, str):
        raise GitError(f"cannot read the index: '{source.name}' {content}")
    _write_repository_file(target, content)
    return written_ns


def _write_repository_file(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise WorldError(f"cannot write to '{path.parent}': {error.strerror}", hint=_SPACE) from error
