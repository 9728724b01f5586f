"""Reading and replacing one file: whole or not at all, with its mode and owner, at the end of a symbolic link."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError, WorldError
from custody.core.platform import CLOEXEC, NOCTTY, NOFOLLOW, NONBLOCK, sync_folder

FILE_BYTES_MAX = 16 << 20
"""A larger file cannot be settings."""

_READ = os.O_RDONLY | NONBLOCK | NOCTTY | CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR)


class SettingsFile(Struct, frozen=True):
    """A file: ``target`` is the end of all symbolic links, ``data`` is None if it does not exist."""

    path: Path
    target: Path
    data: bytes | None
    mode: int = 0
    is_link: bool = False

    @property
    def is_program(self) -> bool:
        """Return whether its owner may execute it."""
        return bool(self.mode & stat.S_IXUSR)

    @property
    def is_writable(self) -> bool:
        """Return whether the file is writable for anyone; a read-only file must not be changed."""
        return bool(self.mode & 0o222)


def read_settings_file(path: Path) -> SettingsFile:
    """Return the file at ``path``, through links; anything but a regular file raises an error."""
    target = Path(os.path.realpath(path))
    is_link = path.is_symlink()
    data = read_optional_settings(target)
    if data is None:
        return SettingsFile(path, target, None, is_link=is_link)
    return SettingsFile(path, target, data, stat.S_IMODE(os.stat(target).st_mode), is_link)


def read_optional_settings(path: Path) -> bytes | None:
    """Return the bytes of a regular file; None if it does not exist."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise _make_settings_os_error("read", path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{path}' is not a regular file", hint="move it out of the way")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise _make_settings_os_error("read", path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES_MAX:
        raise InputError(f"'{path}' is larger than {FILE_BYTES_MAX >> 20} MiB", hint="a settings file is smaller")
    return data


def list_missing_settings_folders(target: Path) -> tuple[Path, ...]:
    """Return the folders that must be created for ``target``, outermost first."""
    missing = list[Path]()
    folder = target.parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    return tuple(reversed(missing))


def make_settings_folder(folder: Path, mode: int = 0o777) -> None:
    """Create ``folder`` durably, if it does not exist."""
    for each in list_missing_settings_folders(folder / "x"):
        with (
            translate_settings_os_errors("create the folder", each),
            suppress(FileExistsError),
        ):  # another process created it
            os.mkdir(each, mode)
            sync_folder(each.parent)


def write_settings_atomically(target: Path, data: bytes, *, mode: int, keep: bool = True) -> None:
    """Write ``data`` to ``target`` atomically.

    An existing file keeps its mode and owner, unless ``keep`` is False; a new one gets ``mode``, less the umask.
    """
    aside = target.with_name(f".{target.name[:100]}.custody-{os.urandom(6).hex()}")
    with translate_settings_os_errors("write", target):
        old = _settings_file_status(target) if keep else None
        handle = os.open(aside, _NEW, mode if old is None else 0o600)
        try:
            _write_settings_bytes(handle, data, old)
            os.rename(aside, target)
        except BaseException:
            os.unlink(aside)
            raise
        finally:
            os.close(handle)
        sync_folder(target.parent)


def link_settings_aside(path: Path, aside: Path) -> None:
    """Give the file (or link) ``path`` the second name ``aside``, replacing a file of that name."""
    spare = aside.with_name(f".{aside.name}.{os.urandom(6).hex()}")
    with translate_settings_os_errors("move away", path):
        if path.is_symlink():
            os.symlink(os.readlink(path), spare)
        else:
            os.link(path, spare)
        os.rename(spare, aside)
        sync_folder(aside.parent)


def restore_settings_aside(aside: Path, path: Path) -> None:
    """Give the file (or link) ``aside`` the name ``path``, replacing a file of that name."""
    with translate_settings_os_errors("restore", path):
        os.rename(aside, path)
        sync_folder(path.parent)


def delete_settings_file(path: Path) -> None:
    """Remove a file."""
    with translate_settings_os_errors("delete", path):
        os.unlink(path)
        sync_folder(path.parent)


def delete_empty_settings_folder(folder: Path) -> None:
    """Remove a folder if it is empty."""
    try:
        os.rmdir(folder)
    except OSError:
        # It is in use, or gone already; both are fine.
        return


def check_settings_replaceable(seen: SettingsFile) -> None:
    """Raise an error for a read-only file, and for folders that we may not write."""
    if seen.data is not None and not seen.is_writable:
        raise WorldError(f"'{seen.path}' is read-only", hint="make it writable, or choose other agents with --agent")
    folder = next(parent for parent in seen.target.parents if parent.exists())
    if not folder.is_dir():
        raise WorldError(f"cannot write '{seen.path}': '{folder}' is not a folder", hint="move it out of the way")
    if not os.access(folder, os.W_OK | os.X_OK) or (seen.data is not None and not os.access(seen.target, os.W_OK)):
        raise WorldError(f"cannot write '{seen.path}': permission denied", hint=f"check the owner of '{folder}'")


def _settings_file_status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _write_settings_bytes(handle: int, data: bytes, old: os.stat_result | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    if old is not None:
        new = os.fstat(handle)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))
    os.fsync(handle)


@contextmanager
def translate_settings_os_errors(what: str, path: Path) -> Iterator[None]:
    """Turn a failed system call in the block into a ``WorldError`` with the action and the path."""
    try:
        yield
    except OSError as error:
        raise _make_settings_os_error(what, path, error) from error


def _make_settings_os_error(what: str, path: Path, error: OSError) -> WorldError:
    return WorldError(f"cannot {what} '{path}': {error.strerror}", hint="nothing was changed")
