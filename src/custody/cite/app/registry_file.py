"""A registry in one file that only grows: a line for each event, earlier bytes never change.

So whatever was read up to some byte stays true, and a reader may keep it. Writers take turns by a lock on the file, and
look at what others wrote before they decide. A line that a killed writer left unfinished is ended by the next one,
never removed.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from custody.cite.event_fold import apply
from custody.cite.events import RegistryChange
from custody.cite.queries.registry_codec import decode_registry_event, payload_of
from custody.cite.shelf import MemoryShelf, Shelf
from custody.core.errors import InputError, StoreError
from custody.core.wire.canonical import dump, parse

Warn = Callable[[str], None]
CHUNK_BYTES = 1 << 20


class SourceFile:
    """The sources of one registry file; made when something is registered."""

    def __init__(self, path: Path, warn: Warn) -> None:
        self.path = path
        self._warn = warn
        self._shelf = MemoryShelf()
        self._read = 0
        """Up to this byte the file was read: the end of its last whole line."""
        self._lines = self._good = 0
        self._rest = b""
        """What stands behind the last whole line: one that a killed writer did not end."""

    def look(self) -> Shelf:
        """Everything that stands in the file now."""
        with self._turn(os.O_RDONLY, fcntl.LOCK_SH) as file:
            if file is not None:
                self._catch_up(file)
        return self._shelf

    def change(self, decide: Callable[[Shelf], Sequence[RegistryChange]]) -> Shelf:
        """Let happen what ``decide`` says after a look that nobody can overtake; durable when this returns."""
        with self._turn(os.O_RDWR | os.O_CREAT | os.O_APPEND, fcntl.LOCK_EX) as file:
            assert file is not None, "it is made when it is not there"
            self._catch_up(file)
            if self._lines and not self._good:
                raise InputError(
                    f"'{self.path}' is no registry file", hint="name another file; this one was left alone"
                )
            if self._rest:
                self._append(file, b"\n")
                self._catch_up(file)
            events = decide(self._shelf)
            if events:
                self._append(file, b"".join(dump(payload_of(event)) + b"\n" for event in events))
                self._catch_up(file)
        return self._shelf

    @contextmanager
    def _turn(self, flags: int, lock: int) -> Iterator[int | None]:
        try:
            if flags & os.O_CREAT:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not flags & os.O_CREAT:
                yield None  # nothing was ever registered: an empty registry
                return
            raise self._failed("opened", error.strerror) from error
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InputError(f"'{self.path}' is no regular file", hint="name a file for the registry")
            fcntl.flock(file, lock)
            yield file
        except OSError as error:
            raise self._failed("used", error.strerror) from error
        finally:
            os.close(file)

    def _failed(self, what: str, why: str | None) -> StoreError:
        return StoreError(f"the registry file '{self.path}' cannot be {what}: {why}", hint="nothing in it was changed")

    def _append(self, file: int, data: bytes) -> None:
        is_new = os.fstat(file).st_size == 0
        waiting = memoryview(data)
        while waiting:
            waiting = waiting[os.write(file, waiting) :]
        os.fsync(file)
        if is_new:
            _sync_folder(self.path.parent)

    def _catch_up(self, file: int) -> None:
        """Read what was appended since the last look."""
        size = os.fstat(file).st_size
        if size < self._read:
            raise StoreError(
                f"the registry file '{self.path}' has become shorter: {size:,} bytes, {self._read:,} were read",
                hint="something cut it off: restore it from a copy, since numbers of it may be in use",
            )
        *lines, rest = _read_from(file, self._read, size).split(b"\n")
        for line in lines:
            self._lines += 1
            self._let_happen(line)
        self._read += sum(len(line) + 1 for line in lines)
        if rest and rest != self._rest:
            self._warn(
                f"line {self._lines + 1} of '{self.path}' is cut off after {len(rest):,} bytes: it was never"
                f" acknowledged; the {self._lines:,} line(s) before it are whole"
            )
        self._rest = rest

    def _let_happen(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            event = decode_registry_event(parse(line))
        except InputError as error:
            self._warn(f"line {self._lines} of '{self.path}' cannot be read and is passed over: {error.message}")
            return
        self._good += 1
        if not apply(self._shelf, event):
            self._warn(f"line {self._lines} of '{self.path}' does not fit the lines before it and is passed over")


def _read_from(file: int, start: int, end: int) -> bytes:
    chunks: list[bytes] = []
    while start < end and (chunk := os.pread(file, min(CHUNK_BYTES, end - start), start)):
        chunks.append(chunk)
        start += len(chunk)
    return b"".join(chunks)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
