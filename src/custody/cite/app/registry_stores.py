"""Where a registry of sources is kept: in memory, in a file that only grows, or in the store's chain.

Each gives the same two things: a look, and a change that is decided on a look which nobody can overtake.
"""

import hashlib
import hmac
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from custody.cite.app.recorded_sources import RecordedSource, pages, plan_registrations, source_in, stamp_of
from custody.cite.app.registry_file import SourceFile
from custody.cite.event_fold import apply
from custody.cite.events import RegistryChange
from custody.cite.keys import SourceKeys, keys_of
from custody.cite.model import ResearchSource
from custody.cite.queries.registry import RegistryTables
from custody.cite.queries.registry_codec import payload_of
from custody.cite.shelf import MemoryShelf, Shelf
from custody.cite.source_merge import clean_source
from custody.cite.works import PAGE
from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.views import Reading, Source, SourceAccess
from custody.core.wire.arrival import Arrival, arrival_from
from custody.core.wire.canonical import Json
from custody.intake.redaction import key_for, redact_event_payload
from custody.store import ObservedView, Store, StoreUnwritable
from custody.workspace.workspace import Workspace

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
