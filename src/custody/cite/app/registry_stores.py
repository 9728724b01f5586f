"""Where a registry of sources is kept: in memory, in a file that only grows, or in the store's chain.

Each gives the same two things: a look, and a change that is decided on a look which nobody can overtake.
"""

import fcntl
import hashlib
import hmac
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from custody.cite.event_fold import apply
from custody.cite.keys import SourceKeys, clean_source, keys_of
from custody.cite.model import FIELD_BYTES_MAX, ResearchSource, id_of
from custody.cite.opened_check import is_page
from custody.cite.queries.registry import RegistryTables, pages_in_chain, sources_in_chain
from custody.cite.queries.registry_codec import decode_registry_event, payload_of
from custody.cite.registry import to_excerpt, to_read, to_register
from custody.cite.shelf import MemoryShelf, RegistryChange, Shelf, StagedShelf, Stamp
from custody.cite.works import PAGE
from custody.core.errors import InputError, StoreError
from custody.core.ids import EventId, StoreId
from custody.core.views import Reading, Source, SourceAccess
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json, dump, parse
from custody.intake.record import key_for, redact_event_payload
from custody.store import ObservedView, Store, StoreUnwritable
from custody.workspace.workspace import Workspace

# A registry in one file that only grows: a line for each event, earlier bytes never change.
# So whatever was read up to some byte stays true, and a reader may keep it. Writers take turns by a lock on the file,
# and look at what others wrote before they decide. A line that a killed writer left unfinished is ended by the next
# one, never removed.


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


# Sources that recorders told of and that agents' calls opened, on their way into the registry.
# In the records' order, so that replaying gives the same numbers. This file is the only one that says what of an
# agent's reading becomes a source: pages of the web. Files stay readings under their paths.


PAGE_ROWS = 256
"""So many readings are registered in one transaction; a call lists fewer."""
SKIPPED_MAX = 1000
"""Records that tell of no source are passed over once they are this many, so that nobody looks at them again."""


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A source as it may be kept, and how it was read where it was."""

    stamp: Stamp
    source: ResearchSource
    keys: SourceKeys | None
    read: SourceAccess | None
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class SourcePage:
    """What a stretch of a chain tells of sources, in order; ``until`` is the place up to which that is all."""

    store: StoreId
    seen: Sequence[ObservedView[SourceAccess | Source]]
    until: int


def pages(store: Store, own: StoreId) -> Iterator[SourcePage]:
    """What the chain tells of sources and nobody registered yet."""
    after, end = RegistryTables(store).adopted(own), int(store.tables.head(own).seq)
    while after < end:
        read = pages_in_chain(store, own, after, end, PAGE_ROWS)
        until = end if len(read) < PAGE_ROWS else max(int(seen.record.seq) for seen in read) - 1
        told = sources_in_chain(store, own, after, until)
        both: list[ObservedView[SourceAccess | Source]] = [*read, *told]
        both = [seen for seen in both if seen.record.seq <= until]
        if both or until - after >= SKIPPED_MAX:
            yield SourcePage(own, sorted(both, key=lambda seen: (seen.record.seq, seen.n)), until)
        after = until


def source_in(seen: ObservedView[SourceAccess | Source]) -> ResearchSource | None:
    """The source that a view tells of; None for what is no page, and for an attempt that perhaps opened nothing."""
    view = seen.view
    if isinstance(view, Source):
        said = {"snippet": view.snippet, "year": view.year}
        return ResearchSource(
            title=view.title or "",
            url=view.url,
            author=view.author,
            publisher=view.publisher,
            metadata={name: value for name, value in said.items() if value is not None},
        )
    if not is_page(view.locator):
        return None
    if view.reading is Reading.ATTEMPTED and not view.failed:
        return None
    return ResearchSource(title=_short(view.title), url=view.locator)


def stamp_of(seen: ObservedView[SourceAccess | Source]) -> Stamp:
    """By which a registration is told apart from others, and whose it is."""
    view, seq = seen.view, seen.record.seq
    if isinstance(view, SourceAccess):
        return Stamp(id=f"read-{seq}-{seen.n}", at_ns=view.at_ns, who=view.agent)
    return Stamp(id=f"source-{seq}", at_ns=seen.record.entry.at_ns)


def plan_registrations(told: Sequence[RecordedSource], shelf: Shelf) -> list[RegistryChange]:
    """What happens when these are registered one after the other; what is known changes nothing."""
    staged = StagedShelf(shelf)
    made: list[RegistryChange] = []
    for source in told:
        number, events = to_register(staged, source.source, source.stamp, source.keys)
        made += _happened(staged, events)
        if source.read is not None:
            made += _happened(staged, _reading(staged, id_of(number), source.read, source))
    return made


def _reading(shelf: Shelf, source_id: str, read: SourceAccess, told: RecordedSource) -> tuple[RegistryChange, ...]:
    events = to_read(shelf, source_id, read.reading, read.session, told.stamp, read.call)
    if not events or told.passage is None or not told.passage.strip():
        return events
    return (*events, *to_excerpt(shelf, source_id, told.passage, None, told.stamp))


def _happened(shelf: Shelf, events: tuple[RegistryChange, ...]) -> tuple[RegistryChange, ...]:
    for event in events:
        apply(shelf, event)
    return events


def _short(title: str | None) -> str:
    return (title or "").encode("utf-8", "replace")[:FIELD_BYTES_MAX].decode("utf-8", "ignore")


MAC_DIGITS = 16

R = TypeVar("R")
Decide = Callable[[Shelf], Sequence[RegistryChange]]


class RegistryStore(Protocol):
    """A place for a registry."""

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let happen what ``decide`` says, durably, and give what ``then`` sees afterwards."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """The source as it may be kept here, and its keys where the kept address alone would not tell it apart."""

    def safe_text(self, text: str) -> str:
        """A text as it may be kept here."""


def registry_name(shelf: Shelf) -> str | None:
    """The chain whose registry a shelf shows; None where it belongs to no chain."""
    return getattr(shelf, "registry", None) or None


class _ProgramStore:
    """A place that belongs to the program that uses it: texts are kept as they are."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """As it is."""
        return source, None

    def safe_text(self, text: str) -> str:
        """As it is."""
        return text


class MemoryRegistryStore(_ProgramStore):
    """A registry that ends with the program; threads take turns."""

    def __init__(self) -> None:
        self._shelf = MemoryShelf()
        self._turn = threading.Lock()

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""
        with self._turn:
            return then(self._shelf)

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let events happen."""
        with self._turn:
            for event in decide(self._shelf):
                apply(self._shelf, event)
            return then(self._shelf)


