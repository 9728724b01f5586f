"""How far each chain reached, remembered beside the database.

A head is written after COMMIT, so it is never ahead of what was committed: a head ahead of the table means that
records were taken away; one behind it, that a writer was killed between the two. The HMAC's key never leaves the
machine, so a head cannot be made elsewhere. Who can read the key can still recompute everything: against that only a
copied head helps.
"""

import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError, StoreError
from custody.core.ids import Link, Seq, StoreId
from custody.core.record import ChainTip
from custody.core.wire.canonical import dump, parse
from custody.store.db import StoreUnwritable

KEY_BYTES = 32

_PREFIX = "head-"
_HEAD_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A head file as found; ``genuine`` says whether it was written here under this key."""

    name: str
    head: ChainTip | None
    genuine: bool


class Heads:
    """The head files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, store: StoreId) -> ChainTip | None:
        """The head that was remembered for ``store``, if there is one and it is genuine."""
        kept = self._read(self.folder / (_PREFIX + store))
        return kept.head if kept is not None and kept.genuine else None

    def all(self) -> list[KeptHead]:
        """Every head file in the folder, genuine or not."""
        found = (self._read(path) for path in sorted(self.folder.glob(_PREFIX + "*")))
        return [kept for kept in found if kept is not None]

    def advance(self, head: ChainTip) -> None:
        """Remember ``head``, unless a later one of its chain is remembered already."""
        try:
            with self._alone():
                known = self.read(head.store)
                if known is None or known.seq < head.seq:
                    self._write(head)
        except OSError as error:
            raise StoreUnwritable(
                f"the records are kept, but their head cannot be written in '{self.folder}': {error.strerror}",
                hint="free space or make the folder writable; the next write catches up",
            ) from error

    def _write(self, head: ChainTip) -> None:
        fields = _fields(head)
        line = dump({**fields, "mac": self._mac(fields, self._key(make=True))})
        _replace(self.folder / (_PREFIX + head.store), line + b"\n")

    def _read(self, path: Path) -> KeptHead | None:
        try:
            with path.open("rb") as file:
                raw = file.read(_HEAD_BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read '{path}': {error.strerror}", hint="check its permissions") from error
        try:
            value = parse(raw)
        except InputError:
            return KeptHead(path.name, None, genuine=False)
        head = _head_from(value)
        if head is None or not isinstance(value, dict) or path.name != _PREFIX + head.store:
            return KeptHead(path.name, None, genuine=False)
        key = self._key(make=False)
        genuine = bool(key) and hmac.compare_digest(
            self._mac(_fields(head), key).encode(), str(value.get("mac")).encode("utf-8", "replace")
        )
        return KeptHead(path.name, head, genuine)

    def _key(self, *, make: bool) -> bytes:
        path = self.folder / "key"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            if not make:
                return b""
        except OSError as error:
            raise StoreError(f"cannot read '{path}': {error.strerror}", hint="check its permissions") from error
        return _made_key(path)

    @staticmethod
    def _mac(fields: dict[str, str | int], key: bytes) -> str:
        return hmac.new(key, dump(dict(fields)), hashlib.sha256).hexdigest()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _made_key(path: Path) -> bytes:
    """A new key, unless a hook was quicker: linked into place, never over one that is there."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    _replace(aside, secrets.token_bytes(KEY_BYTES))
    try:
        path.hardlink_to(aside)
        _sync_folder(path.parent)
    except FileExistsError:
        pass  # made by another process meanwhile: that one is the key
    finally:
        aside.unlink()
    return path.read_bytes()


def _replace(path: Path, data: bytes) -> None:
    """Put ``data`` in place of ``path`` in one step, durably, readable by its owner alone."""
    new = not path.exists()
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
    aside.rename(path)
    if new:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fields(head: ChainTip) -> dict[str, str | int]:
    return {"store": head.store, "seq": int(head.seq), "link": head.link.hex()}


def _head_from(value: object) -> ChainTip | None:
    match value:
        case {"store": str(store), "seq": int(seq), "link": str(link)}:
            try:
                return ChainTip(StoreId(store), Seq(seq), Link(bytes.fromhex(link)))
            except ValueError:
                return None  # not a link: the caller reports the file
        case _:
            return None
