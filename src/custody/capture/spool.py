"""The spool: acknowledged events that wait for a chain, one file each; a traced program's spans share files.

May touch: the spool folder and, for the durable write, the hook's files. It never opens a store.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custody.capture.hook.durable import UNFINISHED, make_folder, new_name, sync_folder, unframed, write_event
from custody.capture.hook.event_home import key_of
from custody.capture.hook.redact import redact_value
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import trips
from custody.core.errors import InputError, SpoolError
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_of
from custody.core.wire.canonical import EVENT_BYTES_MAX, dump, parse

# Put events in, take them out oldest first, and never lose one that was acknowledged.


REFUSED = "refused"
"""Folder beside the waiting files: what could not be read as an event, kept, never deleted by custody."""

BATCH_BYTES = 32 * 1024 * 1024
"""A look into the spool stops after this much: bounds memory, not what is drained."""

_FRAME_BYTES_MAX = 256
_SEVERAL = b"several\n"
"""Begins a file with more than one event, one on each line; an event itself begins with a brace."""
_WITHIN = "."
"""Between a file's name and an event's number in it."""
_OURS = re.compile(r"\d{20}-\d{1,10}-[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SpoolReceipt:
    """Proof that an event is durable: the name it has from now on."""

    event: EventId


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A spool file that is not an event, and why."""

    event: EventId
    why: str


@dataclass(frozen=True, slots=True)
class SpoolContent:
    """What a look into the spool gave: events that can be chained, files that cannot, how many files it read."""

    arrivals: tuple[Arrival, ...]
    refused: tuple[RejectedFile, ...]
    files: int = 0

    def __bool__(self) -> bool:
        return bool(self.arrivals or self.refused)


