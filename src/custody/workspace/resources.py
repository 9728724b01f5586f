"""What a command opens once and closes when it ends."""

from collections.abc import Callable, Hashable
from threading import get_ident
from typing import TypeVar

from custody.store import Store

T = TypeVar("T")


class CommandResources:
    """The stores, repositories and rules of one command; only the thread that made it shares its stores."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._stores: dict[Hashable, Store] = {}
        self._opened: list[Store] = []
        self._values: dict[Hashable, object] = {}

    def idle_store(self, key: Hashable) -> Store | None:
        """The store that was shared under ``key``, unless it is another thread's or in the middle of a transaction."""
        store = self._stores.get(key) if get_ident() == self._thread else None
        return None if store is None or store.in_transaction() else store

    def share(self, key: Hashable, store: Store) -> None:
        """Keep a store open under ``key`` until the command ends; of another thread, or a second one, do nothing."""
        if get_ident() == self._thread and key not in self._stores:
            self._stores[key] = store
            self._opened.append(store)

    def is_shared(self, store: Store) -> bool:
        """Whether a store stays open until the command ends."""
        return any(opened is store for opened in self._opened)

    def forget(self, store: Store) -> None:
        """Share a store no longer, since it failed: who asks next opens another."""
        self._stores = {key: shared for key, shared in self._stores.items() if shared is not store}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returned the first time that ``key`` was asked for."""
        if key not in self._values:
            self._values[key] = make()
        value: T = self._values[key]  # type: ignore[assignment]  # one key has values of one type
        return value

    def close(self) -> None:
        """Close every store that was shared."""
        self._stores.clear()
        while self._opened:
            self._opened.pop().close()
