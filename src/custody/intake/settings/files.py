"""Reading and replacing one file: whole or not at all, with its mode and owner, at the end of a symbolic link."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError, WorldError

FILE_BYTES_MAX = 16 << 20
"""No settings file of a person is as large; a larger one is something else."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file as it was found: ``target`` is where its bytes are, behind all links; no ``data``: there is none."""

    path: Path
    target: Path
    data: bytes | None
    mode: int = 0
    is_link: bool = False

    @property
    def is_program(self) -> bool:
        """Whether its owner may execute it."""
        return bool(self.mode & stat.S_IXUSR)

    @property
    def is_writable(self) -> bool:
        """Whether anybody is meant to write it; what a read-only file says is not ours to change."""
        return bool(self.mode & 0o222)


def look(path: Path) -> SettingsFile:
    """The file at ``path``, through links; something that is no regular file is refused."""
    target = Path(os.path.realpath(path))
    is_link = path.is_symlink()
    data = read_optional_file(target)
    if data is None:
        return SettingsFile(path, target, None, is_link=is_link)
    return SettingsFile(path, target, data, stat.S_IMODE(os.stat(target).st_mode), is_link)


def read_optional_file(path: Path) -> bytes | None:
    """The bytes of a regular file, None when there is none."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise _trouble("read", path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{path}' is not a regular file", hint="move it out of the way")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise _trouble("read", path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES_MAX:
        raise InputError(f"'{path}' is larger than {FILE_BYTES_MAX >> 20} MiB", hint="this can hardly be settings")
    return data


def list_missing_folders(target: Path) -> tuple[Path, ...]:
    """The folders that have to be made before ``target`` can be, outermost first."""
    missing = list[Path]()
    folder = target.parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    return tuple(reversed(missing))


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make sure that ``folder`` is there and survives a power cut."""
    for each in list_missing_folders(folder / "x"):
        with (
            translate_os_errors("make the folder", each),
            suppress(FileExistsError),
        ):  # another one was first, and it is there
            os.mkdir(each, mode)
            _sync(each.parent)


def write_atomically(target: Path, data: bytes, *, mode: int, keep: bool = True) -> None:
    """Make ``target`` a file with ``data``: all of it or nothing.

    Mode and owner of a file that is there stay, unless ``keep`` is False; a new one gets ``mode``, less the umask.
    """
    aside = target.with_name(f".{target.name[:100]}.custody-{os.urandom(6).hex()}")
    with translate_os_errors("write", target):
        old = _status(target) if keep else None
        handle = os.open(aside, _NEW, mode if old is None else 0o600)
        try:
            _fill(handle, data, old)
            os.rename(aside, target)
        except BaseException:
            os.unlink(aside)
            raise
        finally:
            os.close(handle)
        _sync(target.parent)


def put_aside(path: Path, aside: Path) -> None:
    """Give the file (or link) ``path`` a second name, replacing what has that name."""
    spare = aside.with_name(f".{aside.name}.{os.urandom(6).hex()}")
    with translate_os_errors("put aside", path):
        if path.is_symlink():
            os.symlink(os.readlink(path), spare)
        else:
            os.link(path, spare)
        os.rename(spare, aside)
        _sync(aside.parent)


def put_back(aside: Path, path: Path) -> None:
    """Give the file (or link) ``aside`` the name ``path``, replacing what has that name."""
    with translate_os_errors("put back", path):
        os.rename(aside, path)
        _sync(path.parent)


def delete(path: Path) -> None:
    """Remove a file."""
    with translate_os_errors("delete", path):
        os.unlink(path)
        _sync(path.parent)


def delete_if_empty(folder: Path) -> None:
    """Remove a folder that nobody has put anything into."""
    try:
        os.rmdir(folder)
    except OSError:
        # Somebody else uses it by now, or it is gone already; both are fine.
        return


def check_may_replace(seen: SettingsFile) -> None:
    """Refuse a file that its owner has made read-only, and folders that we may not write."""
    if seen.data is not None and not seen.is_writable:
        raise WorldError(f"'{seen.path}' is read-only", hint="make it writable, or choose other agents with --agent")
    folder = next(parent for parent in seen.target.parents if parent.exists())
    if not folder.is_dir():
        raise WorldError(f"cannot write '{seen.path}': '{folder}' is not a folder", hint="move it out of the way")
    if not os.access(folder, os.W_OK | os.X_OK) or (seen.data is not None and not os.access(seen.target, os.W_OK)):
        raise WorldError(f"cannot write '{seen.path}': permission denied", hint=f"look at who owns '{folder}'")


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _fill(handle: int, data: bytes, old: os.stat_result | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    if old is not None:
        new = os.fstat(handle)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))
    os.fsync(handle)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def translate_os_errors(what: str, path: Path) -> Iterator[None]:
    """Inside the block, a system call that fails is a ``WorldError`` that says what could not be done to what."""
    try:
        yield
    except OSError as error:
        raise _trouble(what, path, error) from error


def _trouble(what: str, path: Path, error: OSError) -> WorldError:
    return WorldError(f"cannot {what} '{path}': {error.strerror}", hint="nothing was changed")