class Spool:
    """The events that wait in one folder; any number of processes may put and take at once."""

    def __init__(self, folder: Path, name: Callable[[], str] = new_name) -> None:
        self.folder = folder
        self._name = name

    def put(self, event: bytes) -> SpoolReceipt:
        """Make one event durable and give its receipt; what is no event or cannot be synced raises and is not kept."""
        name = EventId(self._name())
        clean = self._clean(event)
        arrival_of(name, clean)
        return self._write(name, clean)

    def put_all(self, events: Sequence[bytes], said: bytes | None = None) -> SpoolReceipt:
        """Make several events durable in one file: all of them or none; each is one line that was checked already.

        ``said`` is the part of them in which a secret can stand, where the caller knows that the rest is its own.
        """
        name = EventId(self._name())
        data = b"\n".join(events)
        if trips(data if said is None else said):
            data = b"\n".join(map(self._clean, events))
        if len(data) > EVENT_BYTES_MAX - len(_SEVERAL):
            raise InputError(f"{len(events):,} events of {len(data):,} bytes are too much for one file")
        return self._write(name, _SEVERAL + data)

    def _write(self, name: EventId, data: bytes) -> SpoolReceipt:
        try:
            write_event(str(self.folder), name, data)
        except OSError as error:
            raise SpoolError(
                f"cannot make the event durable in '{self.folder}': {error.strerror}",
                hint="free space or make the folder writable, then record again; nothing was acknowledged",
            ) from error
        return SpoolReceipt(name)

    def names(self) -> list[EventId]:
        """The waiting events, oldest first."""
        return self._names(self.folder)

    def strangers(self) -> list[Path]:
        """Files in the folder that no recorder of ours made; they are left alone."""
        return sorted(p for p in self._paths(self.folder) if not _OURS.fullmatch(p.name.removesuffix(UNFINISHED)))

    def unfinished(self) -> list[Path]:
        """What recorders that were killed left behind: never acknowledged, of no further use."""
        return sorted(
            p for p in self._paths(self.folder) if _OURS.fullmatch(p.name.removesuffix(UNFINISHED)) and p.suffix
        )

    def oldest(self, limit: int, *, skip: int = 0) -> SpoolContent:
        """Read waiting files until ``limit`` events are there (or many bytes); one just taken is passed over."""
        arrivals: list[Arrival] = []
        refused: list[RejectedFile] = []
        size = files = 0
        for name in self.names()[skip : skip + limit]:
            outcome = self._read(self.folder / name, name)
            files += outcome is not None
            if isinstance(outcome, RejectedFile):
                refused.append(outcome)
            elif outcome is not None:
                arrivals.extend(outcome)
                size += sum(len(arrival.payload) + sum(map(len, arrival.texts.values())) for arrival in outcome)
            if size > BATCH_BYTES or len(arrivals) >= limit:
                break
        return SpoolContent(tuple(arrivals), tuple(refused), files)

    def remove(self, names: Iterable[EventId]) -> None:
        """Forget events that a store has committed."""
        with _translated(self.folder):
            for name in dict.fromkeys(event.partition(_WITHIN)[0] for event in names):
                (self.folder / name).unlink(missing_ok=True)

    def set_aside(self, names: Iterable[EventId]) -> None:
        """Move files that are not events out of the way, keeping them."""
        aside = self.folder / REFUSED
        with _translated(self.folder):
            for name in names:
                make_folder(str(aside))
                self._move(self.folder / name, aside / name)

    def refused(self) -> list[RejectedFile]:
        """The files that are no events, set aside already or not, and why."""
        folders = (self.folder / REFUSED, self.folder)
        found = (self._read(folder / name, name) for folder in folders for name in self._names(folder))
        return [wrong for wrong in found if isinstance(wrong, RejectedFile)]

    def look_again(self) -> list[EventId]:
        """Return to the spool what was set aside but can be read now, by a newer custody."""
        returned = []
        with _translated(self.folder):
            for name in self._names(self.folder / REFUSED):
                if isinstance(self._read(self.folder / REFUSED / name, name), list):
                    self._move(self.folder / REFUSED / name, self.folder / name)
                    returned.append(name)
        return returned

    def _read(self, path: Path, name: EventId) -> list[Arrival] | RejectedFile | None:
        try:
            raw = _regular_bytes(path)
        except FileNotFoundError:
            # Another drainer committed and removed it between our look and our read.
            return None
        except OSError as error:
            return RejectedFile(name, f"cannot be read: {error.strerror}")
        data = unframed(raw)
        if data is None:
            return RejectedFile(name, "damaged: its bytes do not match the digest in its first line")
        try:
            return [arrival_of(event, self._clean(event_bytes)) for event, event_bytes in _events_in(name, data)]
        except InputError as error:
            return RejectedFile(name, error.message)

    def _clean(self, data: bytes) -> bytes:
        """The event without what today's rules know as a secret: rules may have grown since it was recorded."""
        if not trips(data):
            return data
        event = parse(data)
        if not isinstance(event, dict):
            return data  # no event: refused in a moment
        try:
            clean, marks = redact_value(event, self._key())
        except REDACTION_FAILURES as error:
            raise InputError(f"its secrets cannot be taken out ({type(error).__name__})") from error
        return dump({**clean, "redacted": [*_list(clean.get("redacted")), *marks]} if marks else clean)

    def _key(self) -> bytes:
        try:
            return key_of(str(self.folder.parent))
        except OSError:
            return b""  # a store that cannot be written: then a redacted line matches nothing, which is safe

    def _move(self, old: Path, new: Path) -> None:
        try:
            os.rename(old, new)
        except FileNotFoundError:
            return  # another process moved it first
        sync_folder(str(new.parent))

    def _names(self, folder: Path) -> list[EventId]:
        return sorted(EventId(p.name) for p in self._paths(folder) if _OURS.fullmatch(p.name))

    def _paths(self, folder: Path) -> Iterator[Path]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield Path(entry.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SpoolError(f"cannot look into the spool '{folder}': {error.strerror}") from error


def _events_in(name: EventId, data: bytes) -> Iterator[tuple[EventId, bytes]]:
    """The events of a file, each with the id that it has from now on."""
    if not data.startswith(_SEVERAL):
        yield name, data
        return
    for number, line in enumerate(data[len(_SEVERAL) :].split(b"\n")):
        yield EventId(f"{name}{_WITHIN}{number}"), line


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpoolError(
            f"cannot change the spool '{folder}': {error.strerror}", hint="make the folder writable; nothing is lost"
        ) from error


def _regular_bytes(path: Path) -> bytes:
    # O_NOFOLLOW and O_NONBLOCK: a link or a pipe planted in the folder is neither followed nor waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return file.read(EVENT_BYTES_MAX + _FRAME_BYTES_MAX + 1)
