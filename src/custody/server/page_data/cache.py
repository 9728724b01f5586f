"""Answers that take seconds, remembered for pages while what they follow from stays the same."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from custody.core.errors import InputError
from custody.store import Store
from custody.workspace.workspace import Workspace

T = TypeVar("T")

WAIT_SECONDS_MAX = 30.0
"""So long somebody waits while the same is made for another."""

CacheKey = tuple[str | None, ...]


def place_of(workspace: Workspace) -> CacheKey:
    """Which store a workspace works with."""
    return workspace.database, str(workspace.folder_of_project), workspace.project


def chains_of(store: Store) -> tuple[str, ...]:
    """Where every chain of a store stands: each new record moves one of them, an erasure too."""
    return tuple(sorted(f"{head.store} {head.seq} {head.link.hex()}" for head in store.tables.chains()))


@dataclass(frozen=True, slots=True)
class _CacheEntry(Generic[T]):
    state: object
    made_ns: int
    answer: T


@dataclass(slots=True)
class _Turn:
    """Whose turn it is at a place, and how many are there or wait."""

    lock: Lock = field(default_factory=Lock)
    wanted: int = 0


class Turns:
    """One at a time at each place."""

    def __init__(self) -> None:
        self._turns: dict[CacheKey, _Turn] = {}
        self._lock = Lock()

    @contextmanager
    def at(self, place: CacheKey) -> Iterator[None]:
        """Be the only one at a place; its lock is forgotten with the last one who wants it.

        An ``InputError`` where somebody else takes too long.
        """
        with self._lock:
            turn = self._turns.setdefault(place, _Turn())
            turn.wanted += 1
        try:
            if not turn.lock.acquire(timeout=WAIT_SECONDS_MAX):
                raise InputError("somebody else asked for something that takes long", hint="try again in a moment")
            try:
                yield
            finally:
                turn.lock.release()
        finally:
            with self._lock:
                turn.wanted -= 1
                if not turn.wanted:
                    del self._turns[place]


class StateCache(Generic[T]):
    """One answer for each of a few places; ``ns_max`` is how old one may become although nothing seems to be new."""

    def __init__(self, *, most: int = 4, ns_max: int | None = None) -> None:
        self._most = most
        self._ns_max = ns_max
        self._kept: OrderedDict[CacheKey, _CacheEntry[T]] = OrderedDict()
        self._turns = Turns()
        self._lock = Lock()

    def get(self, place: CacheKey, state: object, now_ns: int, make: Callable[[], T]) -> T:
        """The answer for this state, made by one at a time: whoever comes second finds what the first one made.

        Nobody waits for what is made for another place.
        """
        with self._turns.at(place):
            with self._lock:
                kept = self._kept.get(place)
            if kept is None or kept.state != state or self._is_old(kept, now_ns):
                kept = _CacheEntry(state, now_ns, make())
            with self._lock:
                self._kept[place] = kept
                self._kept.move_to_end(place)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            return kept.answer

    def _is_old(self, kept: _CacheEntry[T], now_ns: int) -> bool:
        return self._ns_max is not None and not 0 <= now_ns - kept.made_ns <= self._ns_max
