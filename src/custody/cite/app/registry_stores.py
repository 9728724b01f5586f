"""Stores of a source registry: in memory, in an append-only file, or in the store's chain.

All of them offer the same: read the catalog, and change it based on a state that no other writer can change meanwhile.
"""

import hashlib
import hmac
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.cite.catalog import Catalog, MemoryCatalog, RegistryChange, StagedCatalog, Stamp
from custody.cite.event_fold import apply_source_event
from custody.cite.keys import SourceKeys, clean_source, compute_source_keys
from custody.cite.model import FIELD_BYTES_MAX, ResearchSource, source_id_from_number
from custody.cite.opened_check import is_public_source_page
from custody.cite.queries.registry import RegistryTables, find_chain_source_readings, find_chain_sources
from custody.cite.queries.registry_codec import decode_source_event, encode_source_event
from custody.cite.registry import plan_source_excerpt, plan_source_reading, plan_source_registration
from custody.cite.urls import compute_source_url_key
from custody.cite.works import PAGE
from custody.core.errors import InputError, StoreError
from custody.core.ids import EventId, StoreId
from custody.core.platform import CLOEXEC, NONBLOCK, lock_file, sync_folder
from custody.core.plural import count_noun, noun_for_count
from custody.core.views import Reading, Source, SourceAccess
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json, dump_canonical_json, parse_json_bytes
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.store import ObservedView, Store, StoreUnwritable
from custody.workspace.workspace import Workspace

# An append-only file with one line per event. Earlier bytes never change, so a reader can continue where it stopped.
# Writers lock the file and read new lines before they decide. A line that a killed writer left incomplete is ended by
# the next writer, never removed.


Warn = Callable[[str], None]
CHUNK_BYTES = 1 << 20


class SourceFile:
    """A registry file, created by the first change."""

    def __init__(self, path: Path, warn: Warn) -> None:
        self.path = path
        self._warn = warn
        self._catalog = MemoryCatalog()
        self._read = 0
        """Bytes read so far: the end of the last complete line."""
        self._lines = self._good = 0
        self._rest = b""
        """The incomplete line after them, left by a killed writer."""

    def read(self) -> Catalog:
        """Return the catalog with all events that are in the file now."""
        with self._open_locked(os.O_RDONLY, shared=True) as file:
            if file is not None:
                self._catch_up(file)
        return self._catalog

    def change(self, decide: Callable[[Catalog], Sequence[RegistryChange]]) -> Catalog:
        """Append the events that ``decide`` returns for the current catalog, under a lock; durable on return."""
        with self._open_locked(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            assert file is not None, "O_CREAT creates a missing file"
            self._catch_up(file)
            if self._lines and not self._good:
                raise InputError(
                    f"'{self.path}' is not a registry file", hint="choose another file; this one was not changed"
                )
            if self._rest:
                self._append(file, b"\n")
                self._catch_up(file)
            events = decide(self._catalog)
            if events:
                self._append(
                    file, b"".join(dump_canonical_json(encode_source_event(event)) + b"\n" for event in events)
                )
                self._catch_up(file)
        return self._catalog

    @contextmanager
    def _open_locked(self, flags: int, *, shared: bool = False) -> Iterator[int | None]:
        try:
            if flags & os.O_CREAT:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, flags | CLOEXEC | NONBLOCK, 0o600)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not flags & os.O_CREAT:
                yield None  # no file means an empty registry
                return
            raise self._file_error("open", error.strerror) from error
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InputError(f"'{self.path}' is not a regular file", hint="choose a regular file for the registry")
            lock_file(file, shared=shared)
            yield file
        except OSError as error:
            raise self._file_error("use", error.strerror) from error
        finally:
            os.close(file)

    def _file_error(self, action: str, why: str | None) -> StoreError:
        return StoreError(f"cannot {action} the registry file '{self.path}': {why}", hint="the file was not changed")

    def _append(self, file: int, data: bytes) -> None:
        is_new = os.fstat(file).st_size == 0
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
        os.fsync(file)
        if is_new:
            sync_folder(self.path.parent)

    def _catch_up(self, file: int) -> None:
        """Apply the lines appended since the last call."""
        size = os.fstat(file).st_size
        if size < self._read:
            raise StoreError(
                f"the registry file '{self.path}' was truncated from {self._read:,} to {size:,} bytes",
                hint="restore it from a backup, because its ids may be in use",
            )
        *lines, rest = _read_source_registry_range(file, self._read, size).split(b"\n")
        for line in lines:
            self._lines += 1
            self._apply_line(line)
        self._read += sum(len(line) + 1 for line in lines)
        if rest and rest != self._rest:
            self._warn(
                f"ignored the incomplete line {self._lines + 1} of '{self.path}' ({len(rest):,} bytes);"
                f" {count_noun(self._lines, 'line')} before it {noun_for_count(self._lines, 'is', 'are')} complete"
            )
        self._rest = rest

    def _apply_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            event = decode_source_event(parse_json_bytes(line))
        except InputError as error:
            self._warn(f"skipped line {self._lines} of '{self.path}': {error.message}")
            return
        self._good += 1
        if not apply_source_event(self._catalog, event):
            self._warn(f"skipped line {self._lines} of '{self.path}': it contradicts the lines before it")


