"""A repository of our own beside the user's, for one question: the only place where this door writes.

It lies in a temporary folder that only this user may enter, and holds copies of the index and of the patterns that
apply to the work tree, and the objects that are made. Nothing in it is the user's, so that git may write there.
"""

import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import new
from pathlib import Path

from custody.core.errors import GitError, WorldError
from custody.git.command import Git, ProcessLimits
from custody.git.discovery import RepositoryPlace
from custody.git.environment import private_environment, sealed_file
from custody.git.work_tree_file import read_small_file
from custody.git.work_tree_settings import WorkSettings

PREFIX = "custody-work-"
INDEX_BYTES_MAX = 2 << 30

_WORDS = ("false", "true")
_SPACE = "free space there, or set TMPDIR to another folder"
_LEVEL = 1
"""Of compression: what is written is read once and thrown away."""


@dataclass(frozen=True, slots=True)
class WorkTreePatterns:
    """What applies to the whole work tree: ignored names and attributes, of the user and of the repository."""

    user_ignores: bytes
    ignores: bytes
    user_attributes: bytes
    attributes: bytes


@dataclass(frozen=True, slots=True)
class PrivateRepository:
    """A private repository; ``index_ns`` is when the user's index was written, 0 when there is none."""

    folder: Path
    object_format: str
    index_ns: int

    @property
    def git_dir(self) -> Path:
        """Where git lives."""
        return self.folder / "git"

    @property
    def objects(self) -> Path:
        """Where the objects are that are made."""
        return self.folder / "objects"

    @property
    def ignores(self) -> tuple[str, ...]:
        """The options by which git passes over what is ignored; what is named last counts more."""
        names = ("user-ignores", "ignores")
        return ("--exclude-per-directory=.gitignore", *(f"--exclude-from={self.folder / name}" for name in names))

    def keep(self, kind: str, content: bytes, known: str | None = None) -> str:
        """Write an object, unless it is the ``known`` one; its id."""
        sha = self.name(kind, content)
        path = self.objects / sha[:2] / sha[2:]
        if sha != known and not path.exists():
            _write(path, zlib.compress(_head(kind, content) + content, _LEVEL))
        return sha

    def name(self, kind: str, content: bytes) -> str:
        """The id that an object has."""
        digest = new(self.object_format, _head(kind, content), usedforsecurity=False)
        digest.update(content)
        return digest.hexdigest()

    def git(self, place: RepositoryPlace, work_tree: Path, settings: WorkSettings, limits: ProcessLimits) -> Git:
        """A git that lives here and stands in ``work_tree``."""
        environment = private_environment(os.environ, self.git_dir, self.objects, place.common_dir, work_tree)
        chosen = {
            "core.attributesFile": os.fspath(self.folder / "user-attributes"),
            "core.ignoreCase": _WORDS[settings.ignores_case],
            "core.precomposeUnicode": _WORDS[settings.composes_names],
            "core.untrackedCache": "false",
        }
        words = tuple(word for name, value in chosen.items() for word in ("-c", f"{name}={value}"))
        return Git(work_tree, environment, place.common_dir, limits, words)


def _head(kind: str, content: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode("ascii"), len(content))


@contextmanager
def a_private_repository(
    place: RepositoryPlace, work_tree: Path, patterns: WorkTreePatterns
) -> Iterator[PrivateRepository]:
    """A private repository with the index of ``place``; it is gone when the block is left, however that happens."""
    with _temporary(_elsewhere(work_tree, place.common_dir)) as name:
        folder = Path(name)
        for part in ("HEAD", "config", "refs/.keep"):
            _write(folder / "git" / part, sealed_file(place.object_format, part).read_bytes())
        _write(folder / "objects" / ".keep", b"")
        _write(folder / "user-ignores", patterns.user_ignores)
        _write(folder / "ignores", patterns.ignores)
        _write(folder / "user-attributes", patterns.user_attributes)
        _write(folder / "git" / "info" / "attributes", patterns.attributes)
        yield PrivateRepository(folder, place.object_format, _copied_index(place.git_dir, folder / "git"))


def _temporary(folder: str) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix=PREFIX, dir=folder)
    except OSError as error:
        raise WorldError(f"cannot make a folder in '{folder}': {error.strerror}", hint=_SPACE) from error


def _elsewhere(*folders: Path) -> str:
    """The folder for temporary files, when it is in none of ``folders``."""
    try:
        usual = os.path.realpath(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise WorldError("there is no folder for temporary files", hint=_SPACE) from error
    for folder in folders:
        if Path(usual).is_relative_to(folder):
            raise WorldError(f"temporary files would be written into '{folder}'", hint="set TMPDIR to another folder")
    return usual


def _copied_index(source: Path, target: Path) -> int:
    """Copy the index and what a split one shares; when it was written, in nanoseconds."""
    written_ns = _copy(source / "index", target / "index")
    # After what names them: git writes a new part before it names it, and keeps an old one for days.
    for shared in sorted(source.glob("sharedindex.*")):
        _copy(shared, target / shared.name)
    return written_ns


def _copy(source: Path, target: Path) -> int:
    try:
        written_ns = source.stat().st_mtime_ns
        content = read_small_file(source, INDEX_BYTES_MAX)
    except FileNotFoundError:
        return 0  # nothing was ever added
    except OSError as error:
        raise GitError(f"cannot read the index: {error.strerror}") from error
    if isinstance(content, str):
        raise GitError(f"cannot read the index: '{source.name}' {content}")
    _write(target, content)
    return written_ns


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise WorldError(f"cannot write to '{path.parent}': {error.strerror}", hint=_SPACE) from error
