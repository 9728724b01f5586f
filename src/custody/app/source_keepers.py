"""Where a registry of sources is kept: in memory, in a file that only grows, or in the store's chain.

Each gives the same two things: a look, and a change that is decided on a look which nobody can overtake.
"""

import hashlib
import hmac
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from custody.app.desk import Desk
from custody.app.redacting import redacted
from custody.cite.applying import apply
from custody.cite.events import RegistryEvent, Stamp
from custody.cite.keys import Keys, keys_of
from custody.cite.model import ResearchSource
from custody.cite.registry import to_register
from custody.cite.richer import cleaned
from custody.cite.shelf import MemoryShelf, Shelf
from custody.cite.works import PAGE
from custody.model.errors import InputError
from custody.model.ids import EventId
from custody.model.views import Source, View
from custody.wire.arrivals import Arrival, arrival_from
from custody.wire.canonical import Json
from custody.world.hook.homes import key_of
from custody.world.store import Seen, Store, StoreUnwritable, vanishes
from custody.world.store.registry_codec import payload_of
from custody.world.store.source_file import SourceFile

MAC_DIGITS = 16

R = TypeVar("R")
Decide = Callable[[Shelf], Sequence[RegistryEvent]]


class Keeper(Protocol):
    """A place for a registry."""

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let happen what ``decide`` says, durably, and give what ``then`` sees afterwards."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, Keys | None]:
        """The source as it may be kept here, and its keys where the kept address alone would not tell it apart."""

    def safe_text(self, text: str) -> str:
        """A text as it may be kept here."""


class _Open:
    """A place that belongs to the program that uses it: texts are kept as they are."""

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, Keys | None]:
        """As it is."""
        return source, None

    def safe_text(self, text: str) -> str:
        """As it is."""
        return text


class InMemory(_Open):
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


class InFile(_Open):
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


class InStore:
    """The registry of a store: its events are records of the store's chain, numbers are given in one transaction."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def look(self, then: Callable[[Shelf], R]) -> R:
        """What ``then`` sees."""
        with self._desk.reading() as store:
            try:
                if not vanishes(store.db):
                    self._adopt(store)
            except StoreUnwritable as error:
                self._desk.talk(f"{error.message}; sources that wait for a number are not shown")
            return then(store.registry.shelf(store.own()))

    def change(self, decide: Decide, then: Callable[[Shelf], R]) -> R:
        """Let events happen; they are committed when this returns."""
        with self._desk.writing() as store:
            self._adopt(store)
            self._append(store, decide)
            return then(store.registry.shelf(store.own()))

    def safe(self, source: ResearchSource) -> tuple[ResearchSource, Keys | None]:
        """Without its secrets. Addresses that differ only in a secret stay apart by a hash under this machine's key."""
        whole = cleaned(source)
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
        store.append_what(lambda: [self._arrival(event) for event in decide(store.registry.shelf(store.own()))])

    def _adopt(self, store: Store) -> None:
        """Give numbers to the sources that other recorders told of since the last look."""
        own = store.own()
        after = 0 if own is None else store.registry.adopted(own)
        waiting = [] if own is None else store.views.look_up("source", "store_id = ? AND seq > ?", (own, after))
        for seen in sorted(waiting, key=lambda one: one.record.seq):
            self._adopt_one(store, seen)
        if own is not None and waiting:
            store.registry.set_adopted(own, max(seen.record.seq for seen in waiting))

    def _adopt_one(self, store: Store, seen: Seen) -> None:
        stamp = Stamp(id=f"source-{seen.record.seq}", at_ns=seen.record.entry.at_ns)
        try:
            source, keys = self.safe(_source_of(seen.view))
            self._append(store, lambda shelf: to_register(shelf, source, stamp, keys)[1])
        except InputError as error:
            self._desk.talk(f"record {seen.record.ref} registers no source: {error.message}")

    def _told_apart(self, whole: Keys, kept: Keys) -> Keys:
        mac = hmac.new(self._key(), whole.canonical.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        page = f"{kept.url}#{mac[:MAC_DIGITS]}"
        return Keys(f"url:{page}", page, None if whole.work is None or whole.work[0] == PAGE else whole.work)

    def _arrival(self, event: RegistryEvent) -> Arrival:
        return arrival_from(EventId(f"registry-{self._desk.token()}"), redacted(payload_of(event), self._key))

    def _redacted(self, fields: dict[str, Json]) -> dict[str, Json]:
        clean = redacted(fields, self._key)
        clean.pop("redacted", None)
        return clean

    def _key(self) -> bytes:
        return key_of(str(self._desk.home))


def _source_of(view: View) -> ResearchSource:
    assert isinstance(view, Source), "the table of sources stands for nothing else"
    said = {"snippet": view.snippet, "year": view.year}
    return ResearchSource(
        title=view.title or "",
        url=view.url,
        author=view.author,
        publisher=view.publisher,
        metadata={name: value for name, value in said.items() if value is not None},
    )


_TEXTS = ("title", "url", "author", "publisher", "source_type")