def _read_source_registry_range(file: int, start: int, end: int) -> bytes:
    chunks: list[bytes] = []
    while start < end and (chunk := os.pread(file, min(CHUNK_BYTES, end - start), start)):
        chunks.append(chunk)
        start += len(chunk)
    return b"".join(chunks)


# Register the sources that recorders reported and that agents opened, in the order of the records, so that a replay
# gives the same numbers. Only web pages become sources; files stay readings under their paths. Only this file decides
# that.


PAGE_ROWS = 256
"""Maximum readings per transaction; more than one call lists."""
SKIPPED_MAX = 1000
"""After this many records without a source, the position is stored, so that they are not read again."""


class RecordedSource(Struct, frozen=True):
    """A source without its secrets, and the reading that reported it, if any."""

    stamp: Stamp
    source: ResearchSource
    keys: SourceKeys | None
    read: SourceAccess | None
    passage: str | None = None


class SourcePage(Struct, frozen=True):
    """The sources and readings in a part of a chain, in order; ``until`` is the last position of that part."""

    store: StoreId
    views: Sequence[ObservedView[SourceAccess | Source]]
    until: int


def iterate_source_pages(store: Store, own: StoreId) -> Iterator[SourcePage]:
    """Yield the sources and readings of a chain that are not registered yet."""
    after, end = RegistryTables(store).read_adopted_position(own), int(store.tables.head(own).seq)
    while after < end:
        readings = find_chain_source_readings(store, own, after, end, PAGE_ROWS)
        until = end if len(readings) < PAGE_ROWS else max(int(view.record.seq) for view in readings) - 1
        sources = find_chain_sources(store, own, after, until)
        views: list[ObservedView[SourceAccess | Source]] = [*readings, *sources]
        views = [view for view in views if view.record.seq <= until]
        if views or until - after >= SKIPPED_MAX:
            yield SourcePage(own, sorted(views, key=lambda view: (view.record.seq, view.n)), until)
        after = until


def research_source_from_view(observed: ObservedView[SourceAccess | Source]) -> ResearchSource | None:
    """Return the source of a view; None if it is not a web page or if an attempt may not have opened it."""
    view = observed.view
    if isinstance(view, Source):
        metadata = {"snippet": view.snippet, "year": view.year}
        return ResearchSource(
            title=view.title or "",
            url=view.url,
            author=view.author,
            publisher=view.publisher,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )
    if not is_public_source_page(view.locator):
        return None
    if view.reading is Reading.ATTEMPTED and not view.failed:
        return None
    return ResearchSource(title=_truncate_source_title(view.title), url=view.locator)


