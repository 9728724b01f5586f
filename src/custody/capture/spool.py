"""The spool: acknowledged events that wait for ingestion, one file each; spans of a traced program share files.

May touch: the spool folder and, for durable writes, the hook's files. It never opens a store.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.capture.hook.durable import (
    UNFINISHED,
    make_durable_folder,
    new_spool_name,
    sync_folder,
    unframe_spool_event,
    write_spool_event,
)
from custody.capture.hook.event_home import load_redaction_key
from custody.core.errors import InputError, SpoolError
from custody.core.ids import EventId
from custody.core.patterns import lazy_pattern
from custody.core.platform import CLOEXEC, NOFOLLOW, NONBLOCK
from custody.core.plural import count_noun
from custody.core.wire.arrival import Arrival, arrival_from_bytes, arrival_from_json, drop_host_witness
from custody.core.wire.canonical import EVENT_BYTES_MAX, dump_canonical_json, parse_json_bytes

REFUSED = "refused"
"""Folder beside the waiting files for rejected files, which custody never deletes."""

BATCH_BYTES = 32 * 1024 * 1024
"""Reading stops after this much: bounds memory, not what is ingested."""

_FRAME_BYTES_MAX = 256
_BATCH_HEADER = b"several\n"
"""First line of a file with several events, one per line; an event itself begins with a brace."""
_NUMBER_SEPARATOR = "."
"""Separates a file's name from an event's number in it, or from the time of an event of git's hooks."""
_SPOOL_NAME = lazy_pattern(r"\d{20}-\d{1,10}-[0-9a-f]{16}", re.ASCII)


class SpoolReceipt(Struct, frozen=True):
    """Proof that an event is durable: its name."""

    event: EventId


class RejectedFile(Struct, frozen=True):
    """A spool file that cannot be ingested, where it is, and why.

    ``is_damaged``: its bytes are not those that were acknowledged. Otherwise they are, but they are not a valid event.
    ``at_ns`` is the time of an event of git's hooks, which has none in its name. ``arrivals`` are the file's other
    events, which can be ingested.
    """

    event: EventId
    path: Path
    why: str
    is_damaged: bool = False
    at_ns: int | None = None
    arrivals: tuple[Arrival, ...] = ()


def format_rejected_gap(file: RejectedFile) -> str:
    """Return the recording gap of a rejected file, with its time."""
    at = file.event.partition("-")[0] if file.at_ns is None else str(file.at_ns)
    text = f"the waiting event '{file.event}' was set aside: {file.why}"
    return f"{at} {text}" if at.isascii() and at.isdigit() else text


class SpoolContent(Struct, frozen=True):
    """The result of reading the spool: events that can be ingested, rejected files, and the number of files read."""

    arrivals: tuple[Arrival, ...]
    refused: tuple[RejectedFile, ...]
    files: int = 0

    def __bool__(self) -> bool:
        return bool(self.arrivals or self.refused)