class FileRegistryStore(_ProgramStore):
    """A registry in a file of its own; threads take turns here, processes by the file's lock."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._file = SourceFile(path, warn)
        self._turn = threading.Lock()

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""
        with self._turn:
            return then(self._file.look())

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let events happen; they are on disk when this returns."""
        with self._turn:
            return then(self._file.change(decide))


class RecordRegistryStore:
    """The registry of a store: its events are records of the store's chain, numbers are given in one transaction."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""
        with self._workspace.reading() as store:
            try:
                if not store.is_temporary():
                    self.adopt(store)
            except StoreUnwritable as error:
                self._workspace.talk(f"{error.message}; sources that wait for a number are not shown")
            return then(RegistryTables(store).shelf(store.own()))

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let events happen; they are committed when this returns."""
        with self._workspace.writing() as store:
            self.adopt(store)
            self._append(store, decide)
            return then(RegistryTables(store).shelf(store.own()))

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """Without its secrets. Addresses that differ only in a secret stay apart by a hash under this machine's key."""
        whole = clean_source(source)
        fields: dict[str, Json] = {name: getattr(whole, name) for name in _TEXTS}
        fields["metadata"] = dict(whole.metadata)
        clean = self._redacted(fields)
        if clean == fields:
            return source, None
        said: dict[str, Any] = dict(clean)
        kept = replace(whole, **said)
        if kept.url == whole.url:
            return kept, None
        return kept, self._told_apart(keys_of(whole), keys_of(replace(kept, metadata={})))

    def safe_text(self, text: str) -> str:
        """Without its secrets."""
        return str(self._redacted({"text": text})["text"])

    def _append(self, store: Store, decide: Decide) -> None:
        store.append_what(lambda: [self._arrival(event) for event in decide(RegistryTables(store).shelf(store.own()))])

    def adopt(self, store: Store) -> None:
        """Give numbers to the sources that recorders and agents' calls told of since the last look."""
        own = store.own()
        for page in () if own is None else pages(store, own):
            told = [source for seen in page.seen if (source := self._read_recorded_source(seen)) is not None]
            self._append(store, partial(plan_registrations, told))
            RegistryTables(store).set_adopted(page.store, page.until)

    def _read_recorded_source(self, seen: ObservedView[SourceAccess | Source]) -> RecordedSource | None:
        try:
            said = source_in(seen)
            if said is None:
                return None
            source, keys = self.safe(said)
            keys_of(source)
        except InputError as error:
            self._workspace.talk(f"record {seen.record.ref} registers no source: {error.message}")
            return None
        read = seen.view if isinstance(seen.view, SourceAccess) else None
        passage = (
            None if read is None or read.reading is not Reading.EXCERPT or read.text is None else read.text.content
        )
        return RecordedSource(stamp_of(seen), source, keys, read, None if passage is None else self.safe_text(passage))

    def _told_apart(self, whole: SourceKeys, kept: SourceKeys) -> SourceKeys:
        mac = hmac.new(self._key(), whole.canonical.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        page = f"{kept.url}#{mac[:MAC_DIGITS]}"
        return SourceKeys(f"url:{page}", page, None if whole.work is None or whole.work[0] == PAGE else whole.work)

    def _arrival(self, event: RegistryChange) -> Arrival:
        return arrival_from(
            EventId(f"registry-{self._workspace.token()}"), redact_event_payload(payload_of(event), self._key)
        )

    def _redacted(self, fields: dict[str, Json]) -> dict[str, Json]:
        clean = redact_event_payload(fields, self._key)
        clean.pop("redacted", None)
        return clean

    def _key(self) -> bytes:
        return key_for(self._workspace)


_TEXTS = ("title", "url", "author", "publisher", "source_type")