def source_stamp_from_view(observed: ObservedView[SourceAccess | Source]) -> Stamp:
    """Return the stamp of a registration: the same id for the same record."""
    view, seq = observed.view, observed.record.seq
    if isinstance(view, SourceAccess):
        return Stamp(id=f"read-{seq}-{observed.n}", at_ns=view.at_ns, who=view.agent)
    return Stamp(id=f"source-{seq}", at_ns=observed.record.entry.at_ns)


def plan_recorded_source_registrations(sources: Sequence[RecordedSource], catalog: Catalog) -> list[RegistryChange]:
    """Return the events that register these sources in order; none for a source that adds nothing new."""
    staged = StagedCatalog(catalog)
    changes: list[RegistryChange] = []
    for source in sources:
        number, events = plan_source_registration(staged, source.source, source.stamp, source.keys)
        changes += _apply_source_changes(staged, events)
        if source.read is not None:
            changes += _apply_source_changes(
                staged, _plan_recorded_source_reading(staged, source_id_from_number(number), source.read, source)
            )
    return changes


def _plan_recorded_source_reading(
    catalog: Catalog, source_id: str, read: SourceAccess, source: RecordedSource
) -> tuple[RegistryChange, ...]:
    events = plan_source_reading(catalog, source_id, read.reading, read.session, source.stamp, read.call)
    if not events or source.passage is None or not source.passage.strip():
        return events
    return (*events, *plan_source_excerpt(catalog, source_id, source.passage, None, source.stamp))


def _apply_source_changes(catalog: Catalog, events: tuple[RegistryChange, ...]) -> tuple[RegistryChange, ...]:
    for event in events:
        apply_source_event(catalog, event)
    return events


def _truncate_source_title(title: str | None) -> str:
    return (title or "").encode("utf-8", "replace")[:FIELD_BYTES_MAX].decode("utf-8", "ignore")


MAC_DIGITS = 16

R = TypeVar("R")
Decide = Callable[[Catalog], Sequence[RegistryChange]]


class RegistryStore(Protocol):
    """Storage of a registry."""

    def read(self, then: Callable[[Catalog], R]) -> R:
        """Return ``then(catalog)``."""

    def change(self, decide: Decide, then: Callable[[Catalog], R]) -> R:
        """Store the events that ``decide`` returns, durably, and return ``then(catalog)`` afterwards."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """Return the source without secrets, and its keys if the redacted URL no longer identifies it."""

    def safe_text(self, text: str) -> str:
        """Return a text without secrets."""


def source_registry_name(catalog: Catalog) -> str | None:
    """Return the chain that a catalog belongs to; None if it belongs to none."""
    return getattr(catalog, "registry", None) or None


def page_source_number(store: Store, url: str) -> int | None:
    """Return the number of the source that a page is registered as; None when it is not registered."""
    page = compute_source_url_key(url)
    return None if page is None else RegistryTables(store).number_at(store.own(), f"url:{page}")


class _ProgramStore:
    """A store that only the calling program uses: it redacts nothing."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """Return the source unchanged."""
        return source, None

    def safe_text(self, text: str) -> str:
        """Return the text unchanged."""
        return text


class MemoryRegistryStore(_ProgramStore):
    """A registry in memory, safe to use from several threads."""

    def __init__(self) -> None:
        self._catalog = MemoryCatalog()
        self._lock = threading.Lock()

    def read(self, then: Callable[[Catalog], R]) -> R:
        """Return ``then(catalog)``."""
        with self._lock:
            return then(self._catalog)

    def change(self, decide: Decide, then: Callable[[Catalog], R]) -> R:
        """Apply the events that ``decide`` returns."""
        with self._lock:
            for event in decide(self._catalog):
                apply_source_event(self._catalog, event)
            return then(self._catalog)


class FileRegistryStore(_ProgramStore):
    """A registry in a file, safe to use from several threads and processes."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._file = SourceFile(path, warn)
        self._lock = threading.Lock()

    def read(self, then: Callable[[Catalog], R]) -> R:
        """Return ``then(catalog)``."""
        with self._lock:
            return then(self._file.read())

    def change(self, decide: Decide, then: Callable[[Catalog], R]) -> R:
        """Append the events that ``decide`` returns; they are on disk when this returns."""
        with self._lock:
            return then(self._file.change(decide))