class Spool:
    """The waiting events in one folder; any number of processes may write and read at once."""

    def __init__(self, folder: Path, name: Callable[[], str] = new_spool_name) -> None:
        self.folder = folder
        self._name = name

    def put(self, event: bytes) -> SpoolReceipt:
        """Make one event durable and return its receipt; raise if it is invalid or cannot be synced."""
        name = EventId(self._name())
        clean = self._clean(event)
        arrival_from_bytes(name, clean)
        return self._write(name, clean)

    def put_all(self, events: Sequence[bytes], scannable: bytes | None = None) -> SpoolReceipt:
        """Make several checked events durable in one file, one per line: all of them or none.

        ``scannable`` is the part that may contain a secret, if the caller knows that the rest cannot.
        """
        from custody.capture.hook.secret_scan import has_possible_secret

        name = EventId(self._name())
        data = b"\n".join(events)
        if has_possible_secret(data if scannable is None else scannable):
            data = b"\n".join(map(self._clean, events))
        if len(data) > EVENT_BYTES_MAX - len(_BATCH_HEADER):
            raise InputError(f"{len(events):,} events of {len(data):,} bytes do not fit into one file")
        return self._write(name, _BATCH_HEADER + data)

    def _write(self, name: EventId, data: bytes) -> SpoolReceipt:
        try:
            write_spool_event(str(self.folder), name, data)
        except OSError as error:
            raise SpoolError(
                f"cannot make the event durable in '{self.folder}': {error.strerror}",
                hint="free space or make the folder writable, then record again; nothing was acknowledged",
            ) from error
        return SpoolReceipt(name)

    def names(self) -> list[EventId]:
        """Return the names of the waiting events, oldest first."""
        return self._names(self.folder)

    def list_foreign_files(self) -> list[Path]:
        """Return the files in the folder that no recorder of custody made; they are left alone."""
        names = ((path, path.name.removesuffix(UNFINISHED)) for path in self._paths(self.folder))
        return sorted(path for path, name in names if not _SPOOL_NAME.fullmatch(name) and not _is_git_event_name(name))

    def list_unfinished_files(self) -> list[Path]:
        """Return the unfinished files of recorders that were killed: never acknowledged, so safe to delete."""
        return sorted(path for path in self._paths(self.folder) if _is_unfinished_file(path))

    def oldest(self, limit: int, *, skip: int = 0) -> SpoolContent:
        """Read waiting files up to ``limit`` events (or many bytes); a file that disappears meanwhile is skipped."""
        arrivals: list[Arrival] = []
        refused: list[RejectedFile] = []
        size = files = 0
        for name in self.names()[skip : skip + limit]:
            outcome = self._read(self.folder / name, name)
            files += outcome is not None
            if isinstance(outcome, RejectedFile):
                refused.append(outcome)
            readable = outcome.arrivals if isinstance(outcome, RejectedFile) else outcome or ()
            arrivals.extend(readable)
            size += sum(len(arrival.payload) + sum(map(len, arrival.texts.values())) for arrival in readable)
            if size > BATCH_BYTES or len(arrivals) >= limit:
                break
        return SpoolContent(tuple(arrivals), tuple(refused), files)

    def remove(self, names: Iterable[EventId], *, but: Iterable[RejectedFile] = ()) -> None:
        """Delete events that a store has committed, except in files with an event that could not be read."""
        kept = {file.event for file in but}
        with _translate_spool_errors(self.folder):
            for name in dict.fromkeys(event.partition(_NUMBER_SEPARATOR)[0] for event in names):
                if name not in kept:
                    (self.folder / name).unlink(missing_ok=True)

    def set_aside(self, names: Iterable[EventId]) -> None:
        """Move files that are not events to ``refused``."""
        aside = self.folder / REFUSED
        with _translate_spool_errors(self.folder):
            for name in names:
                make_durable_folder(str(aside))
                self._move(self.folder / name, aside / name)

    def list_rejected_files(self) -> list[RejectedFile]:
        """Return the files that cannot be ingested, moved already or not, and why."""
        folders = (self.folder / REFUSED, self.folder)
        files = (self._read(folder / name, name) for folder in folders for name in self._names(folder))
        return [wrong for wrong in files if isinstance(wrong, RejectedFile)]

    def restore_readable_files(self) -> list[EventId]:
        """Return rejected files that this version can read to the spool."""
        returned = []
        with _translate_spool_errors(self.folder):
            for name in self._names(self.folder / REFUSED):
                if isinstance(self._read(self.folder / REFUSED / name, name), list):
                    self._move(self.folder / REFUSED / name, self.folder / name)
                    returned.append(name)
        return returned

    def _read(self, path: Path, name: EventId) -> list[Arrival] | RejectedFile | None:
        try:
            raw, modified_ns = _read_spool_file(path)
        except FileNotFoundError:
            # Another process ingested and removed it between listing and reading.
            return None
        except OSError as error:
            # The file of a recorder that another user ran is unchanged; a planted link is not.
            is_damaged = not isinstance(error, PermissionError)
            return RejectedFile(name, path, f"cannot be read: {error.strerror}", is_damaged=is_damaged)
        if _is_git_event_name(name):
            from custody.capture.git_event import git_event_from_file  # only after a commit

            try:
                event_id = EventId(f"{name}{_NUMBER_SEPARATOR}{modified_ns}")
                return self._arrivals([(event_id, git_event_from_file(name, raw, modified_ns))])
            except InputError as error:
                return RejectedFile(name, path, error.message, at_ns=modified_ns)
        data = unframe_spool_event(raw)
        if data is None:
            return RejectedFile(name, path, "damaged: the digest in its first line does not match", is_damaged=True)
        events = list(_split_spool_events(name, data))
        arrivals: list[Arrival] = []
        problems: list[str] = []
        for number, event in enumerate(events, 1):
            try:
                arrivals += self._arrivals([event])
            except InputError as error:
                problems.append(error.message if len(events) == 1 else f"event {number}: {error.message}")
        if not problems:
            return arrivals
        more = f" (and {count_noun(len(problems) - 1, 'more event')})" if len(problems) > 1 else ""
        return RejectedFile(name, path, problems[0] + more, arrivals=tuple(arrivals))

    def _arrivals(self, events: Iterable[tuple[EventId, bytes]]) -> list[Arrival]:
        return [
            arrival_from_json(event, drop_host_witness(parse_json_bytes(self._clean(event_bytes))))
            for event, event_bytes in events
        ]

    def _clean(self, data: bytes) -> bytes:
        """Return the event redacted by the current rules, which may have grown since it was recorded."""
        from custody.capture.hook.redact import redact_value
        from custody.capture.hook.secret_removal import REDACTION_FAILURES
        from custody.capture.hook.secret_scan import has_possible_secret

        if not has_possible_secret(data):
            return data
        event = parse_json_bytes(data)
        if not isinstance(event, dict):
            return data  # not an event: rejected below
        try:
            clean, marks = redact_value(event, self._key())
        except REDACTION_FAILURES as error:
            raise InputError(f"its secrets cannot be redacted ({type(error).__name__})") from error
        return dump_canonical_json(
            {**clean, "redacted": [*_get_redaction_marks(clean.get("redacted")), *marks]} if marks else clean
        )

    def _key(self) -> bytes:
        try:
            return load_redaction_key(str(self.folder.parent))
        except OSError:
            return b""  # without a writable store a redacted line matches nothing, which is safe

    def _move(self, old: Path, new: Path) -> None:
        try:
            os.rename(old, new)
        except FileNotFoundError:
            return  # another process moved it first
        sync_folder(str(new.parent))

    def _names(self, folder: Path) -> list[EventId]:
        """Return the names of complete files by time, which the name of an event of git's hooks does not have."""
        return [EventId(name) for _, name in sorted(filter(None, map(_sort_key_of_file, self._paths(folder))))]

    def _paths(self, folder: Path) -> Iterator[Path]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield Path(entry.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SpoolError(f"cannot read the spool '{folder}': {error.strerror}") from error


def _is_git_event_name(name: str) -> bool:
    if not name.startswith("post-"):
        return False
    from custody.capture.git_event import is_git_event_name  # most spools have none, and a start should be light

    return is_git_event_name(name)


def _sort_key_of_file(path: Path) -> tuple[str, str] | None:
    """Return time and name of a complete file; None for any other."""
    if not _is_git_event_name(path.name):
        return (path.name, path.name) if _SPOOL_NAME.fullmatch(path.name) else None
    from custody.capture.git_event import read_git_event_time

    at_ns = read_git_event_time(str(path))
    return None if at_ns is None else (f"{at_ns:020d}", path.name)


def _is_unfinished_file(path: Path) -> bool:
    if _is_git_event_name(path.name):
        from custody.capture.git_event import read_git_event_time

        return read_git_event_time(str(path)) is None
    return path.suffix == UNFINISHED and _SPOOL_NAME.fullmatch(path.stem) is not None


def _split_spool_events(name: EventId, data: bytes) -> Iterator[tuple[EventId, bytes]]:
    """Yield the events of a file, each with its id."""
    if not data.startswith(_BATCH_HEADER):
        yield name, data
        return
    for number, line in enumerate(data[len(_BATCH_HEADER) :].split(b"\n")):
        yield EventId(f"{name}{_NUMBER_SEPARATOR}{number}"), line


def _get_redaction_marks(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


@contextmanager
def _translate_spool_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SpoolError(
            f"cannot change the spool '{folder}': {error.strerror}", hint="make the folder writable; nothing is lost"
        ) from error


def _read_spool_file(path: Path) -> tuple[bytes, int]:
    """Return the bytes of a file, up to the limit, and the time of its last change."""
    # O_NOFOLLOW and O_NONBLOCK: neither follow a planted link nor wait for a pipe.
    handle = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return file.read(EVENT_BYTES_MAX + _FRAME_BYTES_MAX + 1), os.fstat(handle).st_mtime_ns
