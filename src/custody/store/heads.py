"""Head files next to the database: the last record of each chain.

A head is written after COMMIT, so it is never ahead of the committed records. A head ahead of the table means that
records were removed; a head behind it means that a writer was killed between the two. The key of the HMAC never leaves
the machine, so another machine cannot write a head. A person who can read the key can recompute everything; only a
copy of the head elsewhere protects against that.
"""

import hashlib
import hmac
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError, StoreError
from custody.core.ids import Digest, Link, NaturalKey, Seq, StoreId
from custody.core.platform import CLOEXEC, NOFOLLOW, lock_file, sync_folder
from custody.core.record import ChainTip
from custody.core.wire.canonical import dump_canonical_json, parse_json_bytes
from custody.store.db import StoreUnwritable

KEY_BYTES = 32

_PREFIX = "head-"
_HEAD_BYTES_MAX = 4096


class KeptHead(Struct, frozen=True):
    """A head file; ``genuine`` if it was written here with this key."""

    name: str
    head: ChainTip | None
    genuine: bool


class Heads:
    """The head files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, store: StoreId) -> ChainTip | None:
        """Return the head of ``store``, if its file exists and is genuine."""
        stored = self._read(self.folder / (_PREFIX + store))
        return stored.head if stored is not None and stored.genuine else None

    def read_all(self) -> list[KeptHead]:
        """Return every head file in the folder, genuine or not."""
        found = (self._read(path) for path in sorted(self.folder.glob(_PREFIX + "*")))
        return [stored for stored in found if stored is not None]

    def advance(self, head: ChainTip) -> None:
        """Write ``head``, unless its chain already has a later head."""
        try:
            with self._lock_folder():
                known = self.read(head.store)
                if known is None or known.seq < head.seq:
                    self._write(head)
        except OSError as error:
            raise StoreUnwritable(
                f"the records are stored, but their head cannot be written in '{self.folder}': {error.strerror}",
                hint="free space or make the folder writable; the next write catches up",
            ) from error

    def _write(self, head: ChainTip) -> None:
        fields = _chain_head_to_json(head)
        line = dump_canonical_json({**fields, "mac": self._mac(fields, self._key(make=True))})
        _replace_head_file(self.folder / (_PREFIX + head.store), line + b"\n")

    def _read(self, path: Path) -> KeptHead | None:
        try:
            with path.open("rb") as file:
                raw = file.read(_HEAD_BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read '{path}': {error.strerror}", hint="check its permissions") from error
        try:
            value = parse_json_bytes(raw)
        except InputError:
            return KeptHead(path.name, None, genuine=False)
        head = _chain_head_from_json(value)
        if head is None or not isinstance(value, dict) or path.name != _PREFIX + head.store:
            return KeptHead(path.name, None, genuine=False)
        key = self._key(make=False)
        genuine = bool(key) and hmac.compare_digest(
            self._mac(_chain_head_to_json(head), key).encode(), str(value.get("mac")).encode("utf-8", "replace")
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
        return _create_head_key(path)

    def mark_erased(self, contents: Sequence[tuple[NaturalKey, Digest]]) -> list[Digest]:
        """Return a mark for each content, by which only this machine recognizes it after it was erased."""
        key = self._key(make=True)
        return [Digest(hmac.digest(key, name.encode() + b"\0" + digest, "sha256")) for name, digest in contents]

    @staticmethod
    def _mac(fields: dict[str, str | int], key: bytes) -> str:
        return hmac.new(key, dump_canonical_json(dict(fields)), hashlib.sha256).hexdigest()

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | NOFOLLOW | CLOEXEC, 0o600)
        try:
            lock_file(handle)
            yield
        finally:
            os.close(handle)


def _create_head_key(path: Path) -> bytes:
    """Create the key and return it; if another process created it first, return that key."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    _replace_head_file(aside, os.urandom(KEY_BYTES))
    try:
        path.hardlink_to(aside)
        sync_folder(path.parent)
    except FileExistsError:
        pass  # another process created the key in the meantime
    finally:
        aside.unlink()
    return path.read_bytes()


def _replace_head_file(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` atomically and durably, readable only by its owner."""
    new = not path.exists()
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOFOLLOW | CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
    aside.rename(path)
    if new:
        sync_folder(path.parent)


def _chain_head_to_json(head: ChainTip) -> dict[str, str | int]:
    return {"store": head.store, "seq": int(head.seq), "link": head.link.hex()}


def _chain_head_from_json(value: object) -> ChainTip | None:
    match value:
        case {"store": str(store), "seq": int(seq), "link": str(link)}:
            try:
                return ChainTip(StoreId(store), Seq(seq), Link(bytes.fromhex(link)))
            except ValueError:
                return None  # not a link: the caller reports the file
        case _:
            return None
