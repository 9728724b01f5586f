"""That nobody but custody has written to the database's files since all that they hold was verified.

A seal is a small file beside the database: what the files looked like, and how far each chain was verified, under the
key of this folder. Whatever of ours writes to a sealed database seals it again as it closes; whatever else writes to it
leaves files that look otherwise. A seal that is missing, of another key, or of other files says nothing, and then
everything is verified. Like a head it is worth as much as the key: who can read that can make one.
"""

import ctypes
import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.canonical import Json, dump, parse

NAME = "seal"
SEAL_BYTES_MAX = 1 << 20
LOOKS_MAX = 100_000
"""Times of files move in steps of up to 10 ms, and writes within one step look alike; so often is a step awaited."""


class Seal:
    """The seal of one database file."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(NAME)

    def looks(self) -> str:
        """What the database's files look like: which ones they are, how large, when they were last written or moved."""
        return ";".join(_look(self._database.with_name(self._database.name + suffix)) for suffix in ("", "-wal"))

    def verified(self) -> Mapping[StoreId, int] | None:
        """How far each chain was verified, if nobody else has written since; None where that cannot be told."""
        value = self._read()
        if value is None or value.get("looks") != self.looks():
            return None
        chains = value.get("verified")
        if not isinstance(chains, dict) or not all(isinstance(seq, int) for seq in chains.values()):
            return None
        return MappingProxyType({StoreId(store): seq for store, seq in chains.items() if isinstance(seq, int)})

    def write(self, verified: Mapping[StoreId, int]) -> None:
        """Seal the files as they are now; nothing where there is no key, or where somebody keeps on writing."""
        key = self._key()
        aside = self._path.with_name(f".{NAME}.{os.getpid()}")
        try:
            looks = self._settled(aside) if key else None
            if looks is not None:
                fields: dict[str, Json] = {
                    "looks": looks,
                    "verified": {str(chain): seq for chain, seq in verified.items()},
                }
                aside.write_bytes(dump({**fields, "mac": _mac(fields, key)}) + b"\n")
                aside.rename(self._path)
        except OSError:
            return  # a full disk or a folder of somebody else's: everything is verified again
        finally:
            aside.unlink(missing_ok=True)

    def _settled(self, aside: Path) -> str | None:
        """The files' looks once times have moved on, by a file of our own, so that the next write changes them."""
        looks, written_ns = self.looks(), self._written_ns()
        aside.touch(mode=0o600)
        for _ in range(LOOKS_MAX):
            if aside.stat().st_ctime_ns > written_ns:
                return looks if looks == self.looks() else None
            os.sched_yield()
            os.utime(aside)
        return None

    def _written_ns(self) -> int:
        files = (self._database, self._database.with_name(self._database.name + "-wal"))
        return max(path.stat().st_ctime_ns for path in files if path.exists())

    def _read(self) -> dict[str, Json] | None:
        """What the seal says, if it was made under this folder's key."""
        try:
            raw = self._path.read_bytes()
            value = parse(raw, bytes_max=SEAL_BYTES_MAX)
        except (OSError, InputError):
            return None
        key = self._key()
        if not key or not isinstance(value, dict):
            return None
        mac = value.pop("mac", None)
        return value if hmac.compare_digest(_mac(value, key).encode(), str(mac).encode("utf-8", "replace")) else None

    def _key(self) -> bytes:
        try:
            return self._database.with_name("key").read_bytes()
        except OSError:
            return b""


def _look(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    # An empty log is there while anybody reads, and says as much as none.
    if not found.st_size:
        return "-"
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _mac(fields: Mapping[str, Json], key: bytes) -> str:
    return hmac.new(key, b"seal\n" + dump(dict(fields)), hashlib.sha256).hexdigest()


# When a file was born: what ``os.stat`` does not say on Linux before Python 3.15.


_STATX_BTIME = 0x800
_AT_FDCWD = -100
_STRUCT_BYTES = 256
_MASK_AT, _BTIME_AT = 0, 80
_NS = 1_000_000_000


def birth_ns(path: Path) -> int:
    """The file's birth time in nanoseconds; 0 where the system does not know it."""
    known = getattr(path.stat(), "st_birthtime", None)
    if known is not None:
        return int(known * _NS)
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return 0
    struct = ctypes.create_string_buffer(_STRUCT_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, struct) != 0:
        return 0
    mask = int.from_bytes(struct.raw[_MASK_AT : _MASK_AT + 4], "little")
    if not mask & _STATX_BTIME:
        return 0
    seconds = int.from_bytes(struct.raw[_BTIME_AT : _BTIME_AT + 8], "little", signed=True)
    return seconds * _NS + int.from_bytes(struct.raw[_BTIME_AT + 8 : _BTIME_AT + 12], "little")
