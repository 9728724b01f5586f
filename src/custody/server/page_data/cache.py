"""A cache for answers that take seconds, valid while the state of the store is the same."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Struct, field

from custody.store import Store
from custody.workspace.workspace import Workspace

T = TypeVar("T")

NS = 1_000_000_000

CacheKey = tuple[str | None, ...]


def make_page_cache_key(workspace: Workspace) -> CacheKey:
    """Return a key for the store of a workspace."""
    return workspace.database, str(workspace.folder_of_project), workspace.project


def read_page_cache_state(store: Store) -> tuple[str, ...]:
    """Return the heads of all chains: every new record changes one, an erasure too."""
    return tuple(sorted(f"{head.store} {head.seq} {head.link.hex()}" for head in store.tables.chains()))


RECOMPUTED_SECONDS_MIN = 20.0
"""Minimum age of an answer before it is computed again because records arrived."""
COST_FACTOR = 10
"""An answer is not computed again before this multiple of the time that it took."""


class CacheEntry(Struct, Generic[T], frozen=True):
    """An answer, the state of the store that it is for, when it was made and how long that took."""

    state: object
    made_ns: int
    answer: T
    seconds: float = 0.0

    def is_due(self, state: object, now_ns: int) -> bool:
        """Return whether to compute it again: it is for another state, and not too young for what it costs."""
        wait_seconds = max(RECOMPUTED_SECONDS_MIN, COST_FACTOR * self.seconds)
        return self.state != state and not 0 <= now_ns - self.made_ns < wait_seconds * NS


class _Turn(Struct):
    """The lock of a key, and how many hold it or wait for it."""

    lock: Lock = field(default_factory=Lock)
    users: int = 0


class Turns:
    """One lock per key, which exists only while it is used."""

    def __init__(self) -> None:
        self._turns: dict[CacheKey, _Turn] = {}
        self._lock = Lock()

    @contextmanager
    def hold_turn(self, key: CacheKey) -> Iterator[None]:
        """Hold the lock of a key."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    del self._turns[key]


class StateCache(Generic[T]):
    """One answer for each of the last ``most`` keys; ``ns_max`` is the maximum age of an answer."""

    def __init__(self, *, most: int = 4, ns_max: int | None = None) -> None:
        self._most = most
        self._ns_max = ns_max
        self._entries: OrderedDict[CacheKey, CacheEntry[T]] = OrderedDict()
        self._turns = Turns()
        self._lock = Lock()

    def get(
        self,
        key: CacheKey,
        state: object,
        now_ns: int,
        make: Callable[[], T],
        clock: Callable[[], int] | None = None,
    ) -> T:
        """Return the answer for this state; concurrent requests for one key compute it once.

        Requests for different keys do not wait for each other. With a ``clock``, its duration is stored too.
        """
        with self._turns.hold_turn(key):
            with self._lock:
                entry = self._entries.get(key)
            if entry is None or entry.state != state or self._is_old(entry, now_ns):
                began_ns = 0 if clock is None else clock()
                answer = make()
                entry = CacheEntry(state, now_ns, answer, 0.0 if clock is None else (clock() - began_ns) / NS)
            with self._lock:
                self._entries[key] = entry
                self._entries.move_to_end(key)
                while len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            return entry.answer

    def find_last(self, key: CacheKey) -> CacheEntry[T] | None:
        """Return the last answer of a key, whatever state it is for."""
        with self._lock:
            return self._entries.get(key)

    def _is_old(self, entry: CacheEntry[T], now_ns: int) -> bool:
        return self._ns_max is not None and not 0 <= now_ns - entry.made_ns <= self._ns_max