class RecordRegistryStore:
    """The registry of a store: its events are records of the chain, and numbers are assigned in a transaction."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(self, then: Callable[[Catalog], R]) -> R:
        """Return ``then(catalog)``."""
        with self._workspace.reading() as store:
            try:
                if not store.is_temporary():
                    self.adopt(store)
            except StoreUnwritable as error:
                self._workspace.talk(f"{error.message}; sources without an id yet are not shown")
            return then(RegistryTables(store).catalog(store.own()))

    def change(self, decide: Decide, then: Callable[[Catalog], R]) -> R:
        """Record the events that ``decide`` returns; they are committed when this returns."""
        with self._workspace.writing() as store:
            self.adopt(store)
            self._append(store, decide)
            return then(RegistryTables(store).catalog(store.own()))

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, SourceKeys | None]:
        """Return the source without secrets; URLs that differ only in a secret keep different keys.

        The difference is a hash with this machine's key.
        """
        whole = clean_source(source)
        fields: dict[str, Json] = {name: getattr(whole, name) for name in _TEXTS}
        fields["metadata"] = dict(whole.metadata)
        clean = self._redact_fields(fields)
        if clean == fields:
            return source, None
        values: dict[str, Any] = dict(clean)
        redacted = replace(whole, **values)
        if redacted.url == whole.url:
            return redacted, None
        return redacted, self._disambiguate_keys(
            compute_source_keys(whole), compute_source_keys(replace(redacted, metadata={}))
        )

    def safe_text(self, text: str) -> str:
        """Return the text without secrets."""
        return str(self._redact_fields({"text": text})["text"])

    def _append(self, store: Store, decide: Decide) -> None:
        store.append_from(
            lambda: [self._arrival(event) for event in decide(RegistryTables(store).catalog(store.own()))]
        )

    def adopt(self, store: Store) -> None:
        """Assign numbers to the sources that were recorded since the last call."""
        own = store.own()
        for page in () if own is None else iterate_source_pages(store, own):
            sources = [source for view in page.views if (source := self._read_recorded_source(view)) is not None]
            self._append(store, partial(plan_recorded_source_registrations, sources))
            RegistryTables(store).put_adopted_position(page.store, page.until)

    def _read_recorded_source(self, observed: ObservedView[SourceAccess | Source]) -> RecordedSource | None:
        try:
            reported = research_source_from_view(observed)
            if reported is None:
                return None
            source, keys = self.safe(reported)
            compute_source_keys(source)
        except InputError as error:
            self._workspace.talk(f"record {observed.record.ref} has an invalid source: {error.message}")
            return None
        read = observed.view if isinstance(observed.view, SourceAccess) else None
        passage = (
            None if read is None or read.reading is not Reading.EXCERPT or read.text is None else read.text.content
        )
        return RecordedSource(
            source_stamp_from_view(observed), source, keys, read, None if passage is None else self.safe_text(passage)
        )

    def _disambiguate_keys(self, whole: SourceKeys, redacted: SourceKeys) -> SourceKeys:
        mac = hmac.new(self._key(), whole.canonical.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        page = f"{redacted.url}#{mac[:MAC_DIGITS]}"
        return SourceKeys(f"url:{page}", page, None if whole.work is None or whole.work[0] == PAGE else whole.work)

    def _arrival(self, event: RegistryChange) -> Arrival:
        return arrival_from_json(
            EventId(f"registry-{self._workspace.token()}"), redact_event_payload(encode_source_event(event), self._key)
        )

    def _redact_fields(self, fields: dict[str, Json]) -> dict[str, Json]:
        clean = redact_event_payload(fields, self._key)
        clean.pop("redacted", None)
        return clean

    def _key(self) -> bytes:
        return open_redaction_key(self._workspace)


_TEXTS = ("title", "url", "author", "publisher", "source_type")
