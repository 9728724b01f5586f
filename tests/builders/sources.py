"""Registries of sources in every kind of storage, with a predictable clock and random numbers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import field

from custody.cite.app.registry_stores import FileRegistryStore, MemoryRegistryStore, RecordRegistryStore, RegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.model import ResearchSource
from custody.store import Store
from custody.workspace.workspace import Workspace
from tests.builders.stores import NOON

Opener = Callable[[], SourceRegistry]


def a_source(n: int | None = None, **fields: Any) -> ResearchSource:
    """Return a source; with a number, one of its own page."""
    url = {} if n is None else {"url": f"https://example.org/{n}"}
    return ResearchSource(**{"title": "A Title", **url, **fields})


def a_registry(store: RegistryStore, who: str = "ana") -> SourceRegistry:
    """Return a registry with a clock that ticks by a second and counting tokens."""
    ticks, tokens = count(NOON, 1_000_000_000), count(1)
    return SourceRegistry(store, who, lambda: next(ticks), lambda: f"{id(store)}-{next(tokens)}")


class StoreWorkspace(Workspace, frozen=True, kw_only=True):
    """A workspace whose store the test opens: once for the test's own thread, and for every call of another thread."""

    open_store: Callable[[], Store]
    opened: list[Store] = field(default_factory=list)

    @cached_property
    def home(self) -> Path:
        """The folder itself."""
        return self.folder

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Yield the store."""
        if threading.current_thread() is threading.main_thread():
            if not self.opened:
                self.opened.append(self.open_store())
            yield self.opened[0]
        else:
            with self.open_store() as store:
                yield store

    reading = writing


def in_memory() -> Opener:
    """Open the same registry each time."""
    store = MemoryRegistryStore()
    return lambda: a_registry(store)


def in_file(path: Path, warn: Callable[[str], None]) -> Opener:
    """Open a registry that reads its file again each time."""
    return lambda: a_registry(FileRegistryStore(path, warn))


def in_store(open_store: Callable[[], Store], folder: Path, opened: list[Store]) -> Opener:
    """Return a registry in a store; the caller closes the stores in ``opened``."""

    def opener() -> SourceRegistry:
        workspace = StoreWorkspace(folder, open_store=lambda: keep(open_store()))
        return a_registry(RecordRegistryStore(workspace))

    def keep(store: Store) -> Store:
        if threading.current_thread() is threading.main_thread():
            opened.append(store)
        return store

    return opener
