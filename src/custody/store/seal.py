"""The seal of a verified database: it shows that only custody has written to its files since.

A seal is a small file next to the database with the state of its files and how far each chain was verified, signed
with the key of this folder. custody seals a database again when it closes it; any other writer changes the state of
the files. Without a valid seal everything is verified. Whoever can read the key can forge a seal, as with head files.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes

NAME = "seal"
SEAL_BYTES_MAX = 1 << 20
LOOKS_MAX = 100_000
"""Maximum waits for the next tick of file times: a tick takes up to 10 ms, and writes within a tick look equal."""


class Seal:
    """The seal of one database file."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(NAME)

    def describe_files(self) -> str:
        """Return the state of the database's files: identity, size and times."""
        return ";".join(
            _stamp_store_file(self._database.with_name(self._database.name + suffix)) for suffix in ("", "-wal")
        )

    def read_verified_positions(self) -> Mapping[StoreId, int] | None:
        """Return how far each chain was verified, if only custody has written since; None if that is unknown."""
        value = self._read()
        if value is None or value.get("looks") != self.describe_files():
            return None
        chains = value.get("verified")
        if not isinstance(chains, dict) or not all(isinstance(seq, int) for seq in chains.values()):
            return None
        return MappingProxyType({StoreId(store): seq for store, seq in chains.items() if isinstance(seq, int)})

    def write(self, verified: Mapping[StoreId, int]) -> None:
        """Seal the files; do nothing without a key, or while another process writes."""
        key = self._key()
        aside = self._path.with_name(f".{NAME}.{os.getpid()}")
        try:
            looks = self._wait_for_stable_looks(aside) if key else None
            if looks is not None:
                fields: dict[str, Json] = {
                    "looks": looks,
                    "verified": {str(chain): seq for chain, seq in verified.items()},
                }
                aside.write_bytes(dump_canonical_json({**fields, "mac": _compute_seal_mac(fields, key)}) + b"\n")
                aside.rename(self._path)
        except OSError:
            return  # full disk or missing permission: the next run verifies everything
        finally:
            with suppress(OSError):  # a read-only disk refuses it even where no file is
                aside.unlink()

    def _wait_for_stable_looks(self, aside: Path) -> str | None:
        """Return the state of the files after the next tick of file times, so that a later write changes it.

        A scratch file shows the tick.
        """
        looks, written_ns = self.describe_files(), self._written_ns()
        aside.touch(mode=0o600)
        for _ in range(LOOKS_MAX):
            if aside.stat().st_ctime_ns > written_ns:
                return looks if looks == self.describe_files() else None
            os.sched_yield()
            os.utime(aside)
        return None

    def _written_ns(self) -> int:
        files = (self._database, self._database.with_name(self._database.name + "-wal"))
        return max(path.stat().st_ctime_ns for path in files if path.exists())

    def _read(self) -> dict[str, Json] | None:
        """Return the content of the seal, if it was made with this folder's key."""
        try:
            raw = self._path.read_bytes()
            value = parse_json_bytes(raw, bytes_max=SEAL_BYTES_MAX)
        except (OSError, InputError):
            return None
        key = self._key()
        if not key or not isinstance(value, dict):
            return None
        mac = value.pop("mac", None)
        return (
            value
            if hmac.compare_digest(_compute_seal_mac(value, key).encode(), str(mac).encode("utf-8", "replace"))
            else None
        )

    def _key(self) -> bytes:
        try:
            return self._database.with_name("key").read_bytes()
        except OSError:
            return b""


def _stamp_store_file(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    # A reader creates an empty log; it means the same as no log.
    if not found.st_size:
        return "-"
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _compute_seal_mac(fields: Mapping[str, Json], key: bytes) -> str:
    return hmac.new(key, b"seal\n" + dump_canonical_json(dict(fields)), hashlib.sha256).hexdigest()


# The birth time of a file: ``os.stat`` does not return it on Linux before Python 3.15.


_STATX_BTIME = 0x800
_AT_FDCWD = -100
_STRUCT_BYTES = 256
_MASK_AT, _BTIME_AT = 0, 80
_NS = 1_000_000_000


def store_file_birth_ns(path: Path) -> int:
    """Return the file's birth time in nanoseconds; 0 if the system does not know it."""
    known = getattr(path.stat(), "st_birthtime", None)
    if known is not None:
        return int(known * _NS)
    import ctypes  # slow to load

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
